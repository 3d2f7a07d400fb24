"""What stood in a golden table before, and does its history lead to what stands there now?"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gate.golden.changes import cell_name
from gate.golden.table import Cell, Table


class Step(NamedTuple):
    """One change of one cell, by the table's measurement `number`, from 1."""

    number: int
    date: datetime.date
    before: Cell
    after: Cell


def past(table: Table) -> dict[str, list[Step]]:
    """The changes of each cell that was ever re-measured, the earliest first, by cell name."""
    steps: dict[str, list[Step]] = {}
    for number, measurement in enumerate(table.history, 1):
        for name, (before, after) in measurement.changed.items():
            steps.setdefault(name, []).append(Step(number, measurement.date, before, after))
    return steps


def history_faults(table: Table) -> Iterator[str]:
    """Where the history does not lead to the table: a cell was changed past `cachegate remeasure`.

    Each measurement found what the one before it left, and the last left what stands there now.
    """
    now = {
        cell_name(table, row.cells, name): cell
        for row in table.rows
        for name, cell in table.asserted_cells(row).items()
    }
    for name, steps in past(table).items():
        if name not in now:
            yield f"{table.id}: {name} has a history, but is no cell"
        elif steps[-1].after != now[name]:
            yield f"{table.id}: {name} was measured as {steps[-1].after}, but stands as {now[name]}"
        for earlier, later in pairwise(steps):
            if earlier.after != later.before:
                yield f"{table.id}: {name} was left as {earlier.after}, but found as {later.before}"
