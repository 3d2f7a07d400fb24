"""What is a routing trace once it is read: batches in file order over flat columns.

A batch is one load of one layer, the unit in which the expert cache counts, protects and evicts.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

PREFILL, DECODE = 0, 1

MAX_LAYERS = 1 << 16
MAX_EXPERTS = 1 << 20
MAX_USED = 1 << 10
MAX_NUMBER = 10**15
MAX_SKIPPED_LINES = 1 << 20
"""Bounds of what a trace may claim: beyond them it is damaged, and refused before it costs much."""


class Batch(NamedTuple):
    """One load of one layer: rows `first_row` to `first_row + row_count - 1` of the trace.

    `phase` is 0 in prefill and 1 in decode; `step` is the absolute position of the first row's
    token, or -1 where the engine could not tell it (prefill in several graphs).
    """

    turn: int
    phase: int
    step: int
    layer: int
    first_row: int
    row_count: int


@dataclass(slots=True)
class RouteTrace:
    """A routing trace: batches in file order over flat columns.

    Attributes:
        source: the path as it was given.
        model, arch: as the preamble states them; empty if it does not.
        layer_count, expert_count, expert_used: the preamble's n_layer, n_expert, n_expert_used
            (k). `derived` names those that it leaves out: they are then one more than the highest
            layer with recorded entry bytes, the highest expert id and the highest slot.
        entry_bytes: bytes of one expert of a layer, by layer, from the preamble. Every routed
            layer is in it, and none of it is 0.
        batches: in file order, over all turns.
        expert, residency, row_expert_bytes: one integer a row. Residency is what the cache held
            before the load: 0 miss, 1 hit, 2 first touch of a speculative entry.
        weight, dropped: one value a row; None when the file has no such column.
        prefill_boundaries_known: by turn; False where the graphs of the turn cannot be told apart
            (step -1, and fewer than two layers that recur): whoever replays it says `unknown`.
    """

    source: str
    model: str = ""
    arch: str = ""
    layer_count: int = 0
    expert_count: int = 0
    expert_used: int = 0
    derived: tuple[str, ...] = ()
    preamble: dict[str, str] = field(default_factory=dict)
    entry_bytes: dict[int, int] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    expert: list[int] = field(default_factory=list)
    residency: list[int] = field(default_factory=list)
    row_expert_bytes: list[int] = field(default_factory=list)
    weight: list[float] | None = None
    dropped: list[int] | None = None
    prefill_boundaries_known: dict[int, bool] = field(default_factory=dict)
    first_row_line: int = 0
    skipped_lines: list[int] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        """Rows of the trace: one routing of one token in one layer each."""
        return len(self.expert)

    @property
    def turns(self) -> list[int]:
        """The turns that have rows, ascending."""
        return sorted(self.prefill_boundaries_known)

    @property
    def moe_layers(self) -> list[int]:
        """The layers with experts, ascending."""
        return sorted(self.entry_bytes)

    def experts_of(self, batch: Batch) -> list[int]:
        """The ids of a batch in routing order."""
        return self.expert[batch.first_row : batch.first_row + batch.row_count]

    def line_of(self, row: int) -> int:
        """The 1-based line of the file that holds row `row`."""
        line = self.first_row_line + row
        skipped = 0
        while (passed := bisect_right(self.skipped_lines, line + skipped)) > skipped:
            skipped = passed
        return line + skipped
