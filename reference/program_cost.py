"""How much work is a program for the reference, at most? Asked line by line, before a hostile text is run.

Work is counted in steps, of which the reference takes a few million a second: a visit of one resident, of one way, of a
stretch of sketch cells. The dearest course of each operation is assumed. What is resident, and has to be walked through
and shown after every operation, is bounded by the ids asked for so far; no cache is simulated.
"""

from __future__ import annotations

from typing import Protocol

from reference.expert_config import ExpertConfig
from reference.program import Arrive, Gather, Insert, Load, Operation, SetBudget, SetK, plain, times
from reference.row_config import RowCacheConfig

MAX_WORK = 1 << 26
"""Steps of a program: a minute, and a gigabyte of answers."""

ID = 16
"""Steps of one id, or of an operation without any: to hash it, to look it up, to put it in, to draw its value."""
SHOWN_EXPERT, SHOWN_ROW = 4, 48
"""Steps of one resident in an answer; they bound the memory of all answers together."""
RANKED = 4
"""Steps of one resident where a victim is chosen by counting or at random: all are ranked for each."""
MOVED = 64
"""Residents, or cells, that move in one step where a list is closed up or a sketch is halved."""


class Meter(Protocol):
    """Adds up the operations of one program."""

    steps: int

    def add(self, operation: Operation) -> None:
        """One more operation."""


def meter_of(config: ExpertConfig | RowCacheConfig) -> Meter:
    """The meter of programs on a cache with this configuration, with what opening it costs."""
    return ExpertMeter(config) if isinstance(config, ExpertConfig) else RowMeter(config)


class ExpertMeter:
    """Steps of a program of the expert cache."""

    def __init__(self, config: ExpertConfig) -> None:
        self.steps = 0
        self._held = 0
        self._experts = sum(config.shape.experts[layer] for layer in config.shape.moe_layers)
        self._ranked = config.policy in ("lfu", "layerlfu", "random")

    def add(self, operation: Operation) -> None:
        """One more operation."""
        act = plain(operation)
        ids = len(getattr(act, "experts", ()))
        if isinstance(act, Load | Arrive):
            self._held = min(self._experts, self._held + ids)
        once = ID * (1 + ids) + self._held
        if isinstance(act, Load):
            once += ids * self._eviction()
        elif isinstance(act, SetBudget | SetK):  # a second time there is nothing left to evict
            self.steps += self._held * self._eviction()
        self.steps += times(operation) * once + SHOWN_EXPERT * self._held

    def _eviction(self) -> int:
        return RANKED * self._held if self._ranked else self._held // MOVED


class RowMeter:
    """Steps of a program of the row cache."""

    def __init__(self, config: RowCacheConfig) -> None:
        self._config = config
        self._rows = 0
        self._ways = config.ways * config.candidate_sets
        cells = config.sketch_rows * config.sketch_width
        self._halving = cells // MOVED + 1
        self.steps = config.tables * self._halving

    def add(self, operation: Operation) -> None:
        """One more operation."""
        act, config = plain(operation), self._config
        ids = len(getattr(act, "rows", ()))
        if isinstance(act, Gather | Insert):
            self._rows += ids
        lookup = ID * (1 + config.sketch_rows) + self._ways * (ID + config.sketch_rows)
        self.steps += times(operation) * (ID + ids * lookup)
        if isinstance(act, Gather) and config.halve_every:
            self.steps += times(operation) * ids // config.halve_every * self._halving
        self.steps += self._shown()

    def _shown(self) -> int:
        """Every way of every set in use is walked through, and every resident shown."""
        config = self._config
        in_use = min(self._rows, sum(config.sets))
        held = min(self._rows, config.capacity_rows)
        return in_use * config.ways + held * (SHOWN_ROW + config.sketch_rows)
