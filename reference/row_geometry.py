"""How many rows does a budget hold, and how full does a table get by chance alone?

Bytes become rows as the RowCache report's server does it: every table gets its share of the budget
in proportion to its rows, loses a fixed part, and what is left is cut into slots. The three
constants below reproduce both capacities of the report exactly; an equal split of the budget
cannot.

The expected fill is that of Poisson arrivals: rows fall into sets by hash, so a set is met by
about Poisson(rows / sets) distinct rows and keeps at most `ways` of them. It depends on the number
of distinct rows alone, not on admission: the independent oracle for every fill that is measured.
With two candidate sets, of which a row takes the roomier, the loads follow a differential equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import exp

SLOT_BYTES = 280
"""A 264-byte row and 16 bytes of index."""
TABLE_ROWS = (384_006_168, 384_016_682)
"""Rows of the public model's two tables, on disk."""
TABLE_OVERHEAD_BYTES = 30_933_400
"""What a table's share loses before it is cut into slots; found from the stated capacities."""


def rows_of_budget(budget_bytes: int, table_rows: Sequence[int] = TABLE_ROWS) -> tuple[int, ...]:
    """Slots that `budget_bytes` buys each table, 0 where the share does not cover the overhead."""
    shares = split_by_rows(budget_bytes, table_rows)
    return tuple(max(share - TABLE_OVERHEAD_BYTES, 0) // SLOT_BYTES for share in shares)


def split_by_rows(amount: int, table_rows: Sequence[int] = TABLE_ROWS) -> tuple[int, ...]:
    """`amount` (bytes or slots) in proportion to the tables' rows, each part rounded down."""
    if amount < 0:
        raise ValueError(f"a capacity is 0 or more, got {amount}")
    return tuple(amount * rows // sum(table_rows) for rows in table_rows)


def sets_of_rows(capacity_rows: Sequence[int], ways: int) -> tuple[int, ...]:
    """Whole sets of `ways` slots in each table's capacity; 0 when it is below one set."""
    return tuple(rows // ways for rows in capacity_rows)


def expected_fill(rows: float, sets: int, ways: int) -> float:
    """Share of the slots that `rows` distinct rows occupy: E[min(Poisson(rows/sets), ways)]/ways.

    Holds for one candidate set; two fill more (expected_residents_two_sets). 0.0 without sets.
    """
    return expected_residents(rows, sets, ways) / (sets * ways) if sets else 0.0


def expected_residents(rows: float, sets: int, ways: int) -> float:
    """How many of `rows` distinct rows find a free slot."""
    if not sets:
        return 0.0
    free_slots = sum((ways - k) * p for k, p in enumerate(_poisson(rows / sets, ways)))
    return sets * (ways - free_slots)


def expected_full_sets(rows: float, sets: int, ways: int) -> float:
    """Share of the sets that `rows` distinct rows leave without a free way. 0.0 without sets."""
    return 1.0 - sum(_poisson(rows / sets, ways)) if sets else 0.0


def expected_residents_two_sets(rows: float, sets: int, ways: int) -> float:
    """How many of `rows` distinct rows find a free slot in the roomier of two candidate sets."""
    return sets * sum(two_set_loads(rows / sets, ways)) if sets else 0.0


def two_set_loads(rows_a_set: float, ways: int, steps: int = 200) -> list[float]:
    """Share of the sets that hold at least 1, 2, … `ways` rows when each row took the roomier of two.

    The limit of many sets: a row raises a set to load k iff both its candidates hold k - 1 or more
    and not both hold k, so d load[k] / d rows = load[k-1]^2 - load[k]^2. Integrated by the classic
    Runge–Kutta rule. Source: Mitzenmacher, "The power of two choices in randomized load balancing",
    1996.
    """

    def slope(loads: list[float]) -> list[float]:
        return [below**2 - load**2 for below, load in pairwise([1.0, *loads])]

    def ahead(loads: list[float], slopes: list[float], rows: float) -> list[float]:
        return [load + rows * change for load, change in zip(loads, slopes, strict=True)]

    loads, step = [0.0] * ways, rows_a_set / steps
    for _ in range(steps):
        k1 = slope(loads)
        k2 = slope(ahead(loads, k1, step / 2))
        k3 = slope(ahead(loads, k2, step / 2))
        k4 = slope(ahead(loads, k3, step))
        mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        loads = ahead(loads, mean, step)
    return loads


def expected_overflow(rows: float, sets: int, ways: int) -> float:
    """How many of `rows` distinct rows meet a full set: they must replace a row or be refused."""
    return rows - expected_residents(rows, sets, ways)


def rows_at_fill(resident_rows: float, sets: int, ways: int) -> float:
    """The inverse of `expected_residents`: how many distinct rows leave that many resident.

    Raises ValueError if all slots are taken, which any large enough number of rows explains.
    """
    if not 0 <= resident_rows < sets * ways:
        raise ValueError(f"expected 0 to {sets * ways - 1} resident rows, got {resident_rows}")
    low, high = resident_rows, max(resident_rows, 1.0)
    while expected_residents(high, sets, ways) < resident_rows:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        short = expected_residents(middle, sets, ways) < resident_rows
        low, high = (middle, high) if short else (low, middle)
    return high


def _poisson(mean: float, terms: int) -> list[float]:
    """P(Poisson(mean) = k) for k from 0 to terms - 1."""
    return list(accumulate(range(1, terms), lambda p, k: p * mean / k, initial=exp(-mean)))
