"""What does each layout of a RowCache make of a sequence of requests? All layouts in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from gate.rows.inputs import Inputs, Part
from gate.rows.layouts import Layout
from gate.show import Progress
from reference.errors import InputError
from reference.row_cache import RowCacheConfig
from reference.row_geometry import expected_residents
from replay.distinct_count import DistinctCount
from replay.hashing import I64
from replay.rows import COLUMNS, RowReplay


@dataclass(frozen=True)
class RowsRow:
    """One request under one policy and hash seed; the fields are those of `--json`.

    scale: N where capacity, sketch and heads are 1/N of full scale. hit_pct: None without lookups.
    fill_pct, full_sets_pct: of slots and sets, at the end of the request; expected_fill_pct: what
    Poisson arrivals of the distinct rows so far would fill with one candidate set; all three None
    without a slot.
    """

    policy: str
    seed: int
    scale: int
    engine: str
    capacity_rows: int
    request: str
    lookups: int
    hits: int
    hit_pct: float | None
    added: int
    evictions: int
    refusals: int
    fill_pct: float | None
    expected_fill_pct: float | None
    full_sets_pct: float | None


@dataclass(frozen=True)
class Run:
    """One layout under one hash seed over all requests.

    Attributes:
        counts: what each request added, shape (requests, len(COLUMNS)), over all tables.
        distinct_rows: different rows so far at the end of each request, by table.
    """

    layout: Layout
    config: RowCacheConfig
    engine: str
    counts: I64
    distinct_rows: list[list[float]]

    def column(self, name: str) -> I64:
        """One column of `counts`, a number a request."""
        return self.counts[:, COLUMNS.index(name)]

    def rows(self, requests: Sequence[str], scale: int) -> Iterator[RowsRow]:
        """A row a request, in order."""
        sets, capacity = sum(self.config.sets), self.config.capacity_rows
        resident, full = self.column("added").cumsum(), self.column("sets_filled").cumsum()
        for number, request in enumerate(requests):
            counted = dict(zip(COLUMNS, self.counts[number].tolist(), strict=True))
            lookups = counted["hits"] + counted["misses"]
            yield RowsRow(
                policy=self.layout.name,
                seed=self.config.hash_seed,
                scale=scale,
                engine=self.engine,
                capacity_rows=capacity,
                request=request,
                lookups=lookups,
                hits=counted["hits"],
                hit_pct=_percent(counted["hits"], lookups),
                added=counted["added"],
                evictions=counted["evictions"],
                refusals=counted["refusals"],
                fill_pct=_percent(int(resident[number]), capacity),
                expected_fill_pct=_percent(self._expected_residents(number), capacity),
                full_sets_pct=_percent(int(full[number]), sets),
            )

    def _expected_residents(self, request: int) -> float:
        by_table = zip(self.distinct_rows[request], self.config.sets, strict=True)
        return sum(expected_residents(rows, sets, self.config.ways) for rows, sets in by_table)


def _percent(part: float, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def emulate(
    inputs: Inputs,
    layouts: Sequence[Layout],
    capacity_rows: Sequence[int],
    scale: int,
    seeds: int,
) -> list[Run]:
    """Replay the inputs through every layout under hash seeds 0 to `seeds` - 1.

    Raises:
        InputError: the inputs cannot be read, or there is no memory for the slots.
    """
    runs = []
    progress = Progress("gathers of all seeds replayed")
    for seed in range(seeds):
        configs = [layout.config(capacity_rows, scale, seed) for layout in layouts]
        try:
            runs.append(_one_pass(inputs, layouts, configs, progress))
        except MemoryError:
            raise InputError(
                f"no memory for {sum(capacity_rows)} slots", cure="give a smaller capacity"
            ) from None
    progress.close()
    return [run for of_layout in zip(*runs, strict=True) for run in of_layout]


def _one_pass(
    inputs: Inputs,
    layouts: Sequence[Layout],
    configs: Sequence[RowCacheConfig],
    progress: Progress,
) -> list[Run]:
    """One seed: each part is read once and goes through all layouts side by side."""
    replays = [RowReplay(config) for config in configs]
    counts = np.zeros((len(replays), len(inputs.requests), len(COLUMNS)), dtype=np.int64)
    distinct = [DistinctCount() for _ in range(inputs.tables)]
    distinct_rows: list[list[float]] = []
    # The kernel lets other threads run, and so does most of numpy.
    with ThreadPoolExecutor(min(len(replays), os.cpu_count() or 1)) as pool:
        for part in inputs:
            _close_requests(distinct_rows, part.request, distinct)
            added = pool.map(lambda replay, part=part: _replayed(replay, part), replays)
            counts[:, part.request] += list(added)
            distinct[part.table].add(part.gathers.ids)
            progress.step(len(part.gathers))
    _close_requests(distinct_rows, len(inputs.requests), distinct)
    return [
        Run(layout, replay.config, replay.engine, counts[number], distinct_rows)
        for number, (layout, replay) in enumerate(zip(layouts, replays, strict=True))
    ]


def _close_requests(
    distinct_rows: list[list[float]], request: int, distinct: Sequence[DistinctCount]
) -> None:
    """Note how many rows there were before `request`, for all requests that end there."""
    if len(distinct_rows) < request:
        so_far = [table.estimate() for table in distinct]
        distinct_rows += [so_far] * (request - len(distinct_rows))


def _replayed(replay: RowReplay, part: Part) -> I64:
    added: I64 = replay.distinct_gathers(part.gathers, part.table).sum(axis=0)
    return added
