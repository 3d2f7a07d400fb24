"""Which rows are pinned, as far as the residents that an implementation shows can tell?

A pinned row is no victim. A pin counts while its row is resident; a read-ahead that bypasses admission pins its row
until the first lookup (`readahead = "pin"` in reference/row_config.py).
"""

from __future__ import annotations

from reference.program import Answer, Pin, Unpin
from reference.row_config import RowCacheConfig
from reference.row_timeline import Row, RowStep


class Pins:
    """Follows the steps of a program.

    Attributes:
        unsure: rows that may have more pins than counted: they may have left and come back within one read-ahead.
    """

    def __init__(self, config: RowCacheConfig) -> None:
        self._config = config
        self._counts: dict[Row, int] = {}
        self._held: set[Row] = set()
        self.unsure: set[Row] = set()

    @property
    def pinned(self) -> frozenset[Row]:
        """The rows that are surely pinned."""
        return frozenset(self._counts)

    def take(self, step: RowStep, before: Answer, after: Answer) -> frozenset[Row]:
        """Follow one step, given the answers around it; gives the rows that were pinned all the time it inserted."""
        pinned = self.pinned
        self._follow(step, before, after)
        # A gather gives back the pins of a read-ahead before it inserts.
        return pinned & self.pinned

    def _follow(self, step: RowStep, before: Answer, after: Answer) -> None:
        there, now = before.resident or frozenset(), after.resident or frozenset()
        rows = [(step.table, row) for row in step.rows]
        if isinstance(step.operation, Pin):
            for row in there.intersection(rows):
                self._counts[row] = self._counts.get(row, 0) + rows.count(row) * step.times
        elif isinstance(step.operation, Unpin):
            for row in rows:
                self._release(row, step.times)
        elif step.is_gather:
            for row in self._held.intersection(rows):
                self._release(row, 1)
                self._held.discard(row)
            self.unsure.difference_update(rows)
        elif step.is_insert and self._config.readahead == "pin":
            self._hold(rows, there, now)

    def _release(self, row: Row, times: int) -> None:
        left = self._counts.pop(row, 0) - times
        if left > 0:
            self._counts[row] = left
        else:
            self._held.discard(row)

    def _hold(self, rows: list[Row], there: frozenset[Row], now: frozenset[Row]) -> None:
        for row in now.intersection(rows) - self._counts.keys():
            if row not in there:
                self._counts[row] = 1
                self._held.add(row)
            elif len(set(rows)) > 1:
                self.unsure.add(row)
