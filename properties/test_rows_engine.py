"""Do the fast RowCache engines count what the reference counts, number by number?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.row_gathers import FAMILIES, gather_lists, row_configs
from fixtures.text import request_sequence, synthetic_tokens
from reference import engram
from reference.row_cache import RowCache, RowCacheConfig
from replay import engram as fast_engram
from replay import kernel
from replay.gathers import Gathers
from replay.rows import COLUMNS, RowReplay, replay_rows

SLOTS = 24
EXAMPLES = settings.default.max_examples
PARTS = {"quick": (3, 1), "gate": (14, 1), "nightly": (None, 8)}
"""Of the synthetic run by profile: how many gathers, and heads; 8 heads are full scale."""


def contents(replay: RowReplay) -> dict[int, tuple[int, int, int]]:
    """Set, way and last access of every resident row."""
    rows, ages = replay.slots()
    return {int(rows[s, w]): (s, w, int(ages[s, w])) for s, w in np.argwhere(ages).tolist()}


def residents(cache: RowCache) -> dict[int, tuple[int, int, int]]:
    """The same of the reference."""
    found = ((row, cache.residency(row)) for row in cache.resident_rows())
    return {row: (at.set_index, at.way, at.last_access) for row, at in found if at}


@pytest.mark.parametrize("family", sorted(FAMILIES))
@settings(max_examples=max(EXAMPLES, 300) if EXAMPLES >= 100 else EXAMPLES)  # 2,100 under gate
@given(data=st.data())
def test_engines_equal_the_reference(family: str, data: st.DataObject) -> None:
    """Counters gather by gather, full sets, and row, set, way and age of every slot."""
    config = data.draw(row_configs(family))
    gathers = data.draw(gather_lists(SLOTS))
    cache, totals = RowCache(config), []
    for gather in gathers:
        cache.gather(gather)
        totals.append([getattr(cache.counters, name) for name in COLUMNS[:6]])
    for engine in kernel.available():
        replay = RowReplay(config, engine)
        counts = replay.gathers(Gathers.of(gathers))
        assert counts[:, :6].cumsum(axis=0).tolist() == totals
        assert replay.counters() == cache.counters
        assert replay.full_sets() == cache.full_sets()
        assert contents(replay) == residents(cache)


@given(data=st.data())
def test_engines_agree_on_what_a_layout_costs(data: st.DataObject) -> None:
    """Second-set probes and estimates read are counted alike; one set probes no second one."""
    config = data.draw(row_configs(data.draw(st.sampled_from(["one set", "two sets"]))))
    gathers = Gathers.of(data.draw(gather_lists(8)))
    counts = [RowReplay(config, engine).gathers(gathers) for engine in kernel.available()]
    assert counts[0].tolist() == counts[-1].tolist()
    costs = dict(zip(COLUMNS, counts[0].sum(axis=0).tolist(), strict=True))
    decisions = costs["evictions"] + costs["refusals"]
    reads = decisions * (config.ways * config.candidate_sets + 1)
    if config.candidate_sets == 1:
        assert costs["second_probes"] == 0
        assert costs["estimates_read"] == reads
    else:
        assert costs["second_probes"] <= costs["hits"] + costs["misses"]
        assert decisions * (config.ways + 1) <= costs["estimates_read"] <= reads


@given(data=st.data())
def test_a_trace_may_come_in_parts(data: st.DataObject) -> None:
    """Cut between any two gathers and replayed part by part, a trace gives the same counts."""
    config = data.draw(row_configs("open choices"))
    gathers = data.draw(gather_lists(8))
    cut = data.draw(st.integers(0, len(gathers)))
    for engine in kernel.available():
        whole, parts = RowReplay(config, engine), RowReplay(config, engine)
        at_once = whole.gathers(Gathers.of(gathers))
        one, two = (parts.gathers(Gathers.of(part)) for part in (gathers[:cut], gathers[cut:]))
        assert np.concatenate((one, two)).tolist() == at_once.tolist()
        assert parts.counters() == whole.counters()


@given(
    clock_scope=st.sampled_from(["table", "cache"]),
    gathers=st.lists(st.tuples(st.integers(0, 1), gather_lists(2)), max_size=3),
)
def test_tables_count_apart(
    clock_scope: Literal["table", "cache"], gathers: list[tuple[int, list[list[int]]]]
) -> None:
    """Two tables fed in turn count what the reference's two tables count, under either clock."""
    config = RowCacheConfig(sets=(2, 3), ways=2, clock_scope=clock_scope)
    cache = RowCache(config)
    replays = [RowReplay(config, engine) for engine in kernel.available()]
    for table, of_table in gathers:
        for gather in of_table:
            cache.gather(gather, table)
        for replay in replays:
            replay.gathers(Gathers.of(of_table), table)
    for replay in replays:
        assert replay.counters() == cache.counters
        assert all(replay.table_counters(t) == cache.table_counters(t) for t in (0, 1))


