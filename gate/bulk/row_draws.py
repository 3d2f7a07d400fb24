"""Which small runs of a row cache are drawn? Tiny geometries; gathers that scan, repeat and have hot rows."""

from __future__ import annotations

import numpy as np

from fixtures.row_programs import ID_LIMIT, OPEN_CHOICES, STRIDES
from gate.bulk.row_runs import RowRuns
from reference.row_config import RowCacheConfig
from replay.gathers import Gathers
from replay.hashing import I64, U64

GEOMETRY: dict[str, tuple[object, ...]] = {
    "sets": ((0,), (1,), (1,), (2,), (2,), (3,), (5,)),
    "ways": (1, 2, 2, 3, 4),
    "candidate_sets": (1, 1, 2),
    "admission": (True, True, True, False),
    "sketch_rows": (1, 2, 4),
    "sketch_width": (1, 3, 8, 64, 64),
    "halve_every": (None, None, None, 3, 8, 40),
    "hash_seed": (0, 1, ID_LIMIT - 1),
}
"""Of each run."""

OF_GATHERS = (
    *("halve_when", "second_set_tie", "clock_tick", "insert_age"),
    *("gather_order", "free_way", "victim_tie"),
)
"""The open choices that gathers can tell apart; drawn once for all runs of a bulk, in every other one."""

MOST_GATHERS, MOST_WIDTH = 12, 6
LONG_SHARE, LONG_GATHERS, LONG_ROWS = 0.01, 400, 3
"""Share of the runs that are to fill a cell of the sketch, which goes up to 255, and what that takes."""


def draw_row_runs(draw: np.random.Generator, count: int) -> RowRuns:
    """So many runs of small caches over up to three times as many rows as slots."""
    configs = _configs(draw, count)
    slots = np.array([max(1, config.capacity_rows) for config in configs])
    long = draw.random(count) < LONG_SHARE
    rows = np.where(long, LONG_ROWS, draw.integers(2, np.maximum(3, 3 * slots) + 1))
    lengths = np.where(long, LONG_GATHERS, draw.integers(1, MOST_GATHERS + 1, count))
    most = draw.integers(1, MOST_WIDTH + 1, count)
    run = np.repeat(np.arange(count), lengths)
    widths = np.where(long[run], 1, draw.integers(0, most[run] + 1))
    starts, offsets = (np.concatenate(([0], np.cumsum(part))) for part in (lengths, widths))
    ids = _ids(draw, rows, np.repeat(run, widths), offsets[starts[:-1]])
    return RowRuns(configs, Gathers(ids, offsets), starts)


def _configs(draw: np.random.Generator, count: int) -> list[RowCacheConfig]:
    chosen = {
        name: [values[at] for at in draw.integers(0, len(values), count).tolist()]
        for name, values in GEOMETRY.items()
    }
    own = draw.random() < 0.5
    choices = {name: str(draw.choice(OPEN_CHOICES[name])) for name in OF_GATHERS if own}
    return [
        RowCacheConfig(**dict(zip(chosen, values, strict=True)), **choices)  # type: ignore[arg-type]
        for values in zip(*chosen.values(), strict=True)
    ]


def _ids(draw: np.random.Generator, rows: I64, run: I64, firsts: I64) -> U64:
    """A row id for each place of the gathers; `run` is whose place it is, `firsts` the first place of each run.

    A third of the runs scan their rows in order, a third have hot ones, a third take any. The ids of a run are a
    multiple of a stride from some first one on, so that they differ in low bits, in high bits alone, or wrap around.
    """
    count = len(rows)
    power = np.where(draw.random(count) < 0.5, 1, 4)[run]
    drawn = (rows[run] * draw.random(len(run)) ** power).astype(np.int64)
    scans = draw.random(count) < 1 / 3
    index = np.where(scans[run], (np.arange(len(run)) - firsts[run]) % rows[run], drawn)
    stride = np.array(STRIDES, dtype=np.uint64)[draw.integers(0, len(STRIDES), count)]
    some = draw.integers(0, ID_LIMIT - 1, count, dtype=np.uint64)
    first = np.where(draw.random(count) < 0.5, np.uint64(0), some)
    ids: U64 = first[run] + index.astype(np.uint64) * stride[run]
    return ids
