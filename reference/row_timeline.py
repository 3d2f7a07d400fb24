"""What is known about each step of a row-cache program without any cache: refusals, distinct rows, halvings, floors.

The laws judge an outcome against these facts, so they need no model of what is resident.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from reference.program import (
    AskRows,
    Gather,
    Insert,
    Pin,
    Plain,
    Program,
    Unpin,
    plain,
    times,
)
from reference.row_config import RowCacheConfig
from reference.row_placement import RowPlacement, RowSite
from reference.row_session import NO_SUCH_TABLE, NOT_AN_OPERATION, NOT_RESIDENT
from reference.row_table import each_once
from reference.usage_sketch import CELL_MAX

Row = tuple[int, int]
"""A row of the cache: table and id."""


@dataclass(frozen=True, slots=True)
class RowStep:
    """One operation of a program, and what is known of it.

    Args:
        number: 1-based place in the program.
        operation: without its repeat count.
        times: how often it is applied.
        refusal: the name it must be refused with, "" when it must be carried out; None where that depends on what is
            resident.
        distinct: of a gather carried out: the distinct rows in order of first occurrence.
        worked: the same rows in the order in which the gather works through them.
        met: how many different rows the operation's table was asked for up to this step, by gathers and read-aheads.
        new: how many of them it is asked for the first time.
        halvings: of all sketches together, after the step.
    """

    number: int
    operation: Plain
    times: int
    refusal: str | None
    distinct: tuple[int, ...] = ()
    worked: tuple[int, ...] = ()
    met: int = 0
    new: int = 0
    halvings: int = 0

    @property
    def is_gather(self) -> bool:
        """A gather that is carried out."""
        return isinstance(self.operation, Gather) and self.refusal == ""

    @property
    def is_insert(self) -> bool:
        """A read-ahead that is carried out."""
        return isinstance(self.operation, Insert) and self.refusal == ""

    @property
    def rows(self) -> tuple[int, ...]:
        """The ids of the operation as given; none of an operation of the other cache."""
        act = self.operation
        return act.rows if isinstance(act, Gather | Insert | Pin | Unpin | AskRows) else ()

    @property
    def table(self) -> int:
        """The table of the operation; -1 for an operation of the other cache."""
        act = self.operation
        return act.table if isinstance(act, Gather | Insert | Pin | Unpin | AskRows) else -1

    @property
    def lookups(self) -> int:
        """Lookups that the step makes."""
        return len(self.distinct) * self.times


@dataclass(slots=True)
class Uses:
    """The least that the estimates of one table's rows can be: true counts, saturating and halved like the cells.

    Collisions only raise an estimate, so it is never below this.
    """

    config: RowCacheConfig
    floors: dict[int, int] = field(default_factory=dict)
    samples: int = 0

    def apply(self, step: RowStep) -> Iterator[int | None]:
        """Count all lookups of a step; gives each looked-up row when it is counted, and None at each halving."""
        for _ in range(step.times if step.is_gather else 0):
            for row in step.worked:
                self.floors[row] = min(self.floors.get(row, 0) + 1, CELL_MAX)
                self.samples += 1
                yield row
                if self.config.halve_when == "at_once" and self._halve_if_due():
                    yield None
            if self.config.halve_when == "after_gather" and self._halve_if_due():
                yield None

    def count(self, step: RowStep) -> list[int | None]:
        """All of `apply` at once."""
        return list(self.apply(step))

    def _halve_if_due(self) -> bool:
        period = self.config.halve_every
        if period is None or self.samples < period:
            return False
        self.floors = {row: count >> 1 for row, count in self.floors.items()}
        self.samples = 0
        return True


class Sites:
    """Where rows may sit and which sketch cells they own, each worked out once."""

    def __init__(self, config: RowCacheConfig) -> None:
        self._placements = [RowPlacement(config, sets) for sets in config.sets]
        self._known: dict[Row, RowSite] = {}

    def of(self, row: Row) -> RowSite:
        """The site of a row of the cache."""
        if row not in self._known:
            self._known[row] = self._placements[row[0]].site(row[1])
        return self._known[row]


def row_timeline(program: Program) -> list[RowStep]:
    """The steps of a row-cache program."""
    assert isinstance(program.config, RowCacheConfig)
    return list(_Walk(program.config).steps(program))


class _Walk:
    def __init__(self, config: RowCacheConfig) -> None:
        self.config = config
        self.seen: list[set[int]] = [set() for _ in config.sets]
        self.uses = [Uses(config) for _ in config.sets]
        self.halvings = 0

    def steps(self, program: Program) -> Iterator[RowStep]:
        for number, operation in enumerate(program.operations, 1):
            act, count = plain(operation), times(operation)
            refusal = self._refusal(act)
            if not isinstance(act, Gather | Insert) or refusal:
                yield RowStep(number, act, count, refusal, halvings=self.halvings)
                continue
            seen = self.seen[act.table]
            known = len(seen)
            seen.update(act.rows)
            gathered = act.rows if isinstance(act, Gather) else ()
            distinct = tuple(dict.fromkeys(gathered))
            worked = tuple(each_once(gathered, self.config.gather_order))
            step = RowStep(number, act, count, "", distinct, worked, len(seen), len(seen) - known)
            if self.config.halve_every is not None:
                self.halvings += sum(row is None for row in self.uses[act.table].apply(step))
            yield replace(step, halvings=self.halvings)

    def _refusal(self, act: Plain) -> str | None:
        if not isinstance(act, Gather | Insert | Pin | Unpin | AskRows):
            return NOT_AN_OPERATION
        if act.table >= self.config.tables:
            return NO_SUCH_TABLE
        if isinstance(act, Pin | Unpin):
            perhaps = self.config.sets[act.table] and self.seen[act.table].intersection(act.rows)
            return None if perhaps else NOT_RESIDENT
        return ""
