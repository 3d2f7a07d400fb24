"""Is synthetic routing like that of the recorded traces, the same each time, and endless in bounded memory?"""

from __future__ import annotations

import tracemalloc
from itertools import islice
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from fixtures.routing import (
    Router,
    RoutingModel,
    named_routing,
    named_routings,
    router_of,
    synthetic_trace,
)
from fixtures.routing_statistics import LAGS, RANKS, routing_statistics
from gate.golden.definitions.traces import (
    budget_of_cycles,
    decode_hit_pct,
    lru_curve,
    route_trace,
    trace_shape,
)
from reference.errors import InputError
from replay.curve import Curve
from replay.lookups import lookups_of, shape_of
from replay.traces import DECODE, PREFILL, Batch, RouteTrace

MODELS = sorted(named_routings())
CYCLES = range(1, 9)
SEEDS = range(8)
POINTS = 3.0


def curve_pct(trace: RouteTrace) -> list[float]:
    """Decode hit rate at 1 to 8 cycles."""
    curve, shape = Curve(lookups_of(trace), "lru"), shape_of(trace)
    return [float(decode_hit_pct(curve, budget_of_cycles(shape, n))) for n in CYCLES]


def recorded_pct(bench_data: Path, trace: str) -> list[float]:
    """The same of the recorded trace."""
    curve, shape = lru_curve(bench_data, trace), trace_shape(bench_data, trace)
    return [float(decode_hit_pct(curve, budget_of_cycles(shape, n))) for n in CYCLES]


@pytest.mark.parametrize("model", MODELS)
def test_the_hit_curve_lies_within_three_points_of_the_recorded_one(
    bench_data: Path, model: str, more_than_quick: None
) -> None:
    """The mean curve of eight seeds, none of which the fit saw, at each of 1 to 8 cycles."""
    routing = named_routing(model)
    made = [curve_pct(synthetic_trace(routing, seed=seed)) for seed in SEEDS]
    means = [fmean(column) for column in zip(*made, strict=True)]
    recorded = recorded_pct(bench_data, routing.trace)
    assert max(abs(a - b) for a, b in zip(means, recorded, strict=True)) <= POINTS


@pytest.mark.parametrize("model", ["gemma-4-26b", "qwen3-30b-a3b"])
def test_so_does_each_single_seed_of_the_longer_traces(
    bench_data: Path, model: str, more_than_quick: None
) -> None:
    """128 tokens of 6 experts; the 64 tokens of 2 experts of gpt-oss scatter more from seed to seed."""
    routing = named_routing(model)
    recorded = recorded_pct(bench_data, routing.trace)
    for seed in SEEDS:
        made = curve_pct(synthetic_trace(routing, seed=seed))
        assert max(abs(a - b) for a, b in zip(made, recorded, strict=True)) <= POINTS


@pytest.mark.parametrize("model", MODELS)
def test_the_default_seed_is_within_three_points_too(bench_data: Path, model: str) -> None:
    """What a user gets who names no seed."""
    routing = named_routing(model)
    made, recorded = curve_pct(synthetic_trace(routing)), recorded_pct(bench_data, routing.trace)
    assert max(abs(a - b) for a, b in zip(made, recorded, strict=True)) <= POINTS


def test_independent_draws_from_the_popularity_miss_by_more(
    bench_data: Path, more_than_quick: None
) -> None:
    """Memory is needed: the Qwen trace's own frequencies, drawn anew for each token, are 9 points off at one cycle."""
    recorded = route_trace(bench_data, "qwen")
    assert (
        recorded_pct(bench_data, "qwen")[0] - curve_pct(drawn_independently(recorded))[0]
        > 3 * POINTS
    )


def drawn_independently(trace: RouteTrace) -> RouteTrace:
    """The decode of a trace, each token drawn without memory from how often each expert of a layer was used."""
    rng, k = np.random.RandomState(0), trace.expert_used
    made = RouteTrace(
        "drawn",
        layer_count=trace.layer_count,
        expert_count=trace.expert_count,
        expert_used=k,
        entry_bytes=trace.entry_bytes,
        prefill_boundaries_known={0: True},
    )
    decode = [batch for batch in trace.batches if batch.phase == DECODE]
    uses = {layer: np.zeros(trace.expert_count) for layer in trace.moe_layers}
    for batch in decode:
        uses[batch.layer][trace.experts_of(batch)] += 1
    for batch in decode:
        share = uses[batch.layer] / uses[batch.layer].sum()
        made.batches.append(batch._replace(turn=0, first_row=made.row_count, row_count=k))
        made.expert += rng.choice(trace.expert_count, k, replace=False, p=share).tolist()
    return made


