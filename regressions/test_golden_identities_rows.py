"""Does the arithmetic of the row cache's tables hold?

Within a row the tables state it themselves (`checks`); here are the equations between rows and between tables. What is
not asserted, and why, stands in row-cache-measured. Needs no recorded runs.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from gate.golden.checks import broken_checks
from gate.golden.definitions import ROW_DEFINITIONS
from gate.golden.definitions.rows import CAPACITY_ROWS, CAPACITY_ROWS_4GIB, ROWS_OF_A
from gate.golden.identities import Printed, exactly, follows, printed, same, total
from gate.golden.table import Table
from gate.golden.table_file import load_all
from reference.row_geometry import split_by_rows

TABLES = {table.id: table for table in load_all() if table.definition in ROW_DEFINITIONS}
MEASURED, TOTALS, WAIT = (TABLES[f"row-cache-{name}"] for name in ("measured", "totals", "wait"))
DERIVED, CHANCE = TABLES["row-cache-derived"], TABLES["row-cache-chance"]
WAYS = 4


def whole(table: Table, column: str, *key: int | str) -> int:
    """A count of a table."""
    return int(table.cell(column, *key))


def derived(what: str, request: str) -> Printed:
    """Lookups or misses of a request as what lies between their two ends."""
    least, most = (Fraction(whole(DERIVED, f"{what}_{end}", request)) for end in ("least", "most"))
    return Printed((least + most) / 2, (most - least) / 2)


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_the_checks_of_a_table_hold(table: Table) -> None:
    """Misses are residents, evictions and refusals; fill times capacity is the residents; 6.4 us a miss; and so on."""
    assert broken_checks(table) == []


def test_evictions_add_up() -> None:
    """The column makes 453,178, and its last two rows 223,635."""
    evictions = [whole(MEASURED, "evictions", *key) for key in MEASURED.keys]
    assert sum(evictions) == whole(TOTALS, "evictions", 1, "all") == 453_178
    assert sum(evictions[-2:]) == whole(TOTALS, "evictions", 1, "B2 and A3") == 223_635
    assert evictions[2] == whole(TOTALS, "evictions", 1, "B")


def test_refusals_add_up() -> None:
    """Of 265,994, B has 77,741 and the later two 188,191; A and A2 share the remaining 62."""
    parts = [whole(TOTALS, "refusals", 1, name) for name in ("A and A2", "B", "B2 and A3")]
    assert sum(parts) == whole(TOTALS, "refusals", 1, "all") == 265_994


def test_the_ratios_are_those_of_the_counts() -> None:
    """77,741 / 223,854, 188,191 / 223,635 and 4,042 / 1,647 print as the three ratios."""
    ratios = TABLES["row-cache-ratios"]
    counted = {
        "refusals_per_eviction_b": (("refusals", "B"), ("evictions", "B"), 3),
        "refusals_per_eviction_later": (("refusals", "B2 and A3"), ("evictions", "B2 and A3"), 4),
    }
    for column, ((over, of), (under, by), digits) in counted.items():
        ratio = Fraction(whole(TOTALS, over, 1, of), whole(TOTALS, under, 1, by))
        assert round(ratio, digits) == Fraction(ratios.cell(column, "4-way"))
    evictions = [whole(MEASURED, "evictions", request) for request in ("A2", "A")]
    assert round(Fraction(*evictions), 3) == Fraction(ratios.cell("evictions_a2_per_a", "4-way"))


def test_capacities_are_one() -> None:
    """What bytes buy is what the server counted, in four-way sets, and half of it is what is emulated."""
    capacity = TABLES["row-cache-capacity"]
    for gib, half in ((1, CAPACITY_ROWS), (4, CAPACITY_ROWS_4GIB)):
        rows = whole(TOTALS, "capacity_rows", gib, "all")
        assert rows == whole(capacity, "capacity_rows", gib) == 2 * half
        assert rows % WAYS == 0


def test_an_equal_split_cannot_give_the_capacity() -> None:
    """Two tables alike would hold a multiple of eight rows in four-way sets; 3,613,836 is none."""
    capacity = whole(TOTALS, "capacity_rows", 1, "all")
    assert capacity % (2 * WAYS) == WAYS
    smaller, larger = split_by_rows(capacity)
    assert smaller < larger


def test_the_fill_after_b_is_the_fill_in_the_end() -> None:
    """Both print as 67.2: what the later two requests add is too little to show."""
    assert same(printed(MEASURED, "fill_pct", "B"), printed(TOTALS, "fill_pct", 1, "all"))


def test_rows_are_three_a_set_and_three_quarters_of_the_slots() -> None:
    """2.72 M distinct rows over 903,459 sets are 3.0, over 3,613,836 slots 75 %."""
    rows = printed(TOTALS, "distinct_rows", 1, "all")
    capacity = whole(TOTALS, "capacity_rows", 1, "all")
    assert follows(Printed(Fraction(3), Fraction(1, 20)), lambda n: n * WAYS / capacity, rows)
    assert follows(Printed(Fraction(75), Fraction(1, 2)), lambda n: 100 * n / capacity, rows)


def test_the_residents_of_both_budgets_betray_the_same_rows() -> None:
    """2,719,487 and 2,719,642: 0.006 % apart, and both print as the 2.72 M that is stated."""
    rows = [whole(CHANCE, "rows_behind_residents", gib) for gib in (1, 4)]
    assert abs(rows[1] / rows[0] - 1) < 6e-5
    for found in rows:
        assert same(printed(TOTALS, "distinct_rows", 1, "all"), exactly(found))


def test_the_server_is_as_full_as_chance_makes_it() -> None:
    """67.179 % counted, 67.19 % expected: a hundredth apart, which 155 rows more or less explain."""
    counted = Fraction(
        100 * whole(TOTALS, "resident_rows", 1, "all"), whole(TOTALS, "capacity_rows", 1, "all")
    )
    assert abs(counted - Fraction(CHANCE.cell("fill_pct", 1))) < Fraction(1, 50)


def test_the_first_evictions_are_those_of_full_sets() -> None:
    """Request A evicts 1,647 rows; 1,606 of its rows find their set full by chance: 2.5 % apart."""
    evictions, overflow = whole(MEASURED, "evictions", "A"), whole(CHANCE, "overflow_of_a", 1)
    assert round(100 * (evictions / overflow - 1), 1) == 2.6
    assert round(100 * (1 - overflow / evictions), 1) == 2.5
    assert same(derived("misses", "A"), exactly(ROWS_OF_A))


@pytest.mark.parametrize("request_name", ["B2", "A3"])
def test_slower_requests_are_the_differences_of_their_times(request_name: str) -> None:
    """+2.03 s are 11.4 %, +0.61 s are 10.5 %, to the printed digits of the times."""
    small, large = (printed(MEASURED, f"time_{size}_s", request_name) for size in ("1gib", "4gib"))
    assert follows(printed(WAIT, "slower_s", request_name), lambda a, b: a - b, small, large)
    slower = printed(WAIT, "slower_pct", request_name)
    assert follows(slower, lambda a, b: 100 * (a / b - 1), small, large)


@pytest.mark.parametrize("request_name", ["A", "B", "B2", "A3"])
def test_misses_are_lookups_less_hits(request_name: str) -> None:
    """The derived lookups and misses of a request keep its printed hit rate."""
    hit = printed(MEASURED, "hit_1gib_pct", request_name)
    assert follows(
        derived("misses", request_name),
        lambda lookups, pct: lookups * (1 - pct / 100),
        derived("lookups", request_name),
        hit,
    )


def test_derived_misses_make_the_total() -> None:
    """Over all requests they can sum to 3,146,909."""
    misses = total(derived("misses", str(request)) for (request,) in DERIVED.keys)
    assert same(misses, printed(TOTALS, "misses", 1, "all"))


def test_b_adds_what_the_fill_rises_by() -> None:
    """From 20.4 to 67.2 % are 1.688 to 1.692 M rows: the misses of B less those turned away."""
    turned_away = whole(TOTALS, "evictions", 1, "B") + whole(TOTALS, "refusals", 1, "B")
    misses = derived("misses", "B")
    added = Printed(misses.value - turned_away, misses.tolerance)
    before, after = (printed(MEASURED, "fill_pct", request) for request in ("A2", "B"))
    capacity = whole(TOTALS, "capacity_rows", 1, "all")
    assert follows(added, lambda low, high: (high - low) * capacity / 100, before, after)
    assert same(added, Printed(Fraction(1_690_000), Fraction(2_000)))


def test_fill_without_admission_is_the_same() -> None:
    """69.1 % under both 4-way policies: fill depends on the rows alone."""
    fill = TABLES["row-cache-fill"]
    assert fill.cell("fill_pct", "4-way") == fill.cell("fill_pct", "lru")


def test_both_scales_are_held_to_the_same_cells() -> None:
    """An eighth of the scale has the report's cells too, with wider tolerances."""
    for name in ("row-cache-emulated", "row-cache-fill"):
        full, eighth = TABLES[name], TABLES[f"{name}-eighth"]
        assert [row.cells for row in full.rows] == [row.cells for row in eighth.rows]
        for large, small in zip(full.value_columns, eighth.value_columns, strict=True):
            assert large.tolerance < small.tolerance
