"""How do page faults and speed go along within a long run, and what does a fault cost?"""

from __future__ import annotations

from pathlib import Path
from statistics import linear_regression, mean

from gate.golden.definitions.ranks import rank_correlation
from gate.golden.definitions.runs import (
    AHWB_LONG,
    ANON_LONG,
    ANON_PARTNER,
    WARM_UP_TOKENS,
    Run,
    recorded_run,
    recorded_runs,
    tokens_per_second,
    windows,
)
from gate.golden.table import Row

WINDOW_TOKENS = 100
LONG_RUN_TOKENS = 1300

SAME_GENERATION = (
    AHWB_LONG,
    ANON_PARTNER,
    "2026-07-22-drop-cold-experts/bmoe-20260722-135113",
)
"""The three long runs that generate the same 1354 tokens; the proposal quotes these."""


def faults_against_speed(bench_data: Path) -> list[Row]:
    """Rank correlation of faults and speed over windows, in the three runs the proposal quotes."""
    return [_faults_against_speed(recorded_run(bench_data, name)) for name in SAME_GENERATION]


def faults_against_speed_elsewhere(bench_data: Path) -> list[Row]:
    """The same in every other run of more than 1300 tokens."""
    return [
        _faults_against_speed(run)
        for run in recorded_runs(bench_data)
        if run.turn.row_count > LONG_RUN_TOKENS and run.name not in SAME_GENERATION
    ]


def long_run_windows(bench_data: Path) -> list[Row]:
    """Speed and faults of AHWB_LONG by windows of 100 tokens; the last one is what remains."""
    run = recorded_run(bench_data, AHWB_LONG)
    walls, faults = run.steady("wall_ms"), run.steady("majflt")
    starts = range(0, len(walls), WINDOW_TOKENS)
    return [
        {
            "window": number,
            "tokens": len(walls[at : at + WINDOW_TOKENS]),
            "tok_s": tokens_per_second(walls[at : at + WINDOW_TOKENS]),
            "faults_per_token": mean(faults[at : at + WINDOW_TOKENS]),
        }
        for number, at in enumerate(starts, 1)
    ]


def long_run_fall(bench_data: Path) -> list[Row]:
    """The best and the last full window of AHWB_LONG, and how much the faults grew between them."""
    speeds, faults = _by_window(recorded_run(bench_data, AHWB_LONG))
    best = speeds.index(max(speeds))
    return [
        {"what": "best window", "tok_s": speeds[best]},
        {"what": "last full window", "tok_s": speeds[-1]},
        {"what": "faults, last full window / best window", "times": faults[-1] / faults[best]},
        {"what": "faults, highest / best window", "times": max(faults) / faults[best]},
        {"what": "faults, last full window / lowest", "times": faults[-1] / min(faults)},
    ]


def fault_cost(bench_data: Path) -> list[Row]:
    """Speed and faults of the three long runs that the proposal's penalty is about."""
    return [
        {
            "run": run.name,
            "tok_s": tokens_per_second(run.steady("wall_ms")),
            "faults_per_token": mean(run.steady("majflt")),
        }
        for run in (recorded_run(bench_data, name) for name in (ANON_LONG, AHWB_LONG, ANON_PARTNER))
    ]


def fault_share(bench_data: Path) -> list[Row]:
    """Share of ANON_LONG's wall time that a linear cost of faults explains.

    The slope of a least-squares line of the time on the faults of a token, times all faults, over
    all wall time.
    """
    run = recorded_run(bench_data, ANON_LONG)
    rows: list[Row] = []
    for time in ("compute_ms", "wall_ms"):
        for skipped in (WARM_UP_TOKENS, 0):
            slope = _fault_ms(run, time, skipped)
            faults, walls = run.all_tokens("majflt")[skipped:], run.all_tokens("wall_ms")[skipped:]
            share = 100 * slope * sum(faults) / sum(walls)
            rows.append({"time": time, "skipped": skipped, "fault_ms": slope, "share_pct": share})
    return rows


def fault_penalty(bench_data: Path) -> list[Row]:
    """How much slower ANON_LONG was than another run, and how many times the linear share that is."""
    share = next(row for row in fault_share(bench_data) if row["time"] == "compute_ms")["share_pct"]
    slow = mean(recorded_run(bench_data, ANON_LONG).steady("wall_ms"))
    rows: list[Row] = []
    for name in (AHWB_LONG, ANON_PARTNER):
        fast = mean(recorded_run(bench_data, name).steady("wall_ms"))
        penalty = 100 * (slow - fast) / slow
        rows.append({"against": name, "penalty_pct": penalty, "times": penalty / float(share)})
    return rows


def fault_penalty_claim(bench_data: Path) -> list[Row]:
    """The lowest and the highest of these factors."""
    times = [row["times"] for row in fault_penalty(bench_data)]
    return [{"end": "lowest", "times": min(times)}, {"end": "highest", "times": max(times)}]


def _by_window(run: Run) -> tuple[list[float], list[float]]:
    """Speed and mean faults of each full window."""
    speeds = [tokens_per_second(part) for part in windows(run.steady("wall_ms"), WINDOW_TOKENS)]
    faults = [mean(part) for part in windows(run.steady("majflt"), WINDOW_TOKENS)]
    return speeds, faults


def _faults_against_speed(run: Run) -> Row:
    speeds, faults = _by_window(run)
    rho = rank_correlation(faults, speeds)
    if rho is None:
        raise ValueError(f"{run.name}: speed or faults never change")
    return {"run": run.name, "windows": len(speeds), "rho": rho}


def _fault_ms(run: Run, time: str, skipped: int) -> float:
    """Milliseconds a fault, by least squares."""
    faults, times = run.all_tokens("majflt")[skipped:], run.all_tokens(time)[skipped:]
    return linear_regression(faults, times).slope
