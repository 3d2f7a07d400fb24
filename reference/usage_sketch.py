"""How often was a row looked up, as far as one mebibyte can tell? A plain count-min sketch.

The report states 2^20 cells of 8 bits. Tempting improvements, each measured, each wrong here (hit
rates of the second and third read in the RowCache report's table):

    exact counts per row                  15 and 15 points too low
    conservative update (minimum only)    0.3 and 10 points too low
    all cells of a row in one 64-byte block    refusals / evictions 0.98 where 0.84 was measured

The collisions are not noise to be removed: they give each row a fixed random priority, which is
what stops a scan longer than the cache from thrashing it.
"""

from __future__ import annotations

from collections.abc import Sequence

CELL_MAX = 255
"""A cell is 8 bits wide and stops here."""
_HALVED = bytes(cell >> 1 for cell in range(CELL_MAX + 1))


class UsageSketch:
    """`rows` arrays of `width` cells; a key owns one column in each array.

    Args:
        rows: how many arrays.
        width: cells in each.
        halve_every: lookups between two halvings, or None for never.
    """

    def __init__(self, rows: int, width: int, halve_every: int | None = None) -> None:
        self.cells = [bytearray(width) for _ in range(rows)]
        self.halve_every = halve_every
        self.samples = 0
        self.halvings = 0

    def count(self, columns: Sequence[int]) -> None:
        """Record one lookup: every cell of the key goes up by one and stops at 255."""
        self.samples += 1
        for cells, column in zip(self.cells, columns, strict=True):
            if cells[column] < CELL_MAX:
                cells[column] += 1

    def estimate(self, columns: Sequence[int]) -> int:
        """The lowest of the key's cells: at least its lookups since the last halving, up to 255."""
        return min(cells[column] for cells, column in zip(self.cells, columns, strict=True))

    def halve_if_due(self) -> None:
        """Halve once `halve_every` lookups were counted since the last time."""
        if self.halve_every is not None and self.samples >= self.halve_every:
            self.halve()

    def halve(self) -> None:
        """Every cell becomes floor(cell / 2), each on its own, and the sample count restarts."""
        for cells in self.cells:
            cells[:] = cells.translate(_HALVED)
        self.samples = 0
        self.halvings += 1
