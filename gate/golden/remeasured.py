"""How does a golden table stand beside a new measurement of it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gate.golden.changes import Change, cells, with_changes
from gate.golden.checks import broken_checks
from gate.golden.comparison import Difference, compare, reproduced_claims
from gate.golden.past import history_faults
from gate.golden.sources import SAMPLES, measured_rows
from gate.golden.table import Row, Table
from reference.errors import InputError


@dataclass(slots=True)
class Remeasured:
    """A table beside its new measurement.

    Attributes:
        table: as it stands.
        rows: as measured.
        cells: every cell that both have.
        faults: what no cell can be changed to: rows that only one has, claims that come out, broken checks.
        skipped: why it was not measured; empty if it was.
    """

    table: Table
    rows: Sequence[Row] = ()
    cells: Sequence[Change] = ()
    faults: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def changes(self) -> list[Change]:
        """The cells that move by more than their tolerance."""
        return [change for change in self.cells if change.beyond]


def remeasure_all(tables: Sequence[Table], folder: Path) -> list[Remeasured]:
    """Every table anew. Of several, one may lack its sources, which is told; a single one must have them.

    Raises:
        InputError: the only table cannot be measured.
    """
    if len(tables) == 1:
        return [remeasure(tables[0], folder)]
    return [_remeasure_if_possible(table, folder) for table in tables]


def _remeasure_if_possible(table: Table, folder: Path) -> Remeasured:
    if table.definition in SAMPLES:
        return Remeasured(table, skipped="measured from files of its own: name it alone with them")
    try:
        return remeasure(table, folder)
    except InputError as fault:
        return Remeasured(table, skipped=fault.problem)


def remeasure(table: Table, folder: Path) -> Remeasured:
    """A table anew, from what lies in `folder`.

    Raises:
        InputError: its definition does not find what it needs, or gives what cannot be compared.
    """
    rows = measured_rows(table, folder)
    try:
        found = Remeasured(table, rows, cells(table, rows))
        found.faults += _faults(found)
    except ValueError as problem:
        raise InputError(str(problem), source=str(folder)) from None
    return found


def _faults(found: Remeasured) -> Iterator[str]:
    table = found.table
    yield from (str(missing) for missing in compare(table, found.rows) if _is_missing(missing))
    for claim in reproduced_claims(table, found.rows):
        yield f"{claim}: the claim comes out, so it has to be asserted"
    yield from broken_checks(with_changes(table, found.changes))
    yield from history_faults(table)


def _is_missing(difference: Difference) -> bool:
    """Is it a row or a cell that only one of the two has?"""
    return None in (difference.column, difference.expected, difference.measured)
