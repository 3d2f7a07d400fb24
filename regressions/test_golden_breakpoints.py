"""Do the two tables of breakpoints pin the whole hit curve, and by another way than they were made?"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gate.golden.definitions.breakpoints import POINTS, breakpoints_of, digest_of
from gate.golden.definitions.traces import TRACES, route_trace, trace_shape
from gate.golden.table_file import TABLES, load
from reference.expert_cache import ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from replay.lookups import lookups_of
from replay.traces import DECODE, RouteTrace

CURVES, SAMPLE, CLIFF = (
    load(TABLES / f"{name}.toml") for name in ("breakpoints", "breakpoint-sample", "cliff")
)


def sampled(trace: str, column: str) -> list[int]:
    """A column of the sample, by point."""
    return [int(SAMPLE.cell(column, trace, point)) for point in range(1, POINTS + 1)]


@pytest.mark.parametrize("trace", TRACES)
def test_the_sample_runs_from_the_first_hit_to_the_last(trace: str) -> None:
    """The first point is the cliff's budget; at the last only first touches miss; nothing ever falls back."""
    budgets, hits, read = (sampled(trace, name) for name in ("budget_bytes", "hits", "read_bytes"))
    assert budgets[0] == CLIFF.cell("first_hit_bytes", trace)
    missed = CURVES.cell("first_touches", trace)
    assert hits[-1] == int(CURVES.cell("lookups", trace)) - int(missed)
    assert all(a < b for a, b in pairwise(budgets))
    assert all(a <= b for a, b in pairwise(hits))
    assert all(a >= b for a, b in pairwise(read))


@pytest.mark.usefixtures("more_than_quick")
@pytest.mark.parametrize("point", [1, 20, 45, 64])
@pytest.mark.parametrize("trace", TRACES)
def test_the_reference_cache_gives_the_sample(
    bench_data: Path, trace: str, point: int, request: pytest.FixtureRequest
) -> None:
    """Loaded batch by batch at that very budget it hits as often and reads as much; a byte less, fewer hits."""
    if trace != "gptoss":
        request.getfixturevalue("only_nightly")
    budget = int(SAMPLE.cell("budget_bytes", trace, point))
    cache = loaded(bench_data, trace, budget)
    assert cache.counters.hits == SAMPLE.cell("hits", trace, point)
    assert cache.counters.read_bytes == SAMPLE.cell("read_bytes", trace, point)
    if point == 1:
        below = loaded(bench_data, trace, budget - 1)
        assert below.counters.hits < cache.counters.hits


def test_one_routing_or_one_byte_changes_the_digest(bench_data: Path) -> None:
    """Another expert in the middle of decode, and an entry one byte larger: each another digest."""
    trace = route_trace(bench_data, "gptoss")
    golden = CURVES.cell("digest", "gptoss")
    assert digest(trace) == golden
    experts = list(trace.expert)
    at = trace.batches[len(trace.batches) // 2].first_row
    experts[at] = (experts[at] + 1) % trace.expert_count
    assert digest(replace(trace, expert=experts)) != golden
    grown = {**trace.entry_bytes, 35: trace.entry_bytes[35] + 1}
    assert digest(replace(trace, entry_bytes=grown)) != golden


def digest(trace: RouteTrace) -> str:
    """The digest of a trace's breakpoints."""
    return digest_of(breakpoints_of(lookups_of(trace)))


def loaded(bench_data: Path, trace: str, budget_bytes: int) -> ExpertCache:
    """The reference cache after all batches of a trace."""
    recorded = route_trace(bench_data, trace)
    config = ExpertConfig(trace_shape(bench_data, trace), budget_bytes, rules=EXACT_BYTES)
    cache = ExpertCache(config)
    for batch in recorded.batches:
        experts = recorded.expert[batch.first_row : batch.first_row + batch.row_count]
        cache.load(batch.layer, experts, decode=batch.phase == DECODE)
    return cache
