"""Which laws do the sizing functions keep: the automatic budget at start, and the rows that a budget holds?

Each law is a statement about one function and one question; it needs no other implementation. Sources:
Helldez/BigMoeOnEdge at 2d4f2b1 with the deduction of BigMoeOnEdge#78; the RowCache report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from reference.row_geometry import SLOT_BYTES, TABLE_OVERHEAD_BYTES, rows_of_budget
from reference.sizing import ModelShape, auto_budget_bytes, total_expert_bytes


@dataclass(frozen=True, slots=True)
class StartQuestion:
    """What `--cache-mb auto` is decided from; the fields are those of `auto_budget_bytes`."""

    available_bytes: int
    shape: ModelShape
    pending_bytes: int
    floor_bytes: int
    ceiling_bytes: int
    minimum_bytes: int

    @property
    def most(self) -> int:
        """The bytes it may not exceed."""
        total = total_expert_bytes(self.shape)
        return min(self.ceiling_bytes, total) if self.ceiling_bytes else total

    @property
    def least(self) -> int:
        """The bytes it asks for at least."""
        return min(self.minimum_bytes, self.most)

    @property
    def room(self) -> int:
        """What is left for it; may be negative."""
        return self.available_bytes - self.pending_bytes - self.floor_bytes


@dataclass(frozen=True, slots=True)
class RowsQuestion:
    """A budget for tables of so many rows."""

    budget_bytes: int
    table_rows: tuple[int, ...]


Start = Callable[[StartQuestion], int]
Rows = Callable[[RowsQuestion], tuple[int, ...]]
Question = TypeVar("Question")
Function = TypeVar("Function")


@dataclass(frozen=True, slots=True)
class FunctionLaw(Generic[Function, Question]):
    """A law: stable name, one sentence, and whether it holds for a function on a question."""

    id: str
    sentence: str
    holds: Callable[[Function, Question], bool]


def start_budget(ask: StartQuestion) -> int:
    """The reference's answer."""
    return auto_budget_bytes(
        ask.available_bytes,
        ask.shape,
        pending_bytes=ask.pending_bytes,
        floor_bytes=ask.floor_bytes,
        ceiling_bytes=ask.ceiling_bytes,
        minimum_bytes=ask.minimum_bytes,
    )


def rows_held(ask: RowsQuestion) -> tuple[int, ...]:
    """The reference's answer."""
    return rows_of_budget(ask.budget_bytes, ask.table_rows)


def _pending(start: Start, ask: StartQuestion) -> bool:
    if ask.available_bytes <= ask.pending_bytes:
        return True
    gone = replace(ask, available_bytes=ask.available_bytes - ask.pending_bytes, pending_bytes=0)
    return start(ask) == start(gone)


def _as_much_as_fits(start: Start, ask: StartQuestion) -> bool:
    known = ask.available_bytes > 0 and ask.least < ask.room < ask.most
    return not known or start(ask) == ask.room


def _fill_their_share(rows: Rows, ask: RowsQuestion) -> bool:
    total = sum(ask.table_rows)
    for held, known in zip(rows(ask), ask.table_rows, strict=True):
        left = ask.budget_bytes * known // total - held * SLOT_BYTES
        if held and not TABLE_OVERHEAD_BYTES <= left < TABLE_OVERHEAD_BYTES + SLOT_BYTES:
            return False
        if not held and left >= TABLE_OVERHEAD_BYTES + SLOT_BYTES:
            return False
    return True


START_LAWS: tuple[FunctionLaw[Start, StartQuestion], ...] = (
    FunctionLaw("start/pending-is-not-available", "Bytes still to come are not there.", _pending),
    FunctionLaw(
        "start/at-most",
        "The budget is at most the ceiling and the bytes of all experts.",
        lambda start, ask: start(ask) <= ask.most,
    ),
    FunctionLaw(
        "start/at-least",
        "The budget is at least the minimum, as far as the ceiling allows.",
        lambda start, ask: start(ask) >= ask.least,
    ),
    FunctionLaw(
        "start/leaves-the-floor",
        "A budget above the minimum leaves the floor, and what is still to come, free.",
        lambda start, ask: start(ask) == ask.least or start(ask) <= ask.room,
    ),
    FunctionLaw(
        "start/as-much-as-fits", "Between its bounds it takes all there is.", _as_much_as_fits
    ),
    FunctionLaw(
        "start/unknown-is-least",
        "When the memory cannot be read it asks for the least.",
        lambda start, ask: ask.available_bytes > 0 or start(ask) == ask.least,
    ),
)

ROWS_LAWS: tuple[FunctionLaw[Rows, RowsQuestion], ...] = (
    FunctionLaw(
        "rows/fill-their-share",
        "A table holds the whole slots of its share less its overhead, and no fewer.",
        _fill_their_share,
    ),
    FunctionLaw(
        "rows/within-the-budget",
        "Slots and overheads together fit the budget.",
        lambda rows, ask: (
            sum(n * SLOT_BYTES + TABLE_OVERHEAD_BYTES for n in rows(ask) if n) <= ask.budget_bytes
        ),
    ),
)
