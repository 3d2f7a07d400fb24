"""Does what the system says about memory go along with page faults?"""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from gate.golden.definitions.ranks import rank_correlation
from gate.golden.definitions.runs import (
    AHWB_LONG,
    ANON_PARTNER,
    Run,
    dense_residency,
    recorded_run,
    recorded_runs,
    tokens_per_second,
)
from gate.golden.table import Row

SIGNALS = ("mem_available_mib", "swap_mib", "dense_resident_frac")

ACROSS = ("all", "gpt-oss", "qwen3moe", "qwen35moe")
"""All runs, and the architectures with more than four of them."""


def memory_signal(bench_data: Path) -> list[Row]:
    """Within each run, token by token: rank correlation of available memory with major faults."""
    return [
        {
            "run": run.name,
            "rho_all_tokens": _present(
                rank_correlation(run.all_tokens("mem_available_mib"), run.all_tokens("majflt"))
            ),
            "rho": _present(_within(run, "mem_available_mib")),
        }
        for run in faulting_runs(bench_data)
    ]


def memory_signal_range(bench_data: Path) -> list[Row]:
    """The ends of these correlations over the runs, for each signal and choice of tokens."""
    runs = faulting_runs(bench_data)
    everything = [
        rank_correlation(run.all_tokens("mem_available_mib"), run.all_tokens("majflt"))
        for run in runs
    ]
    rows = [_range("mem_available_mib", "all", everything)]
    for signal in SIGNALS:
        rows.append(_range(signal, "after warm-up", [_within(run, signal) for run in runs]))
    return rows


def memory_signal_across(bench_data: Path) -> list[Row]:
    """Across the runs: rank correlation of the means of a signal and of faults per token."""
    rows: list[Row] = []
    for group in ACROSS:
        runs = [run for run in faulting_runs(bench_data) if group in ("all", run.preamble["arch"])]
        faults = [mean(run.steady("majflt")) for run in runs]
        for signal in SIGNALS:
            means = [mean(run.steady(signal)) for run in runs]
            rho = _present(rank_correlation(means, faults))
            rows.append({"group": group, "signal": signal, "runs": len(runs), "rho": rho})
    return rows


def dense_residency_table(bench_data: Path) -> list[Row]:
    """Resident dense weights, swap and speed of the two pairs of runs that the proposal compares."""
    pairs = (AHWB_LONG, ANON_PARTNER, "2026-07-17/gpt_c2000_l4", "2026-07-17/gpt_c2000_l8")
    return [
        {
            "run": run.name,
            "tokens": len(run.steady("wall_ms")),
            "dense_resident_frac": dense_residency(run.steady("dense_resident_frac")),
            "swap_mib": mean(run.steady("swap_mib")),
            "tok_s": tokens_per_second(run.steady("wall_ms")),
        }
        for run in (recorded_run(bench_data, name) for name in pairs)
    ]


def faulting_runs(bench_data: Path) -> list[Run]:
    """The runs that record available memory and whose count of major faults ever changes."""
    return [
        run
        for run in recorded_runs(bench_data)
        if run.turn.has("mem_available_mib", "majflt") and len(set(run.all_tokens("majflt"))) > 1
    ]


def _within(run: Run, signal: str) -> float | None:
    return rank_correlation(run.steady(signal), run.steady("majflt"))


def _range(signal: str, tokens: str, found: list[float | None]) -> Row:
    rhos = [rho for rho in found if rho is not None]
    return {
        "signal": signal,
        "tokens": tokens,
        "lowest": min(rhos),
        "highest": max(rhos),
        "negative": sum(rho < 0 for rho in rhos),
        "positive": sum(rho > 0 for rho in rhos),
        "constant": found.count(None),
    }


def _present(rho: float | None) -> float:
    if rho is None:
        raise ValueError("a constant series has no rank correlation")
    return rho