def test_a_model_has_eight_numbers() -> None:
    """No more were fitted."""
    assert len(RoutingModel.__dataclass_fields__) == 8


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_routing(model: str) -> None:
    """Twice the same under one seed, another under another."""
    routing = named_routing(model)
    one, same, other = (
        synthetic_trace(routing, prompt_tokens=2, turn_tokens=4, seed=seed).expert
        for seed in (7, 7, 8)
    )
    assert one == same != other


def test_the_stream_is_the_same_under_every_version_of_numpy() -> None:
    """The first tokens of the first layer, as they were when the numbers were fitted."""
    tokens = islice(router_of(named_routing("gemma-4-26b"), 0).tokens(), 3)
    assert [token[0].tolist() for token in tokens] == FIRST_TOKENS


FIRST_TOKENS = [
    [121, 123, 29, 73, 87, 125],
    [121, 14, 87, 118, 52, 46],
    [19, 42, 119, 61, 111, 125],
]


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_a_token_routes_k_different_experts_of_each_layer(k: int) -> None:
    """As many as there are, where k is more."""
    router = Router(named_routing("qwen3-30b-a3b").numbers, layers=4, experts=5, k=k, seed=1)
    for token in islice(router.tokens(), 20):
        assert token.shape == (4, min(k, 5))
        assert all(len(set(layer)) == min(k, 5) for layer in token.tolist())
        assert token.min() >= 0
        assert token.max() < 5


def test_a_synthetic_trace_is_made_like_a_recorded_one() -> None:
    """Prompts in one graph, the last layer with the final token alone; then decode, layer after layer; two turns."""
    routing = named_routing("gpt-oss-120b")
    trace = synthetic_trace(routing, turns=2, prompt_tokens=3, turn_tokens=2)
    layers, k = len(routing.shape.moe_layers), routing.shape.k
    assert trace.turns == [0, 1]
    assert shape_of(trace) == routing.shape
    assert trace.row_count == 2 * k * (3 * (layers - 1) + 1 + 2 * layers)
    assert [batch.phase for batch in trace.batches] == 2 * (
        [PREFILL] * layers + [DECODE] * 2 * layers
    )
    assert [batch.step for batch in trace.batches[layers :: 3 * layers]] == [3, 8]


def test_the_stream_needs_no_more_memory_the_longer_it_runs() -> None:
    """What is held after three hundred tokens is what was held after thirty."""
    stream = router_of(named_routing("gpt-oss-120b"), 0).tokens()
    tracemalloc.start()
    for _ in islice(stream, 30):
        pass
    early, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    for _ in islice(stream, 300):
        pass
    late, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert abs(late - early) < 50_000
    assert peak < early + 2_000_000


def test_statistics_of_routing_small_enough_to_count() -> None:
    """One layer, k = 1: a prompt of a, then a b a a. Lags 1, never, 2, 1; a has three of four uses."""
    trace = RouteTrace(
        "tiny",
        layer_count=1,
        expert_count=4,
        expert_used=1,
        entry_bytes={0: 1},
        batches=[
            Batch(0, PREFILL, 0, 0, 0, 1),
            *(Batch(0, DECODE, at, 0, at, 1) for at in range(1, 5)),
        ],
        expert=[2, 2, 3, 2, 2],
        prefill_boundaries_known={0: True},
    )
    found = routing_statistics(trace)
    assert found.popular[:2] == (0.75, 1.0)
    assert found.repeats[:3] == (0.5, 0.75, 0.75)
    assert found.over_tokens[0] == 0.5
    assert found.over_layers == 0.0
    assert (len(found.popular), len(found.repeats)) == (len(RANKS), len(LAGS))


def test_an_unknown_model_lists_those_there_are() -> None:
    """The message names the three models that were fitted."""
    with pytest.raises(InputError, match="gpt-oss-120b, qwen3-30b-a3b, gemma-4-26b"):
        named_routing("nonesuch")
