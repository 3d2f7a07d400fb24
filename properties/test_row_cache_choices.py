"""Which choices about a RowCache are open, and what does each of them change?

One test a field of RowCacheConfig: a history of a few gathers whose outcome differs between the
default and the other choice. `sees` notes the field, and the last test holds that none is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import pytest
import xxhash

from fixtures.row_histories import after, rows_after
from reference.row_cache import RowCache, RowCacheConfig

SEEN: set[str] = set()


def sees(field: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Note that the decorated test tells the choices of `field` apart."""

    def note(test: Callable[[], None]) -> Callable[[], None]:
        SEEN.add(field)
        return test

    return note


# Geometry and policy


@sees("sets")
def test_without_a_set_every_row_is_refused() -> None:
    """A budget below one set is legal: misses and refusals, nothing resident, no division by 0."""
    cache = after([1], [1, 2], sets=0)
    assert (cache.counters.misses, cache.counters.refusals) == (3, 3)
    assert (cache.counters.capacity_rows, cache.resident_rows()) == (0, ())
    assert rows_after([1], [1, 2], sets=1, ways=2) == (1, 2)


@sees("ways")
def test_a_set_holds_as_many_rows_as_it_has_ways() -> None:
    """Every way is used, the last one too, before use decides anything."""
    assert rows_after([1], [1], [1], [2], sets=1, ways=2) == (1, 2)
    assert rows_after([1], [1], [1], [2], sets=1, ways=1) == (1,)


@sees("candidate_sets")
def test_with_two_candidate_sets_a_row_finds_room_in_the_second() -> None:
    """Rows 1 and 2 meet in set 0; with set 1 as a second candidate both stay, and are found."""
    both = {1: (0, 1), 2: (0, 1)}
    cache = after([1], [2], sets=2, ways=1, candidate_sets=2, injected_sets=both)
    assert cache.resident_rows() == (1, 2)
    assert cache.gather([2]).hits == (True,)
    assert rows_after([1], [2], sets=2, ways=1, injected_sets={1: (0,), 2: (0,)}) == (2,)


@sees("admission")
def test_without_admission_the_set_is_plain_lru() -> None:
    """Row 3 comes once. By use, 2 leaves; by age, 1 does, although it was used twice."""
    assert rows_after([1], [1], [2], [3], ways=2) == (1, 3)
    assert rows_after([1], [1], [2], [3], admission=False, ways=2) == (2, 3)
    assert rows_after([1], [1], [2]) == (1,)
    assert rows_after([1], [1], [2], admission=False) == (2,)


# The usage sketch


@sees("sketch_rows")
def test_more_sketch_rows_tell_colliding_rows_apart() -> None:
    """Rows 1 and 2 share their first column. With that one alone, 2 looks as used as 1."""
    four = {1: (0, 1, 1, 1), 2: (0, 2, 2, 2)}
    assert rows_after([1], [1], [1], [2], injected_columns=four) == (1,)
    one = {1: (0,), 2: (0,)}
    shared = after([1], [1], [1], [2], injected_columns=one, sketch_rows=1)
    assert shared.resident_rows() == (2,)


@sees("sketch_width")
def test_a_sketch_of_one_column_knows_only_the_total() -> None:
    """All rows share all cells, so a newcomer is always as used as the victim."""
    assert rows_after([1], [1], [1], [2]) == (1,)
    assert rows_after([1], [1], [1], [2], sketch_width=1) == (2,)


@sees("halve_every")
def test_halving_forgets_half_of_every_use() -> None:
    """Five lookups, halved after the fourth: 2 and the fifth make 3. Without halving, 5."""
    five = [[1]] * 5
    assert after(*five).estimate(1) == 5
    halved = after(*five, halve_every=4)
    assert (halved.estimate(1), halved.counters.halvings) == (3, 1)


