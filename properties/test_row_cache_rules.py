"""Does the RowCache do what its report states, on histories small enough to follow by hand?

Many of them are what a public bug report comes down to; the report is named at the test. Every
outcome was worked out by hand and holds for any hash, or states the placement it needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fixtures.row_histories import hits, opened
from reference.backing_store import digest, row_key, value
from reference.row_cache import RowCache, RowCacheConfig, RowCounters
from reference.usage_sketch import UsageSketch


def own_values(*rows: int) -> int:
    """The digest of a delivery in which every row has its own bytes."""
    return digest(value(row_key(0, row)) for row in rows)


# One gather


def test_a_repeated_id_is_looked_up_once() -> None:
    """Three ids, two rows: two lookups, one use each, and one answer each in order."""
    cache = opened(ways=2)
    assert hits(cache, [7, 9, 7], [9, 7, 9]) == ["mm", "HH"]
    assert (cache.counters.lookups, cache.counters.hits) == (4, 2)
    assert (cache.estimate(7), cache.estimate(9)) == (2, 2)


def test_an_empty_gather_changes_nothing() -> None:
    """No rows, no hits, digest 0, all counters as before; readable as 0 at the start as well."""
    cache = opened(ways=2)
    assert cache.counters == RowCounters(capacity_rows=2)
    answer = cache.gather([])
    assert (answer.hits, answer.digest) == ((), 0)
    assert cache.counters == RowCounters(capacity_rows=2)


def test_all_lookups_of_a_gather_come_before_its_inserts() -> None:
    """Row 2 would replace row 1, but row 1's lookup in the same gather still finds it."""
    cache = opened()
    assert hits(cache, [1], [2, 1]) == ["m", "mH"]
    assert cache.resident_rows() == (1,)  # 1 was used twice by the time 2 is inserted


def test_a_rows_own_lookup_counts_in_its_admission() -> None:
    """One use against one: admitted, since the newcomer's lookup stands in its estimate."""
    cache = opened()
    hits(cache, [1], [2])
    assert cache.resident_rows() == (2,)
    assert cache.counters == replace(
        RowCounters(capacity_rows=1), lookups=2, misses=2, added=1, evictions=1, resident_rows=1
    )


def test_a_gather_larger_than_its_set_delivers_every_row() -> None:
    """tigerbeetle#2774: four rows of one set of two ways, each with its own bytes."""
    cache = opened(ways=2)
    assert cache.gather([1, 2, 3, 4]).digest == own_values(1, 2, 3, 4)
    counters = cache.counters
    assert (counters.misses, counters.added, counters.evictions) == (4, 2, 2)
    assert (counters.resident_rows, counters.refusals) == (2, 0)


# Delivered bytes


def test_a_replaced_slot_delivers_the_new_rows_bytes() -> None:
    """recsys-examples#468: row 2 takes row 1's slot; what a hit then delivers is row 2's."""
    cache = opened()
    assert hits(cache, [1], [2]) == ["m", "m"]
    answer = cache.gather([2])
    assert (answer.hits, answer.digest) == ((True,), own_values(2))


@pytest.mark.parametrize("bit", [8, 15, 16, 31, 32, 48, 63])
def test_ids_that_differ_in_one_high_bit_are_different_rows(bit: int) -> None:
    """The whole 64-bit id is compared: no false hit, no other row's bytes."""
    far = 1 + (1 << bit)
    cache = opened(ways=2)
    assert hits(cache, [1], [far]) == ["m", "m"]
    assert cache.gather([far, 1]).digest == own_values(far, 1)
    assert cache.resident_rows() == (1, far)


def test_tables_are_caches_of_their_own() -> None:
    """The same id in two tables: two rows, two values, slots and uses apart, counters together."""
    cache = RowCache(RowCacheConfig(sets=(1, 2), ways=1))
    assert cache.gather([5], table=0).digest != cache.gather([5], table=1).digest
    assert (cache.estimate(5, 0), cache.estimate(5, 1)) == (1, 1)
    assert cache.table_counters(1).capacity_rows == 2
    assert (cache.counters.capacity_rows, cache.counters.resident_rows) == (3, 2)
    assert cache.gather([5], table=1).hits == (True,)
    assert cache.table_counters(0).hits == 0


