"""What is the self-sizing loop worth on the recorded traces, and what does its greediness lose?"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fixtures.devices import device_names, load_device
from gate.golden.definitions.traces import (
    TRACES,
    budget_of_cycles,
    decode_hit_pct,
    lru_curve,
    prefill_curve,
    route_trace,
    trace_shape,
)
from gate.golden.table import Row
from gate.growth.comparison import Arena, Comparison, compare, loop_name
from gate.growth.connect import LOOPS, built_in, decided
from reference.growth_events import Sample
from reference.growth_gain import gain_share
from replay.curve import Curve
from replay.sampled_curve import PREFILL
from replay.trace_session import TraceTurns

TURN_TOKENS = 8
SEED = 1
MOST_CYCLES = 9

COLUMNS = {
    "off": "off",
    "floor": "floor: 1 cycle",
    "auto": "auto as shipped",
    "best": "best fixed, in hindsight",
    "greedy": loop_name("greedy", PREFILL),
    "hull": loop_name("hull", PREFILL),
}
"""Which rows of `cachegate grow` the table quotes."""

WITH_SHARE = ("floor", "auto", "greedy")

OPEN_POINTS = (
    "",
    "io_time=lane-summed",
    "cost=compute+faults",
    "io_time=lane-summed,cost=compute+faults",
    "cost=faults",
    "cost=compute+management",
    "check_off=measure",
)
"""As `--decide` takes them."""


def growth_comparison(bench_data: Path) -> list[Row]:
    """`cachegate grow TRACE --device D` on each trace and device: milliseconds a token and share of the win."""
    return [
        {"trace": trace, "device": device, **_compared_cells(bench_data, trace, device)}
        for trace in TRACES
        for device in device_names()
    ]


def _compared_cells(bench_data: Path, trace: str, device: str) -> Row:
    arena, comparison = _compared(bench_data, trace, device)
    found = {row.what: row for row in comparison.rows}
    return {
        **{f"{name}_ms": found[what].ms for name, what in COLUMNS.items()},
        "best_cycles": arena.best_bytes // arena.turns.legal.step,
        **{f"{name}_win_pct": found[COLUMNS[name]].win_pct or 0.0 for name in WITH_SHARE},
    }


def growth_decisions(bench_data: Path) -> list[Row]:
    """The greedy loop with one open point decided otherwise, on each trace and phone."""
    rows: list[Row] = []
    for trace in TRACES:
        for device in ("phone", "phone-pressed"):
            arena, _ = _compared(bench_data, trace, device)
            for decisions in OPEN_POINTS:
                make = built_in(decided(decisions, LOOPS["greedy"]))
                row = arena.row("", arena.loop(make, PREFILL).turns)
                last = row.resting_bytes // arena.turns.legal.step
                key = {"trace": trace, "device": device, "decisions": decisions or "default"}
                rows.append({**key, "last_cycles": last, "ms": row.ms})
    return rows


def growth_dips(bench_data: Path) -> list[Row]:
    """Each cycle that adds more than the one before it, and what stopping in front of them loses at most.

    A cycle costs the same everywhere: just more than the poorer one gains. Stopping then loses all the concave hull
    gains beyond that cost; in points of hit rate, which times TD over the bandwidth are milliseconds a token.
    """
    rows: list[Row] = []
    for name, curve_of in (("decode", lru_curve), ("prefill", prefill_curve)):
        for trace in TRACES:
            sample = _sampled(curve_of(bench_data, trace), bench_data, trace)
            for cycle in range(2, MOST_CYCLES):
                if _gain_pct(sample, cycle + 1) > _gain_pct(sample, cycle):
                    dip = _dip(sample, cycle)
                    rows.append({"trace": trace, "curve": name, "cycle": cycle, **dip})
    return rows


def _dip(sample: Sample, cycle: int) -> Row:
    gain_pct = _gain_pct(sample, cycle)
    return {
        "gain_pct": gain_pct,
        "next_gain_pct": _gain_pct(sample, cycle + 1),
        "hull_pct": 100 * gain_share(sample, cycle, hull=True),
        "lost_pct": _lost_pct(sample, cycle, gain_pct),
    }


def _gain_pct(sample: Sample, cycle: int) -> float:
    return 100 * gain_share(sample, cycle, hull=False)


def _lost_pct(sample: Sample, cycle: int, cost_pct: float) -> float:
    """Most that any number of further cycles gains, less their cost."""
    start = cycle - 1
    worth = (
        100 * (sample.share(end) - sample.share(start)) - cost_pct * (end - start)
        for end in range(start, len(sample.hits))
    )
    return max(worth)


def _sampled(curve: Curve, bench_data: Path, trace: str) -> Sample:
    """Decode hits of a curve at 0 to MOST_CYCLES + 1 whole cycles."""
    shape, lookups = trace_shape(bench_data, trace), 10**9
    budgets = (budget_of_cycles(shape, cycles) for cycles in range(1, MOST_CYCLES + 2))
    hits = (int(decode_hit_pct(curve, budget) / 100 * lookups) for budget in budgets)
    return Sample(lookups, (0, *hits))


@cache
def _compared(bench_data: Path, trace: str, device: str) -> tuple[Arena, Comparison]:
    turns = _turns(bench_data, trace)
    arena = Arena(turns, load_device(device), SEED)
    return arena, compare(arena, {name: built_in(each) for name, each in LOOPS.items()})


@cache
def _turns(bench_data: Path, trace: str) -> TraceTurns:
    return TraceTurns(route_trace(bench_data, trace), TURN_TOKENS)