@sees("halve_when")
def test_a_halving_falls_within_a_gather_or_after_it() -> None:
    """At once: rows 1 and 2 are halved to 0 before 3 is counted. After the gather: 3 as well."""
    at_once = after([1, 2, 3], halve_every=2, ways=2)
    assert [at_once.estimate(row) for row in (1, 2, 3)] == [0, 0, 1]
    later = after([1, 2, 3], halve_every=2, halve_when="after_gather", ways=2)
    assert [later.estimate(row) for row in (1, 2, 3)] == [0, 0, 0]
    # Three uses against two: halved to 1 and 1 before the insert, or only after it.
    history = [1], [1], [1], [2], [2]
    assert rows_after(*history, halve_every=5) == (2,)
    assert rows_after(*history, halve_every=5, halve_when="after_gather") == (1,)


# Placement


@sees("hash_seed")
def test_the_seed_moves_rows_to_other_sets() -> None:
    """The set is XXH3-64 of the id under the run's seed, modulo the number of sets."""
    for seed in (0, 1, 19):
        found = after([77], sets=1_000, hash_seed=seed).residency(77)
        expected = xxhash.xxh3_64_intdigest((77).to_bytes(8, "little"), seed) % 1_000
        assert found is not None
        assert found.set_index == expected


@sees("injected_sets")
def test_injected_sets_replace_the_hash() -> None:
    """Rows 1 to 3 are put into set 5 and row 4 into set 2, whatever their hash."""
    sets = {1: (5,), 2: (5,), 3: (5,), 4: (2,)}
    cache = after([1, 2, 3, 4], sets=6, ways=4, injected_sets=sets)
    assert cache.victim_order([5]) == (1, 2, 3)
    assert cache.victim_order([2]) == (4,)


@sees("injected_columns")
def test_injected_columns_replace_the_hash() -> None:
    """Rows 1 and 2 share all columns, so each counts the other's lookups; 3 stands alone."""
    columns = {1: (7, 7, 7, 7), 2: (7, 7, 7, 7)}
    cache = after([1], [2, 3], [2], injected_columns=columns, ways=2)
    assert [cache.estimate(row) for row in (1, 2, 3)] == [3, 3, 1]


@sees("second_set_tie")
def test_equally_roomy_sets_are_filled_first_or_second() -> None:
    """Both candidate sets are empty: the first is filled by default."""
    choices: dict[str, Any] = {"sets": 2, "candidate_sets": 2, "injected_sets": {1: (0, 1)}}
    for tie, expected in (("first", 0), ("second", 1)):
        found = after([1], second_set_tie=tie, **choices).residency(1)
        assert found is not None
        assert found.set_index == expected


# Time and order


@sees("clock_scope")
def test_tables_keep_a_clock_each_or_share_one() -> None:
    """Two lookups in table 0, then one in table 1: that table's first tick, or the third of all."""
    scopes: tuple[tuple[Literal["table", "cache"], int], ...] = (("table", 1), ("cache", 3))
    for scope, expected in scopes:
        cache = RowCache(RowCacheConfig(sets=(1, 1), clock_scope=scope))
        cache.gather([1, 2], table=0)
        cache.gather([9], table=1)
        found = cache.residency(9, table=1)
        assert found is not None
        assert found.last_access == expected


@sees("clock_tick")
def test_rows_of_one_gather_differ_in_age_or_do_not() -> None:
    """After [2, 1], row 2 is the older by one lookup; by gathers they tie, and way 0 leaves."""
    history = [1, 2], [2, 1], [3], [3]
    assert rows_after(*history, ways=2) == (1, 3)
    assert rows_after(*history, clock_tick="gather", ways=2) == (2, 3)


@sees("insert_age")
def test_a_missed_row_is_as_old_as_its_lookup_or_as_its_insert() -> None:
    """Row 2 is looked up before row 1 and inserted after it; their estimates are kept equal."""
    columns = {1: (7, 7, 7, 7), 2: (7, 7, 7, 7)}
    cache = after([1], [2, 1], injected_columns=columns, ways=2)
    assert cache.victim_order([0]) == (2, 1)
    other = after([1], [2, 1], injected_columns=columns, insert_age="insert", ways=2)
    assert other.victim_order([0]) == (1, 2)