# Victim and admission


def test_the_least_used_row_leaves_even_if_it_is_the_latest() -> None:
    """Row 2 was used once and last, row 1 twice: 2 leaves. Order by age first would keep it."""
    cache = opened(ways=2)
    hits(cache, [1], [1], [2], [3])
    assert cache.resident_rows() == (1, 3)


def test_of_equally_used_rows_the_older_leaves() -> None:
    """parley#576: a hit refreshes. Row 1 came first but was hit last, so row 2 leaves."""
    cache = opened(ways=2)
    hits(cache, [1], [2], [2], [1], [3], [3])
    assert cache.resident_rows() == (1, 3)


def test_a_resident_rows_estimate_is_that_of_today() -> None:
    """Rows 1 and 2 were inserted, and weighed against 3, at equal use; since then 2 gained more.

    Row 2 is the older one, so any estimate kept from before would send it away instead of 1.
    """
    cache = opened(ways=2)
    hits(cache, [1], [1], [2], [2], [3], [2], [2], [1])
    assert [cache.estimate(row) for row in (1, 2)] == [3, 4]
    hits(cache, [3], [3])
    assert cache.resident_rows() == (2, 3)


def test_every_miss_is_added_replaces_or_is_refused() -> None:
    """ravel#905: hits 1, misses 3, of which one added, one refused, one eviction at the tie."""
    cache = opened()
    assert hits(cache, [1], [1], [2], [2]) == ["m", "H", "m", "m"]
    counters = cache.counters
    assert (counters.hits, counters.misses, counters.refusals) == (1, 3, 1)
    assert (counters.evictions, counters.resident_rows) == (1, 1)
    assert cache.resident_rows() == (2,)  # foyer#849: its misses earned it the place


def test_a_row_used_less_than_the_victim_is_refused() -> None:
    """moka#249: with all estimates 0 admission would decide nothing and 2 would come in."""
    cache = opened()
    hits(cache, [1], [1], [2])
    assert (cache.resident_rows(), cache.counters.refusals) == ((1,), 1)


def test_replacing_keeps_the_number_of_residents() -> None:
    """js-lru#14: one row out, one in."""
    cache = opened(ways=2)
    hits(cache, [1], [2], [3])
    assert (cache.counters.resident_rows, len(cache.resident_rows())) == (2, 2)


# The sketch


@pytest.mark.parametrize("lookups, expected", [(254, 254), (255, 255), (256, 255), (600, 255)])
def test_a_cell_stops_at_255(lookups: int, expected: int) -> None:
    """count-min-log#7: it neither wraps to 0 nor goes beyond 8 bits."""
    cache = opened()
    hits(cache, *[[1]] * lookups)
    assert cache.estimate(1) == expected


def test_the_estimate_is_the_lowest_of_the_cells() -> None:
    """ristretto#108: rows 1 and 2 share one column of four; 2 has one use, not four."""
    columns = {1: (5, 1, 1, 1), 2: (5, 2, 2, 2)}
    cache = opened(injected_columns=columns)
    hits(cache, [1], [1], [1], [2])
    assert cache.estimate(2) == 1
    assert (cache.resident_rows(), cache.counters.refusals) == ((1,), 1)


def test_the_sketch_is_plain_and_not_conservative() -> None:
    """A lookup raises all of a row's cells, also those that stand above its estimate."""
    sketch = UsageSketch(rows=2, width=2)
    for columns in (0, 0), (0, 0), (0, 1):
        sketch.count(columns)
    assert [bytes(cells) for cells in sketch.cells] == [bytes([3, 0]), bytes([2, 1])]


def test_halving_floors_each_cell_by_itself() -> None:
    """theine-go#53: no bit moves from a cell into its neighbour; every array is halved."""
    sketch = UsageSketch(rows=4, width=4)
    for cells in sketch.cells:
        cells[:] = bytes([0, 1, 255, 2])
    sketch.halve()
    assert [bytes(cells) for cells in sketch.cells] == [bytes([0, 0, 127, 1])] * 4


