"""Does the replay of a routing trace give what the device recorded in the same run?"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from pathlib import Path

from gate.golden.definitions.traces import (
    FOLDER,
    TRACES,
    cumulative_hit_pct,
    decode_hit_pct,
    lru_curve,
    route_trace,
)
from gate.golden.table import Row, distance, half_unit
from reference.errors import MIB
from replay.recordings import TurnRows, read_metrics
from replay.thresholds import resident_thresholds, thresholds
from replay.traces import DECODE

CUT_BUDGETS_MIB = (4000, 2909)
"""Gemma's budget before and after the cut that docs/bench-data/2026-07-14-warmup is about."""


def device_against_replay(bench_data: Path) -> list[Row]:
    """Recorded and replayed counters of the three runs, at the budget they ran with."""
    return [_device_row(bench_data, trace) for trace in TRACES]


def budget_cut(bench_data: Path) -> list[Row]:
    """Decode hit rate of Gemma at 4000 MiB and at the 2909 MiB it was cut to."""
    curve = lru_curve(bench_data, "gemma")
    return [
        {"budget_mib": budget, "decode_hit_pct": decode_hit_pct(curve, budget * MIB)}
        for budget in CUT_BUDGETS_MIB
    ]


def hit_pct_by_token(bench_data: Path, trace: str, budget_bytes: int) -> list[Fraction]:
    """The cumulative hit rate after each decode token, prefill included, as the engine prints it."""
    lookups = lru_curve(bench_data, trace).lookups
    hits = list(accumulate((theta <= budget_bytes for theta in thresholds(lookups)), initial=0))
    ends = {
        batch.step: lookups.offsets[number + 1]
        for number, batch in enumerate(route_trace(bench_data, trace).batches)
        if batch.phase == DECODE
    }
    return [Fraction(100 * hits[end], end) for end in ends.values()]


def _device_row(bench_data: Path, trace: str) -> Row:
    recorded = _recorded(bench_data, trace)
    budget = int(recorded["cache_budget_MiB"])
    curve = lru_curve(bench_data, trace)
    tallies = curve.at(budget * MIB)
    return {
        "trace": trace,
        "budget_mib": budget,
        "recorded_hit_pct": recorded["cache_hit_pct"],
        "hit_pct": cumulative_hit_pct(curve, budget * MIB),
        "decode_hit_pct": decode_hit_pct(curve, budget * MIB),
        "recorded_resident_mib": recorded["cache_resident_MiB"],
        "resident_mib": _resident_mib(bench_data, trace, budget * MIB),
        "evictions": sum(tally.evictions for tally in tallies),
        "rereads": sum(tally.rereads for tally in tallies),
        **_token_counts(bench_data, trace, budget * MIB),
        "read_excess_pct": _read_excess_pct(bench_data, trace, budget * MIB),
    }


def _recorded_turn(bench_data: Path, trace: str) -> TurnRows:
    (turn,) = read_metrics(bench_data / FOLDER / f"{trace}.metrics").turns
    return turn


def _recorded(bench_data: Path, trace: str) -> dict[str, float]:
    turn = _recorded_turn(bench_data, trace)
    keys = ("cache_budget_MiB", "cache_hit_pct", "cache_resident_MiB")
    return {key: turn.total_number(key) or 0.0 for key in keys}


def _resident_mib(bench_data: Path, trace: str, budget_bytes: int) -> Fraction:
    """What is resident after the last batch: a prefix of the recency order.

    A threshold is the bytes of such a prefix, so the largest within the budget is what is held.
    """
    lookups = lru_curve(bench_data, trace).lookups
    residents = resident_thresholds(lookups, range(len(lookups.layer)))
    return Fraction(max(theta for theta in residents if theta <= budget_bytes), MIB)


def _token_counts(bench_data: Path, trace: str, budget_bytes: int) -> Row:
    """Decode tokens, and at how many the replayed rate prints as the recorded one."""
    recorded = _recorded_turn(bench_data, trace).columns["cache_hit_pct"]
    replayed = hit_pct_by_token(bench_data, trace, budget_bytes)
    agreeing = sum(
        distance(Fraction(left), right) <= half_unit(2)
        for left, right in zip(recorded, replayed, strict=True)
    )
    return {"tokens": len(recorded), "tokens_agreeing": agreeing}


def _read_excess_pct(bench_data: Path, trace: str, budget_bytes: int) -> Fraction:
    """How much more the device read in decode than the missed entries hold: aligned windows."""
    moved = sum(_recorded_turn(bench_data, trace).integers("read_bytes"))
    curve = lru_curve(bench_data, trace)
    missed = sum(tally.read_bytes for tally in curve.at(budget_bytes) if tally.decode)
    return Fraction(100 * (moved - missed), missed)
