"""Do bytes become the rows the RowCache report states, and does chance fill them as it measured?"""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from reference.row_geometry import (
    SLOT_BYTES,
    TABLE_OVERHEAD_BYTES,
    expected_fill,
    expected_full_sets,
    expected_overflow,
    expected_residents,
    rows_at_fill,
    rows_of_budget,
    sets_of_rows,
    split_by_rows,
)

GIB = 1 << 30
SETS = {1: 903_459, 4: 3_779_553}
CAPACITY_ROWS = {1: 3_613_836, 4: 15_118_212}


@pytest.mark.parametrize("gib", [1, 4])
def test_a_budget_gives_the_stated_capacity(gib: int) -> None:
    """280 bytes a slot, shares in proportion to the tables: both stated capacities, exactly."""
    sets = sets_of_rows(rows_of_budget(gib * GIB), ways=4)
    assert sum(sets) == SETS[gib]
    assert sum(sets) * 4 == CAPACITY_ROWS[gib]


def test_an_equal_split_cannot_give_the_stated_capacity() -> None:
    """Two equal tables of 4-way sets hold a multiple of 8 rows; the stated capacity is none."""
    assert CAPACITY_ROWS[1] % 8 == 4


@pytest.mark.parametrize(
    "budget", [0, 1, TABLE_OVERHEAD_BYTES, 2 * TABLE_OVERHEAD_BYTES, 61_868_000]
)
def test_a_budget_below_one_set_buys_nothing(budget: int) -> None:
    """Up to the overhead of the tables plus a part of a set, there is no set and no error."""
    assert sets_of_rows(rows_of_budget(budget), ways=4) == (0, 0)


def test_exactly_one_set_and_one_byte_less() -> None:
    """One table alone: the overhead and 4 slots buy a set, one byte less does not."""
    enough = TABLE_OVERHEAD_BYTES + 4 * SLOT_BYTES
    assert sets_of_rows(rows_of_budget(enough, (1,)), ways=4) == (1,)
    assert sets_of_rows(rows_of_budget(enough - 1, (1,)), ways=4) == (0,)


def test_slots_are_split_like_bytes() -> None:
    """A capacity in rows goes to the tables in proportion, rounded down; a negative one is none."""
    assert split_by_rows(100, (1, 3)) == (25, 75)
    assert split_by_rows(7, (1, 1)) == (3, 3)
    with pytest.raises(ValueError, match="0 or more, got -1"):
        split_by_rows(-1)


def test_the_expected_fill_is_the_stated_one() -> None:
    """2.72 M rows over 903,459 sets of 4: fill 67.19 %, full sets 35.5 %; measured 67.18 %."""
    assert round(100 * expected_fill(2.72e6, SETS[1], 4), 2) == 67.19
    assert round(100 * expected_fill(2_719_642, SETS[1], 4), 2) == 67.18
    assert round(100 * expected_full_sets(2.72e6, SETS[1], 4), 1) == 35.5


def test_two_measured_fills_tell_the_same_number_of_rows() -> None:
    """Inverted, the residents at 1 GiB and at 4 GiB give 2,719,487 and 2,719,642 distinct rows."""
    assert round(rows_at_fill(2_427_737, SETS[1], 4)) == 2_719_487
    assert round(rows_at_fill(2_715_850, SETS[4], 4)) == 2_719_642


def test_the_overflow_of_the_first_request_is_the_predicted_one() -> None:
    """738,000 distinct rows of request A leave 1,606 that meet a full set; 1,647 were measured."""
    assert round(expected_overflow(738_000, SETS[1], 4)) == 1_606


@pytest.mark.parametrize("ways", [1, 4, 8, 16])
@pytest.mark.parametrize("rows_a_set", [0.0, 0.5, 3.0, 20.0, 5_000.0])
def test_expectations_stay_within_their_bounds(ways: int, rows_a_set: float) -> None:
    """Fill and full sets are shares, residents and overflow add up, also far from the middle."""
    rows = 1_000 * rows_a_set
    assert 0 <= expected_fill(rows, 1_000, ways) <= 1
    assert 0 <= expected_full_sets(rows, 1_000, ways) <= 1
    together = expected_residents(rows, 1_000, ways) + expected_overflow(rows, 1_000, ways)
    assert together == pytest.approx(rows)
    if 0 < expected_residents(rows, 1_000, ways) < 999 * ways:
        found = rows_at_fill(expected_residents(rows, 1_000, ways), 1_000, ways)
        assert found == pytest.approx(rows)


def test_no_sets_are_full_of_nothing() -> None:
    """A table without sets has fill 0, no full sets, and every row overflows."""
    assert (expected_fill(9, 0, 4), expected_full_sets(9, 0, 4)) == (0.0, 0.0)
    assert expected_overflow(9, 0, 4) == 9


def test_the_inversion_refuses_a_full_table() -> None:
    """A full table is explained by any large enough number of rows, so there is no answer."""
    with pytest.raises(ValueError, match="expected 0 to 39 resident rows, got 40"):
        rows_at_fill(40, 10, 4)


def test_balls_thrown_into_sets_fill_them_as_expected() -> None:
    """2,000 throws of 3 rows a set: mean fill within 6 standard errors of the expectation."""
    draw = random.Random(7)
    fills = [_thrown_fill(draw, sets=50, ways=4, rows=150) for _ in range(2_000)]
    # Per throw the fill varies by less than 0.03; 6 * 0.03 / sqrt(2000) = 0.004. Binomial instead
    # of Poisson arrivals move the expectation by less than 0.002 at 50 sets.
    assert fmean(fills) == pytest.approx(expected_fill(150, 50, 4), abs=0.006)


def _thrown_fill(draw: random.Random, sets: int, ways: int, rows: int) -> float:
    load = [0] * sets
    for _ in range(rows):
        load[draw.randrange(sets)] += 1
    return sum(min(count, ways) for count in load) / (sets * ways)
