"""Which routing traces do the definitions replay, and with which budgets?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

from reference.errors import MIB
from reference.sizing import ModelShape, token_demand_bytes
from replay.curve import Curve
from replay.lookups import lookups_of, shape_of
from replay.prompts import prefill_as_decode
from replay.tally import Tally
from replay.traces import DECODE, RouteTrace, read_route_trace

TRACES = ("gptoss", "qwen", "gemma")
"""The proposal's three: gpt-oss-120b at k = 2, Qwen3-30B-A3B and Gemma-4-26B at k = 6; one turn each."""

FOLDER = "2026-07-15-route-trace"


@cache
def route_trace(bench_data: Path, name: str) -> RouteTrace:
    """The trace called `name`.

    Raises:
        InputError: the file cannot be read.
    """
    return read_route_trace(bench_data / FOLDER / f"{name}.route.csv")


def trace_shape(bench_data: Path, name: str) -> ModelShape:
    """The shape the trace records, at the k it was routed with."""
    return shape_of(route_trace(bench_data, name))


@cache
def lru_curve(bench_data: Path, name: str) -> Curve:
    """Global LRU over the whole trace: the prefill first, one batch a layer, then decode."""
    return Curve(lookups_of(route_trace(bench_data, name)), "lru")


@cache
def cold_decode_curve(bench_data: Path, name: str) -> Curve:
    """Global LRU over the decode rows alone, on a cold cache."""
    trace = route_trace(bench_data, name)
    decode = [batch for batch in trace.batches if batch.phase == DECODE]
    return Curve(lookups_of(replace(trace, batches=decode)), "lru")


@cache
def prefill_curve(bench_data: Path, name: str) -> Curve:
    """Global LRU over the prompt alone, its tokens replayed one after the other as if decoded."""
    return Curve(lookups_of(prefill_as_decode(route_trace(bench_data, name))), "lru")


def decode_hit_pct(curve: Curve, budget_bytes: int) -> Fraction:
    """Decode hits in percent of decode lookups, exactly."""
    return hit_pct(tally for tally in curve.at(budget_bytes) if tally.decode)


def cumulative_hit_pct(curve: Curve, budget_bytes: int) -> Fraction:
    """All hits in percent of all lookups, prefill included, exactly."""
    return hit_pct(curve.at(budget_bytes))


def hit_pct(tallies: Iterable[Tally]) -> Fraction:
    """Hits in percent of lookups over some segments, exactly."""
    counted = list(tallies)
    hits, lookups = (sum(tally.hits for tally in counted), sum(tally.lookups for tally in counted))
    return Fraction(100 * hits, lookups)


def budget_of_cycles(shape: ModelShape, cycles: Fraction | int) -> int:
    """A number of cycles in bytes, rounded down to whole bytes."""
    return int(cycles * token_demand_bytes(shape))


def budget_of_rounded_cycles(shape: ModelShape, cycles: Fraction | int) -> int:
    """The proposal's way: TD is first rounded to whole MiB, as the engine's replay tool prints it."""
    return int(cycles * round(Fraction(token_demand_bytes(shape), MIB)) * MIB)
