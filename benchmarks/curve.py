"""What does a hit curve cost: one pass for every budget against one replay a budget?

python benchmarks/curve.py TRACE…      prints CPU seconds and ratios, measured in one run
"""

from __future__ import annotations

import random
import sys
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gate.show import print_table
from replay import kernel
from replay.curve import Curve
from replay.lookups import Lookups, lookups_of
from replay.traces import RouteTrace, read_route_trace

BUDGETS = 64
ROUTINGS = 10_000_000


def seconds(act: Callable[[], object]) -> float:
    """CPU seconds of the fastest of three calls."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        act()
        taken.append(time.process_time() - start)
    return min(taken)


def one_replay(lookups: Lookups, budget_bytes: int) -> int:
    """Hits of plain lru at one budget, as a straightforward program counts them."""
    resident: OrderedDict[int, None] = OrderedDict()
    used = hits = 0
    for start, end in zip(lookups.offsets, lookups.offsets[1:], strict=False):
        batch = set(lookups.key[start:end])
        for expert in lookups.key[start:end]:
            if expert in resident:
                hits += 1
            else:
                used += lookups.key_bytes[expert]
                resident[expert] = None
        for expert in lookups.touched[start:end]:
            resident.move_to_end(expert)
        while used > budget_bytes and (coldest := next(iter(resident))) not in batch:
            del resident[coldest]
            used -= lookups.key_bytes[coldest]
    return hits


def repeated(trace: RouteTrace, times: int) -> RouteTrace:
    """The trace `times` over, as further turns."""
    rows, turns = trace.row_count, max(trace.turns) + 1
    batches = [
        batch._replace(turn=batch.turn + turns * at, first_row=batch.first_row + rows * at)
        for at in range(times)
        for batch in trace.batches
    ]
    known = {turn + turns * at: True for at in range(times) for turn in trace.turns}
    return replace(
        trace, batches=batches, expert=trace.expert * times, prefill_boundaries_known=known
    )


def of_trace(path: str) -> list[str]:
    """One row of the table."""
    trace = read_route_trace(path)
    lookups, longer = lookups_of(trace), lookups_of(repeated(trace, 4))
    total = sum(lookups.key_bytes)
    budgets = [total * (at + 1) // BUDGETS for at in range(BUDGETS)]
    curve = Curve(lookups, "lru")
    for budget in budgets[:: BUDGETS // 4]:
        assert one_replay(lookups, budget) == sum(tally.hits for tally in curve.at(budget))
    whole = seconds(lambda: Curve(lookups, "lru"))
    each = seconds(lambda: [one_replay(lookups, budget) for budget in budgets])
    fourfold = seconds(lambda: Curve(longer, "lru"))
    return [
        *(Path(path).name, str(len(lookups.key)), f"{seconds(lambda: read_route_trace(path)):.3f}"),
        *(f"{whole:.3f}", f"{each:.3f}", f"{each / whole:.0f}", f"{fourfold / whole:.2f}"),
    ]


def of_kernel() -> str:
    """Seconds the compiled pass takes over ten million routings in memory."""
    built = kernel.built()
    if built is None:
        return "not built"
    draw = random.Random(1)
    some = [expert for _ in range(ROUTINGS // 160) for expert in draw.sample(range(6144), 8)]
    keys = array("q", some) * 20
    offsets = array("q", range(0, ROUTINGS + 1, 8))
    sizes = array("q", [3 << 20]) * 6144
    found = array("Q", bytes(8 * ROUTINGS))
    taken = seconds(lambda: built.thresholds(keys, keys, offsets, sizes, found))
    return f"{taken:.2f} s"


if __name__ == "__main__":
    headings = ["trace", "lookups", "read s", "every budget s", f"{BUDGETS} replays s"]
    headings += ["ratio", "4x the trace: ratio"]
    print_table(headings, [of_trace(path) for path in sys.argv[1:]])
    print(f"compiled pass over {ROUTINGS:,} routings: {of_kernel()}")
