"""What does the cache save for each millisecond that it costs?

The proposal says 20 to 30 times in every run with hits and does not define either side. Here the
saving is what was not read, (TD - bytes read) a token, at the run's own rate of reading; the cost is
either the faults at a linear price or the engine's own time for managing the cache. Under overlap
io_ms is summed over the lanes, so every ratio overstates the saving by up to the count of lanes.
"""

from __future__ import annotations

from pathlib import Path
from statistics import linear_regression

from gate.golden.definitions.demand import drops, shape_of
from gate.golden.definitions.runs import Run, recorded_runs
from gate.golden.table import Row
from reference.sizing import token_demand_bytes

COSTS = ("by_faults", "by_management")


def saving_ratio(bench_data: Path) -> list[Row]:
    """Milliseconds saved for each lost, of every run with hits and without drop.

    A run whose faults never change has no price of a fault and so no `by_faults`.
    """
    return [
        _ratios(run)
        for run in recorded_runs(bench_data)
        if run.summary("cache_hit_pct") > 0 and not drops(run)
    ]


def saving_ratio_claim(bench_data: Path) -> list[Row]:
    """The lowest and the highest of these ratios, for each meaning of cost."""
    rows: list[Row] = []
    for cost in COSTS:
        found = [row[cost] for row in saving_ratio(bench_data) if cost in row]
        rows.append({"cost": cost, "lowest": min(found), "highest": max(found)})
    return rows


def _ratios(run: Run) -> Row:
    saved = _saved_ms(run)
    ratios = {"by_management": saved / sum(run.steady("mgmt_ms"))}
    faults = run.steady("majflt")
    if len(set(faults)) > 1:
        price = linear_regression(faults, run.steady("wall_ms")).slope
        ratios["by_faults"] = saved / (price * sum(faults))
    return {"run": run.name, **ratios}


def _saved_ms(run: Run) -> float:
    read = sum(run.steady("read_bytes"))
    demanded = token_demand_bytes(shape_of(run)) * len(run.steady("read_bytes"))
    return (demanded - read) * sum(run.steady("io_ms")) / read