def test_the_sample_count_restarts_at_a_halving() -> None:
    """Halved every 3 lookups: 9 lookups make 3 halvings, not one after each from the third on."""
    cache = opened(halve_every=3)
    hits(cache, *[[1]] * 9)
    assert (cache.counters.halvings, cache.estimate(1)) == (3, 2)


# Sets


def test_a_set_is_the_remainder_for_any_number_of_sets() -> None:
    """ClickHouse#99384: a bit mask for a modulo would leave 2 of 6 sets empty."""
    cache = opened(sets=6, ways=1)
    cache.gather(range(100))
    assert (cache.full_sets(), cache.counters.resident_rows) == (6, 6)


def test_a_full_set_turns_rows_away_while_another_is_empty() -> None:
    """HugeCTR#278: all rows map to set 0, so the two ways of set 1 stay free."""
    cache = opened(sets=2, ways=2, injected_sets=dict.fromkeys((1, 2, 3, 4), (0,)))
    hits(cache, [1], [1], [2], [2], [3], [4])
    assert (cache.counters.refusals, cache.resident_rows(), cache.full_sets()) == (2, (1, 2), 1)


def two_set(places: dict[int, tuple[int, ...]], ways: int) -> RowCache:
    """Two sets, of which each row has the one or two injected as candidates."""
    return opened(sets=2, ways=ways, candidate_sets=2, injected_sets=places)


def test_a_row_in_its_second_set_is_found() -> None:
    """ProbabilisticDataStructures#36: no miss and no second copy of what sits there."""
    cache = two_set({1: (0, 1), 2: (0, 1)}, ways=1)
    assert hits(cache, [1], [2], [2]) == ["m", "m", "H"]
    assert (cache.resident_rows(), cache.counters.evictions) == ((1, 2), 0)


def test_the_roomier_of_two_sets_is_filled() -> None:
    """Set 0 has one free way, set 1 two: row 3 goes to set 1 although set 0 is its first."""
    cache = two_set({1: (0,), 3: (0, 1)}, ways=2)
    hits(cache, [1], [3])
    assert (cache.victim_order([0]), cache.victim_order([1])) == ((1,), (3,))


def test_with_both_sets_full_the_victim_is_the_lowest_of_both() -> None:
    """caffeine#831: row 1 (set 0) was used twice, row 2 (set 1) once: 3 is compared with 2."""
    cache = two_set({1: (0,), 2: (1,), 3: (0, 1)}, ways=1)
    hits(cache, [1], [1], [2], [3])
    assert (cache.resident_rows(), cache.counters.refusals) == ((1, 3), 0)
    assert cache.victim_order([0, 1]) == (3, 1)


def test_two_equal_candidate_sets_are_one() -> None:
    """Both indices 0: the set is not counted twice as room, and a row has one place."""
    cache = two_set({1: (0, 0), 2: (0, 0), 3: (0, 0)}, ways=2)
    hits(cache, [1, 2, 3])
    assert (cache.counters.added, cache.counters.evictions) == (2, 1)
    assert cache.victim_order([0]) == (2, 3)


# Bad input


@pytest.mark.parametrize("row", [-1, 1 << 64, 1.0, "7", True, None])
def test_what_is_no_row_id_is_refused_before_anything_changes(row: Any) -> None:
    """An id is an integer from 0 to 2^64-1; a gather with one bad id does nothing at all."""
    cache = opened()
    for operation in (lambda: cache.gather([1, row]), lambda: cache.insert(row)):
        with pytest.raises(ValueError, match=r"a row id is an integer from 0 to 2\^64-1, got"):
            operation()
    assert cache.counters == RowCounters(capacity_rows=1)


@pytest.mark.parametrize("table", [-1, 2])
def test_a_table_that_is_not_there_is_named(table: int) -> None:
    """Two tables are 0 and 1."""
    cache = RowCache(RowCacheConfig(sets=(1, 1)))
    with pytest.raises(ValueError, match=f"no table {table}: this cache has tables 0 to 1"):
        cache.gather([1], table)
