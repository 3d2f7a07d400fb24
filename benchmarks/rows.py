"""What does one lookup of a RowCache cost, in the reference, in numpy and in the C kernel?

    python benchmarks/rows.py               the synthetic run at 1/8 scale, and whole in the engines

Every figure is CPU time per distinct row looked up, de-duplication of the gathers included. The
reference also delivers values, so its figure is for orders of magnitude.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from fixtures.text import request_sequence, synthetic_tokens
from reference.row_cache import RowCache, RowCacheConfig
from replay import kernel
from replay.engram import hashed_rows
from replay.gathers import Gathers
from replay.rows import RowReplay

CAPACITY_ROWS = 1_806_918
SKETCH_WIDTH = 262_144
LAYOUTS = {"4-way": (4, 1), "16-way": (16, 1), "two-set": (4, 2)}


def main() -> None:
    """Print the table."""
    print(f"{'layout':<8} {'scale':<5} {'engine':<9} {'lookups':>9} {'ns/lookup':>9} {'times':>6}")
    for scale in (8, 1):
        gathers = synthetic_gathers(heads=8 // scale)
        for layout, (ways, candidate_sets) in LAYOUTS.items():
            config = RowCacheConfig(
                sets=(CAPACITY_ROWS // scale // ways,),
                ways=ways,
                candidate_sets=candidate_sets,
                sketch_width=SKETCH_WIDTH // scale,
            )
            compare(config, gathers, f"{layout:<8} 1/{scale:<3}", with_reference=scale == 8)


def compare(config: RowCacheConfig, gathers: Gathers, label: str, with_reference: bool) -> None:
    """Print a line for each engine, and how many times the slowest one's speed it has."""
    runs: dict[str, Callable[[], int]] = {}
    if with_reference:
        runs["reference"] = lambda: run_reference(config, gathers)
    for engine in reversed(kernel.available()):
        runs[engine] = lambda engine=engine: run_engine(config, gathers, engine)  # type: ignore[misc]
    slowest = 0.0
    for name, run in runs.items():
        start = time.process_time()
        lookups = run()
        nanoseconds = (time.process_time() - start) * 1e9 / lookups
        slowest = slowest or nanoseconds
        print(f"{label} {name:<9} {lookups:>9} {nanoseconds:>9.0f} {slowest / nanoseconds:>6.0f}")


def synthetic_gathers(heads: int) -> Gathers:
    """The five requests over the synthetic text; 8 heads are full scale."""
    groups = []
    for request in request_sequence(synthetic_tokens()):
        rows = hashed_rows(np.array(request.tokens, dtype=np.uint64), heads)
        groups += [part.ravel() for part in np.split(rows, request.bounds[1:-1])]
    return Gathers.joined(groups)


def run_reference(config: RowCacheConfig, gathers: Gathers) -> int:
    """The lookups that the reference carried out."""
    cache = RowCache(config)
    for ids in np.split(gathers.ids, gathers.offsets[1:-1]):
        cache.gather(ids.tolist())
    return cache.counters.lookups


def run_engine(config: RowCacheConfig, gathers: Gathers, engine: kernel.EngineName) -> int:
    """The lookups that an engine carried out."""
    replay = RowReplay(config, engine)
    replay.gathers(gathers)
    return replay.counters().lookups


if __name__ == "__main__":
    main()