@sees("gather_order")
def test_a_gather_works_in_the_order_of_first_occurrence() -> None:
    """One slot: the row that is worked on last replaces the others at equal use."""
    assert rows_after([2, 1, 2]) == (1,)
    assert rows_after([2, 1, 2], gather_order="last_occurrence") == (2,)
    assert rows_after([2, 1, 2], gather_order="sorted") == (2,)
    assert rows_after([3, 1, 2, 3, 2], gather_order="sorted") == (3,)
    assert rows_after([3, 1, 2, 3, 2], gather_order="last_occurrence") == (2,)


@sees("free_way")
def test_the_lowest_free_way_is_filled_or_the_highest() -> None:
    """Two rows into four free ways."""
    for choice, expected in (("lowest", [0, 1]), ("highest", [3, 2])):
        cache = after([1, 2], sets=1, ways=4, free_way=choice)
        places = [cache.residency(row) for row in (1, 2)]
        assert [place.way for place in places if place] == expected


@sees("victim_tie")
def test_of_equal_rows_the_lowest_way_leaves_or_the_highest() -> None:
    """Two rows read ahead before any lookup: no use, no age. A third replaces way 0, or way 1."""
    for choice, expected in (("lowest", (2, 3)), ("highest", (1, 3))):
        cache = after(victim_tie=choice, ways=2)
        assert [cache.insert(row) for row in (1, 2, 3)] == ["added", "added", "replaced"]
        assert cache.resident_rows() == expected


# Read-ahead


@sees("readahead")
def test_read_ahead_obeys_admission_or_bypasses_it_and_holds_the_row() -> None:
    """Row 1 was used twice. Row 2, read ahead, is refused; or it takes the slot and keeps it.

    Held, it stands against any number of newcomers until its own first lookup, and no longer.
    """
    assert after([1], [1]).insert(2) == "refused"

    cache = after([1], [1], readahead="pin")
    assert cache.insert(2) == "replaced"
    for _ in range(300):
        cache.gather([3])
    assert cache.resident_rows() == (2,)
    assert cache.gather([2]).hits == (True,)
    cache.gather([3])
    assert cache.resident_rows() == (3,)


@sees("insert_resident")
def test_read_ahead_of_a_resident_row_does_nothing_or_refreshes_it() -> None:
    """Row 1 is the older one. Touched by a read-ahead after the lookup of 9, it is the younger."""
    for choice, expected in (("nothing", (1, 2)), ("touch", (2, 1))):
        cache = after([1], [1], [2], [2], [9], insert_resident=choice, ways=2)
        assert cache.insert(1) == "present"
        assert cache.victim_order([0]) == expected


def test_every_field_of_the_configuration_has_a_test_that_sees_it() -> None:
    """No choice without a history that tells its values apart."""
    assert {field.name for field in fields(RowCacheConfig)} == SEEN


# What cannot be chosen


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"sets": ()}, "sets: expected 1 to 256 tables"),
        ({"sets": (3, -1)}, "sets: expected 0 or more sets a table"),
        ({"ways": 0}, "ways: expected 1 to 65536, got 0"),
        ({"candidate_sets": 3}, "candidate_sets: expected 1 or 2, got 3"),
        ({"sketch_rows": 0}, "sketch_rows: expected 1 or more, got 0"),
        ({"sketch_width": 1 << 40}, "at most 2\\^28"),
        ({"halve_every": 0}, "halve_every: expected 1 or more, or None, got 0"),
        ({"hash_seed": 1 << 64}, "hash_seed: expected 0 to 2\\^64-1"),
        ({"free_way": "last"}, "free_way: expected 'lowest' or 'highest', got 'last'"),
        ({"injected_sets": {5: (1,)}}, "injected_sets\\[5\\]: expected sets from 0 to 0"),
        ({"injected_sets": {5: (0, 0)}}, "injected_sets\\[5\\]: expected one entry a candidate"),
        ({"injected_columns": {5: (1, 2)}}, "injected_columns\\[5\\]: expected 4 columns"),
        ({"injected_columns": {5: (0, 0, 0, 262_144)}}, "columns from 0 to 262143"),
    ],
)
def test_a_configuration_that_cannot_be_is_named(choices: dict[str, Any], message: str) -> None:
    """The field, what it may be, and what it was."""
    with pytest.raises(ValueError, match=message):
        RowCacheConfig(**{"sets": (1,), **choices})