@pytest.mark.parametrize("candidate_sets", [1, 2])
def test_the_synthetic_run_equals_the_reference(
    candidate_sets: int, request: pytest.FixtureRequest
) -> None:
    """Gather by gather on the synthetic text: its start at 1/8 scale, or all of it (nightly)."""
    most, heads = PARTS[request.config.getoption("--profile")]
    sets = 1_806_918 * heads // 8 // 4
    config = RowCacheConfig((sets,), 4, candidate_sets, sketch_width=(1 << 15) * heads)
    cache = RowCache(config)
    replays = [RowReplay(config, engine) for engine in kernel.available()]
    for gather in islice(synthetic_gathers(heads), most):
        cache.gather(gather)
        for replay in replays:
            replay.gathers(Gathers.of([gather]))
            assert replay.counters() == cache.counters


def synthetic_gathers(heads: int) -> Iterator[list[int]]:
    """The row ids of the five requests over the synthetic text."""
    for text in request_sequence(synthetic_tokens()):
        tokens = np.array(text.tokens, dtype=np.uint64)
        yield from text.gathers(fast_engram.hashed_rows(tokens, heads).tolist())


def test_a_saturated_cell_stays_at_255() -> None:
    """After 300 lookups a row cannot be told from one looked up 255 times: the tie lets it in."""
    gathers = [[1]] * 300 + [[2]] * 254
    config = RowCacheConfig(sets=(1,), ways=1)
    for engine in kernel.available():
        replay = RowReplay(config, engine)
        replay.gathers(Gathers.of(gathers))
        assert replay.counters().refusals == 254
        replay.gathers(Gathers.of([[2]]))
        assert replay.counters().evictions == 1


def test_injected_placement_is_left_to_the_reference() -> None:
    """A configuration that injects sets or columns is refused by name, not replayed by hash."""
    for injected in ({"injected_sets": {1: (0,)}}, {"injected_columns": {1: (0, 0, 0, 0)}}):
        config = RowCacheConfig(sets=(1,), **injected)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"reference\.row_cache"):
            RowReplay(config)


def test_a_run_without_lookups_counts_nothing() -> None:
    """No gather, and empty gathers, leave every counter at 0."""
    config = RowCacheConfig(sets=(3,), ways=2)
    for gathers in ([], [[]], [[], []]):
        counted = replay_rows(config, gathers)
        assert counted == RowCache(config).counters


@given(tokens=st.lists(st.integers(0, engram.COMPRESSED_VOCABULARY - 1), max_size=12))
def test_rows_of_tokens_equal_the_reference(tokens: list[int]) -> None:
    """Exact and hashed Engram rows of whole requests are those of the reference."""
    ids = np.array(tokens, dtype=np.uint64)
    for layer in engram.LAYERS:
        assert fast_engram.model_rows(ids, layer).tolist() == engram.model_rows(tokens, layer)
        for heads in (1, 8):
            fast = fast_engram.hashed_rows(ids, heads, layer).tolist()
            assert fast == engram.hashed_rows(tokens, heads, layer)
