"""How many tokens of routing does a sizing rule have to see before it knows the hit curve?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from fixtures.routing import named_routings, synthetic_trace
from gate.golden.definitions.traces import (
    TRACES,
    budget_of_cycles,
    decode_hit_pct,
    lru_curve,
    route_trace,
    trace_shape,
)
from gate.golden.table import Row
from reference.growth_events import Sample
from reference.sizing import legal_budgets
from replay.lookups import lookups_of, shape_of
from replay.prompts import token_by_token
from replay.sampled_curve import sample_of
from replay.thresholds import thresholds
from replay.traces import RouteTrace

CYCLES = range(1, 9)
TOKENS = (16, 28, 57, 85, 113)
LONG_TOKENS = (28, 57, 85, 113, 156, 250, 500)
LONG_RUN_TOKENS = 1200
SETTLED_TOKENS = 500
"""Tokens of a long synthetic run after which it is settled: its curve is that of the rest."""


class Stream:
    """The routing of a trace, one token after the other on a cold cache."""

    def __init__(self, trace: RouteTrace) -> None:
        steps = token_by_token(trace.batches, trace.expert_used)
        lookups = lookups_of(replace(trace, batches=steps))
        self.theta = thresholds(lookups)
        self.legal = legal_budgets(shape_of(trace))
        layers = [step.layer for step in steps]
        falls = [at for at, (one, other) in enumerate(pairwise(layers), 1) if other <= one]
        self.ends = [lookups.offsets[at] for at in (*falls, len(steps))]

    def sample(self, first: int, last: int) -> Sample:
        """The sample of tokens `first` to `last - 1`, with those before them on the cache but not counted."""
        start = self.ends[first - 1] if first else 0
        return sample_of(self.theta[start : self.ends[last - 1]], self.legal)


def sample_length(bench_data: Path) -> list[Row]:
    """How far the curve of the first tokens of a recorded trace lies from that of its decode."""
    rows: list[Row] = []
    for trace in TRACES:
        stream, shape = Stream(route_trace(bench_data, trace)), trace_shape(bench_data, trace)
        curve = lru_curve(bench_data, trace)
        decode = [float(decode_hit_pct(curve, budget_of_cycles(shape, n))) for n in CYCLES]
        rows += [{"trace": trace, **_away(stream, tokens, decode)} for tokens in TOKENS]
    return rows


def sample_length_synthetic(_bench_data: Path) -> list[Row]:
    """The same on long synthetic runs, against what the run settles at."""
    rows: list[Row] = []
    for model in named_routings():
        stream = _long_run(model)
        settled = _pct(stream.sample(SETTLED_TOKENS, LONG_RUN_TOKENS))
        rows += [{"model": model, **_away(stream, tokens, settled)} for tokens in LONG_TOKENS]
    return rows


@cache
def _long_run(model: str) -> Stream:
    routing = named_routings()[model]
    return Stream(synthetic_trace(routing, prompt_tokens=0, turn_tokens=LONG_RUN_TOKENS))


def _away(stream: Stream, tokens: int, target: Sequence[float]) -> Row:
    """Largest distance in points at 1 to 8 cycles: of all tokens counted, and of the later half alone."""
    return {
        "tokens": tokens,
        "away_pct": _distance(_pct(stream.sample(0, tokens)), target),
        "later_half_away_pct": _distance(_pct(stream.sample(tokens // 2, tokens)), target),
    }


def _pct(sample: Sample) -> list[float]:
    return [100 * sample.share(cycle) for cycle in CYCLES]


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
