"""What are very many small runs of a row cache? A cache and some gathers each, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from gate.bulk.sums import ROW_SUMS, Counted, Facts, broken, distinct
from reference.program import Gather, Program, plain, times
from reference.row_config import RowCacheConfig
from replay import kernel
from replay.gathers import Gathers
from replay.hashing import I64
from replay.rows import COLUMNS, RowReplay


@dataclass(frozen=True)
class RowRuns:
    """Some runs.

    Args:
        configs: of each run, one table each, without injected places.
        gathers: of all runs, one after the other.
        starts: run r has the gathers from starts[r] up to starts[r + 1].
    """

    configs: Sequence[RowCacheConfig]
    gathers: Gathers
    starts: I64

    @classmethod
    def of(cls, programs: Sequence[Program]) -> RowRuns:
        """The runs that programs make; what is no gather of the first table is left out."""
        gathers: list[tuple[int, ...]] = []
        starts = [0]
        for program in programs:
            for operation in program.operations:
                act = plain(operation)
                if isinstance(act, Gather) and act.table == 0:
                    gathers += [act.rows] * times(operation)
            starts.append(len(gathers))
        return cls(list(map(_unplaced, programs)), Gathers.of(gathers), np.array(starts))

    def __len__(self) -> int:
        return len(self.configs)

    def programs(self) -> Iterator[Program]:
        """The runs as programs."""
        return map(self.program, range(len(self)))

    def program(self, run: int) -> Program:
        """One run as a program."""
        ids, offsets, starts = self._lists
        bounds = offsets[starts[run] : starts[run + 1] + 1]
        gathers = (Gather(tuple(ids[start:end])) for start, end in pairwise(bounds))
        return Program(self.configs[run], tuple(gathers))

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        return self.gathers.ids.tolist(), self.gathers.offsets.tolist(), self.starts.tolist()

    # --- judging ------------------------------------------------------------------------------------

    @staticmethod
    def engines() -> tuple[str, ...]:
        """What can count these runs, the one in use first."""
        return tuple(sorted(kernel.available(), key=kernel.engine_name().__ne__))

    def counted(self, engine: str) -> Counted:
        """The counters of each run, by an engine of replay/rows.py; residents are those found in its slots."""
        name: kernel.EngineName = "c" if engine == "c" else "python"
        orders = {config.gather_order for config in self.configs}
        worked = {order: self.gathers.distinct(order, name) for order in orders}
        sums = np.zeros((len(self), len(COLUMNS)), dtype=np.int64)
        residents = np.zeros(len(self), dtype=np.int64)
        _, _, starts = self._lists
        for run, config in enumerate(self.configs):
            replay = RowReplay(config, name)
            part = _part(worked[config.gather_order], starts[run], starts[run + 1])
            replay.distinct_gathers(part).sum(axis=0, out=sums[run])
            residents[run] = np.count_nonzero(replay.slots()[1])
        counted = {name: sums[:, at] for at, name in enumerate(COLUMNS[:6])}
        return counted | {
            "lookups": counted["hits"] + counted["misses"],
            "resident_rows": residents,
        }

    def broken(self, counted: Counted) -> Iterator[tuple[str, I64]]:
        """What does not add up, and in which runs."""
        return broken(ROW_SUMS, counted, self.facts)

    @cached_property
    def facts(self) -> Facts:
        """What is known of each run without any cache."""
        configs, runs = self.configs, len(self)
        in_gather = np.repeat(np.arange(len(self.gathers)), np.diff(self.gathers.offsets))
        run_of = np.repeat(np.arange(runs), np.diff(self.starts))
        lookups = np.bincount(run_of[distinct(self.gathers.ids, in_gather)], minlength=runs)
        met = np.bincount(distinct(self.gathers.ids, run_of[in_gather]), minlength=runs)
        sets, ways = _column([c.sets[0] for c in configs]), _column([c.ways for c in configs])
        period = _column([c.halve_every or 0 for c in configs])
        return {
            "lookups": lookups,
            "met": met,
            "sets": sets,
            "ways": ways,
            "capacity_rows": sets * ways,
            "admission": _column([c.admission for c in configs]),
            "at_once": _column([c.halve_when == "at_once" for c in configs]),
            "periods": np.where(period > 0, lookups // np.maximum(period, 1), 0),
        }


def _column(values: Sequence[int]) -> I64:
    return np.array(values, dtype=np.int64)


def _unplaced(program: Program) -> RowCacheConfig:
    config = program.config
    assert isinstance(config, RowCacheConfig)
    if config.injected_sets or config.injected_columns:
        return replace(config, injected_sets={}, injected_columns={})
    return config


def _part(gathers: Gathers, first: int, last: int) -> Gathers:
    bounds = gathers.offsets[first : last + 1]
    return Gathers(gathers.ids[bounds[0] : bounds[-1]], bounds - bounds[0])
