"""Is a row that was read ahead or pinned kept as long as it must be, and counted apart?

Histories small enough to follow by hand; some are what a public bug report comes down to.
"""

from __future__ import annotations

from fixtures.row_histories import hits, opened
from reference.row_cache import RowCache, RowCounters


def test_a_second_read_ahead_of_a_row_makes_no_second_copy() -> None:
    """duck-read-cache-fs#475, cached#138: present, nothing evicted, nothing refused."""
    cache = opened(ways=2)
    assert [cache.insert(7), cache.insert(7)] == ["added", "present"]
    assert cache.resident_rows() == (7,)
    full = opened()
    assert [full.insert(1), full.insert(1)] == ["added", "present"]
    assert (full.counters.readahead_evictions, full.counters.readahead_refusals) == (0, 0)


def test_read_ahead_is_counted_apart_and_is_no_lookup() -> None:
    """The demand side keeps its identity; residents are those added by either side."""
    cache = opened(ways=2)
    outcomes = [cache.insert(row) for row in (1, 2, 3)]
    hits(cache, [3], [3], [4], [4], [4])
    outcomes += [cache.insert(row) for row in (3, 9)]
    assert outcomes == ["added", "added", "replaced", "present", "refused"]
    assert cache.estimate(9) == 0
    assert cache.counters == RowCounters(
        lookups=5, hits=4, misses=1, evictions=1, resident_rows=2, capacity_rows=2,
        readahead_inserts=5, readahead_present=1, readahead_added=2, readahead_evictions=1,
        readahead_refusals=1,
    )  # fmt: skip


def test_a_row_read_ahead_is_as_recent_as_the_last_lookup() -> None:
    """No tick of its own: it takes the clock as it stands, here that of the second lookup."""
    cache = opened(ways=3)
    hits(cache, [1], [2])
    cache.insert(3)
    ages = [found.last_access for found in map(cache.residency, (1, 2, 3)) if found]
    assert ages == [1, 2, 2]


def test_a_pinned_row_is_no_victim_until_its_last_pin_is_gone() -> None:
    """FBGEMM#1883: row 1, pinned twice, outlasts 300 newcomers; unpinned twice, it leaves."""
    cache = opened()
    cache.gather([1])
    assert [cache.pin(1), cache.pin(1), cache.pin(2)] == [True, True, False]
    hits(cache, *[[2]] * 300)
    assert (cache.resident_rows(), cache.counters.refusals) == ((1,), 300)
    assert (cache.unpin(1), cache.victim_order([0])) == (True, ())
    assert (cache.unpin(1), cache.unpin(1)) == (True, False)
    hits(cache, [2])
    assert cache.resident_rows() == (2,)


def test_with_all_ways_pinned_even_a_bypassing_read_ahead_is_refused() -> None:
    """Nothing may leave, so nothing comes in; the next way to come free is taken."""
    cache = opened(ways=2, readahead="pin")
    assert [cache.insert(row) for row in (1, 2, 3)] == ["added", "added", "refused"]
    cache.gather([2])
    assert cache.insert(3) == "replaced"
    assert cache.resident_rows() == (1, 3)


def test_an_explicit_pin_outlives_the_first_lookup() -> None:
    """The lookup gives back the read-ahead's pin alone; `unpin` can give it back before."""
    cache = opened(ways=2, readahead="pin")
    cache.insert(1)
    cache.pin(1)
    cache.gather([1])
    assert _pins(cache, 1) == 1
    cache.insert(2)
    assert cache.unpin(2)
    cache.gather([2])
    assert _pins(cache, 2) == 0


def _pins(cache: RowCache, row: int) -> int:
    found = cache.residency(row)
    assert found is not None
    return found.pins
