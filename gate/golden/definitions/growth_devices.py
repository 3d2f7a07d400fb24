"""Which numbers of a device do the recorded runs give, and how far is a linear fault cost off, or a short turn?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, linear_regression, pstdev

from gate.golden.definitions.runs import (
    AHWB_LONG,
    ANON_LONG,
    ANON_PARTNER,
    WARM_UP_TOKENS,
    Run,
    recorded_run,
    windows,
)
from gate.golden.definitions.traces import FOLDER
from gate.golden.table import Row
from reference.errors import MIB
from replay.recordings import TurnRows, read_metrics

OFF_K2, ON_K2 = "2026-07-17/gpt_k2", "2026-07-20-cache-replay/lanes4_k2"
OFF_K4, ON_K4 = "2026-07-17/gpt_kdef", "2026-07-17/gpt_c2000_l4"
CALM = "2026-07-17/gpt_c2000_l8_k2"
QWEN_3000 = ("2026-07-20-cache-replay/qwen-lru_a", "2026-07-20-cache-replay/qwen-lru_b")
QWEN_4000, GEMMA_4000 = "2026-07-17/qwen_k6", "2026-07-17/gemma_k6"
AGAIN = "2026-07-22-drop-cold-experts/bmoe-20260722-135113"
DESKTOP, DESKTOP_AUTO = "2026-07-24-desktop-qwen36/pc-A-io4", "2026-07-24-desktop-qwen36/pc-B-io8"
MEMORY_LOG = "2026-07-17/driver-lanes.log"
AUTO_FLOOR_MIB = 1536

FAULT_BINS = (100, 1000, 3000, 10_000, 1 << 62)
WINDOWS = (1, 8, 64)
SPREAD_RUNS = (CALM, QWEN_3000[0], QWEN_4000, ON_K4, AHWB_LONG, DESKTOP)


def device_parameters(bench_data: Path) -> list[Row]:
    """Every number of fixtures/devices that is measured, by device and key."""
    return [
        {"device": device, "key": key, "value": measured(bench_data)}
        for (device, key), measured in PARAMETERS.items()
    ]


def management_time(bench_data: Path) -> list[Row]:
    """What the cache itself costs: two pairs of runs of gpt-oss, off and on, four lanes each."""
    return [
        {
            "run": name,
            "budget_mib": int(run.preamble["cache_mb"]),
            "read_mib": _mean(run, "read_bytes") / MIB,
            "waited_ms": _mean(run, "stall_ms"),
            "management_ms": _mean(run, "mgmt_ms"),
            "both_ms": _mean(run, "stall_ms") + _mean(run, "mgmt_ms"),
        }
        for name in (OFF_K2, ON_K2, OFF_K4, ON_K4)
        for run in [recorded_run(bench_data, name)]
    ]


def fault_price(bench_data: Path) -> list[Row]:
    """What a fault costs in tokens with few and with many: compute time beyond that of tokens without any."""
    rows: list[Row] = []
    for name in (AHWB_LONG, ANON_PARTNER, AGAIN, ANON_LONG):
        run = recorded_run(bench_data, name)
        tokens = list(zip(run.steady("majflt"), run.steady("compute_ms"), strict=True))
        calm_ms = fmean(ms for faults, ms in tokens if faults == 0)
        for low, high in pairwise(FAULT_BINS):
            mine = [(faults, ms) for faults, ms in tokens if low <= faults < high]
            if mine:
                rows.append({"run": name, "from_faults": low, **_price(mine, calm_ms)})
    return rows


def _price(tokens: Sequence[tuple[float, float]], calm_ms: float) -> Row:
    faults = fmean(count for count, _ in tokens)
    price_ms = (fmean(ms for _, ms in tokens) - calm_ms) / faults
    return {"tokens": len(tokens), "faults": faults, "fault_ms": price_ms}


def faults_by_budget(bench_data: Path) -> list[Row]:
    """How the faults of a token grow with the budget, between runs of one model and k."""
    gptoss_3000 = fmean(_trace_metrics(bench_data, "gptoss").numbers("majflt")[WARM_UP_TOKENS:])
    gptoss_2000 = _mean(recorded_run(bench_data, ON_K2), "majflt")
    gptoss_off = _mean(recorded_run(bench_data, OFF_K2), "majflt")
    qwen_3000 = _base_faults(bench_data)
    qwen_4000 = _mean(recorded_run(bench_data, QWEN_4000), "majflt")
    steps = (
        ("gpt-oss, k = 2", 0, 2000, gptoss_off, gptoss_2000),
        ("gpt-oss, k = 2", 2000, 3000, gptoss_2000, gptoss_3000),
        ("Qwen3-30B, k = 6", 3000, 4000, qwen_3000, qwen_4000),
    )
    return [
        {
            "model": model,
            "from_mib": low,
            "to_mib": high,
            "faults_before": before,
            "faults_after": after,
            "faults_per_mib": (after - before) / (high - low),
        }
        for model, low, high, before, after in steps
    ]


def compute_spread(bench_data: Path) -> list[Row]:
    """How far the mean compute time of so many tokens scatters within one run at one budget."""
    rows: list[Row] = []
    for name in SPREAD_RUNS:
        compute = recorded_run(bench_data, name).steady("compute_ms")
        for length in WINDOWS:
            means = [fmean(part) for part in windows(compute, length)]
            spread_pct = 100 * pstdev(means) / fmean(means)
            rows.append({"run": name, "tokens": length, "spread_pct": spread_pct})
    return rows


# --- the devices' numbers ---------------------------------------------------------------------------------------------


def _lane_mib_s(run: Run) -> float:
    return sum(run.steady("read_bytes")) / MIB / sum(run.steady("io_ms")) * 1000


def _management(run: Run) -> float:
    return sum(run.steady("mgmt_ms")) / (sum(run.steady("read_bytes")) / MIB)


def _waited_share(run: Run) -> float:
    return sum(run.steady("stall_ms")) / sum(run.steady("io_ms"))


def _spread(run: Run) -> float:
    return pstdev(run.steady("compute_ms")) / _mean(run, "compute_ms")


def _mean(run: Run, column: str) -> float:
    return fmean(run.steady(column))


def _dense_mib(run: Run) -> float:
    held = _mean(run, "rss_anon_mib") + _mean(run, "swap_mib")
    return held - int(run.preamble["cache_mb"])


def _calm_ms(run: Run) -> float:
    """Compute time of a token without faults: where the line of compute on faults starts."""
    return linear_regression(run.steady("majflt"), run.steady("compute_ms")).intercept


def _base_faults(bench_data: Path) -> float:
    return fmean(_mean(recorded_run(bench_data, name), "majflt") for name in QWEN_3000)


def _faults_per_mib(bench_data: Path, step: int) -> float:
    return float(faults_by_budget(bench_data)[step]["faults_per_mib"])


def _trace_metrics(bench_data: Path, trace: str) -> TurnRows:
    (turn,) = read_metrics(bench_data / FOLDER / f"{trace}.metrics").turns
    return turn


def _fault_slope(bench_data: Path) -> float:
    run = recorded_run(bench_data, ANON_LONG)
    return linear_regression(run.steady("majflt"), run.steady("compute_ms")).slope


def _available_mib(bench_data: Path) -> float:
    """The first mem_avail_before_kb of the log: before gpt_c2000_l4."""
    log = (bench_data / MEMORY_LOG).read_text(encoding="utf-8")
    return int(log.partition("mem_avail_before_kb=")[2].split()[0]) / 1024


def _heat(bench_data: Path) -> float:
    return _calm_ms(recorded_run(bench_data, AGAIN)) / _calm_ms(recorded_run(bench_data, AHWB_LONG))


def _of(measure: Callable[[Run], float], run: str) -> Callable[[Path], float]:
    return lambda bench_data: measure(recorded_run(bench_data, run))


def _gemma_ms(bench_data: Path) -> float:
    return fmean(_trace_metrics(bench_data, "gemma").numbers("compute_ms")[WARM_UP_TOKENS:])


def _compute(run: Run) -> float:
    return _mean(run, "compute_ms")


PARAMETERS: dict[tuple[str, str], Callable[[Path], float]] = {
    ("phone", "lane_mib_s"): _of(_lane_mib_s, ON_K4),
    ("phone", "waited_share"): _of(_waited_share, ON_K4),
    ("phone", "management_ms_per_mib"): _of(_management, ON_K4),
    ("phone", "compute_ms.gpt-oss"): _of(_compute, CALM),
    ("phone", "compute_ms.qwen3moe"): _of(_compute, QWEN_3000[0]),
    ("phone", "compute_ms.gemma4"): _gemma_ms,
    ("phone", "ms_per_fault"): _fault_slope,
    ("phone", "base_faults"): _base_faults,
    ("phone", "faults_per_mib"): lambda bench_data: _faults_per_mib(bench_data, 2),
    ("phone", "compute_spread"): _of(_spread, CALM),
    ("phone", "available_mib"): _available_mib,
    ("phone", "dense_mib.gpt-oss"): _of(_dense_mib, ON_K4),
    ("phone", "dense_mib.qwen3moe"): _of(_dense_mib, QWEN_4000),
    ("phone", "dense_mib.gemma4"): _of(_dense_mib, GEMMA_4000),
    ("phone-pressed", "heat"): _heat,
    ("phone-pressed", "faults_per_mib"): lambda bench_data: _faults_per_mib(bench_data, 1),
    ("desktop", "lane_mib_s"): _of(_lane_mib_s, DESKTOP),
    ("desktop", "management_ms_per_mib"): _of(_management, DESKTOP),
    ("desktop", "compute_ms.default"): _of(_compute, DESKTOP),
    ("desktop", "compute_spread"): _of(_spread, DESKTOP),
    ("desktop", "available_mib"): _of(
        lambda run: run.summary("cache_budget_MiB") + AUTO_FLOOR_MIB, DESKTOP_AUTO
    ),
}
"""What each measured number of a device file is computed from."""
