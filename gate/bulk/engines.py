"""Do the fast engines of replay/ stay right on very many small runs? Made by numpy, judged by sums and by each other.

One run is a RowCache and some gathers. The fast engine must keep what always adds up; a part of the runs is given to
numpy's engine and to the reference as well, which must count the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reference.row_cache import RowCache
from reference.row_config import RowCacheConfig
from replay import kernel
from replay.gathers import Gathers
from replay.hashing import U64
from replay.rows import RowReplay

RUNS = 400
"""Runs of one blast."""

SLOWLY = 40
"""Every so manieth run is also given to the other engines."""


@dataclass(slots=True)
class Blast:
    """What some runs came to.

    Args:
        programs: runs judged.
        compared: those given to the other engines as well.
        wrong: what was wrong, a line each, with the seed of its blast.
    """

    programs: int = 0
    compared: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Blast) -> None:
        """Take another blast in."""
        self.programs += other.programs
        self.compared += other.compared
        self.wrong += other.wrong

    def told(self) -> str:
        """One line, and what was wrong."""
        line = f"{self.programs} runs by sums, {self.compared} of them beside the reference"
        return "\n  ".join([f"{line}, {len(self.wrong)} wrong", *self.wrong[:20]])


def blast(seed: int) -> Blast:
    """Some runs of one seed."""
    draw = np.random.default_rng(seed)
    came = Blast()
    for number in range(RUNS):
        config, gathers = _run(draw)
        for problem in _problems(config, gathers, slowly=number % SLOWLY == 0):
            came.wrong.append(f"seed {seed}, run {number}: {problem} ({config})")
        came.programs += 1
        came.compared += number % SLOWLY == 0
    return came


def _run(draw: np.random.Generator) -> tuple[RowCacheConfig, list[U64]]:
    """A small cache and gathers of up to three times its rows, with repeats."""
    sets, ways = int(draw.integers(0, 5)), int(draw.integers(1, 5))
    config = RowCacheConfig(
        (sets,),
        ways,
        int(draw.integers(1, 3)),
        bool(draw.integers(0, 4)),
        sketch_width=int(draw.choice((1, 3, 8, 64))),
        halve_every=int(draw.choice((0, 5, 40))) or None,
        hash_seed=int(draw.integers(0, 4)),
    )
    rows = max(2, 3 * sets * ways)
    stride = np.uint64(draw.choice((1, 1 << 16, 1 << 32)))
    lengths = draw.integers(0, 7, size=int(draw.integers(1, 13)))
    return config, [draw.integers(0, rows, n).astype(np.uint64) * stride for n in lengths]


def _problems(config: RowCacheConfig, gathers: list[U64], slowly: bool) -> list[str]:
    fast = RowReplay(config)
    fast.gathers(Gathers.joined(gathers) if gathers else Gathers.of([]))
    got = fast.counters()
    distinct = sum(len(np.unique(gather)) for gather in gathers)
    wrong = [
        what
        for what, holds in (
            ("lookups are the distinct rows", got.lookups == distinct),
            ("lookups are hits and misses", got.lookups == got.hits + got.misses),
            ("misses are placed", got.misses == got.added + got.evictions + got.refusals),
            ("residents are what was added", got.resident_rows == got.added),
            ("residents fit", got.resident_rows <= got.capacity_rows == config.capacity_rows),
            (
                "no row is refused without admission",
                config.admission or not config.sets[0] or not got.refusals,
            ),
        )
        if not holds
    ]
    if slowly:
        cache = RowCache(config)
        for gather in gathers:
            cache.gather(gather.tolist())
        if cache.counters != got:
            wrong.append(f"the reference counts {cache.counters}, the engine {got}")
        for engine in kernel.available():
            other = RowReplay(config, engine)
            other.gathers(Gathers.joined(gathers))
            if other.counters() != got:
                wrong.append(f"engine {engine} counts {other.counters()}, not {got}")
    return wrong
