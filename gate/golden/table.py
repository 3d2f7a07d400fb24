"""What is a golden table?

Printed numbers, and for each column how far a measurement may lie from the printed cell and why:
half a unit of the last printed digit, a measured spread, or not at all. Such a tolerance is derived,
never chosen.

The files are read by gate/golden/table_file.py and compared by gate/golden/comparison.py; what
computes the cells stands in gate/golden/definitions/.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

Number = int | float | Fraction | Decimal
Cell = str | Number
Row = Mapping[str, Cell]
"""Column name to value; what a definition returns, one for each row."""

Key = tuple[Cell, ...]

KEY, EXACT, PRINTED_DIGITS, SPREAD = "key", "exact", "printed_digits", "spread"
KINDS = (KEY, EXACT, PRINTED_DIGITS, SPREAD)

ASSERTED, STATED = "asserted", "stated"
STATUSES = (ASSERTED, STATED)


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds and how far a measurement may lie from a cell of it.

    Args:
        name: the column's key in every row.
        unit: the unit of its numbers; "1" for a plain number, "name" for text.
        kind: KEY (identifies the row), EXACT, PRINTED_DIGITS, or SPREAD.
        why: the reason for this tolerance.
        digits: PRINTED_DIGITS only: how many decimals are printed.
        repeats: SPREAD only: how many measurements the spread was taken from.
        spread: SPREAD only: the largest deviation seen among them, in the column's unit.
    """

    name: str
    unit: str
    kind: str
    why: str
    digits: int = 0
    repeats: int = 0
    spread: Decimal = Decimal(0)

    @property
    def tolerance(self) -> Fraction:
        """The largest allowed distance between cell and measurement, in the column's unit."""
        if self.kind == PRINTED_DIGITS:
            return half_unit(self.digits)
        return Fraction(self.spread)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the printed numbers stand.

    Args:
        document: the document by its public name.
        section: which part of it.
        commit: the version of the document.
        date: when that version was published.
        data: the recorded runs that the numbers speak of, by public name.
    """

    document: str
    section: str
    commit: str
    date: datetime.date
    data: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row as printed.

    Args:
        cells: column name to cell; a column may be absent where the source prints nothing.
        status: ASSERTED, or STATED: the source claims these cells, they do not come out, and they
            are never compared.
        measured: of a stated row, what this project measures instead; that is compared.
        line: 1-based line in the table's file.
    """

    cells: Row
    status: str
    measured: Row
    line: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """One re-measurement that changed cells; what it replaced is kept here.

    Args:
        date: the day it was written.
        source, reason: what was measured and why, in the words of who did it.
        engine: version by the preambles of the files; "not recorded" where none says it.
        definition: the function that computed the cells.
        code: the commit of this project it was computed with.
        changed: cell name (gate/golden/changes.py) to the cell before and after.
        files: path below the folder it was measured from, to the file's SHA-256.
    """

    date: datetime.date
    source: str
    reason: str
    engine: str
    definition: str
    code: str
    changed: Mapping[str, tuple[Cell, Cell]]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A golden table.

    Args:
        id: its name, which is also the name of its file.
        title: the question it answers.
        source: where the numbers stand.
        definition: the function that computes the cells, by its name in gate/golden/definitions.
        words: the same definition in words.
        columns: in printed order; at least one of kind KEY.
        rows: in printed order.
        path: the file it was read from.
        checks: equations between its columns (gate/golden/checks.py).
        history: its re-measurements, the latest last.
    """

    id: str
    title: str
    source: Source
    definition: str
    words: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    path: Path
    checks: tuple[str, ...] = ()
    history: tuple[Measurement, ...] = ()

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return tuple(column.name for column in self.columns if column.kind == KEY)

    @property
    def value_columns(self) -> tuple[Column, ...]:
        """The columns that are measured."""
        return tuple(column for column in self.columns if column.kind != KEY)

    def key(self, row: Row) -> Key:
        """What identifies `row` among the rows of this table."""
        return tuple(row.get(name, "") for name in self.key_names)

    @property
    def keys(self) -> list[Key]:
        """What identifies each row, in printed order."""
        return [self.key(row.cells) for row in self.rows]

    def asserted_cells(self, row: TableRow) -> Row:
        """The cells a measurement has to agree with: printed, or of a stated row measured here."""
        return row.measured if row.status == STATED else row.cells

    def cell(self, column: str, *key: Cell) -> Cell:
        """The cell that a measurement has to agree with, by column and row key.

        Raises:
            KeyError: the table has no such cell.
        """
        for row in self.rows:
            if self.key(row.cells) == key:
                return self.asserted_cells(row)[column]
        raise KeyError(f"{self.id} has no row {key}")


def half_unit(digits: int) -> Fraction:
    """Half a unit of the last of `digits` decimals: the largest error of printing."""
    return Fraction(1, 2 * 10**digits)


def distance(left: Number, right: Number) -> Fraction:
    """How far two finite numbers lie apart, exactly."""
    return abs(Fraction(left) - Fraction(right))


def decimals(cell: Number) -> int:
    """How many decimals `cell` is printed with; 0 for a whole number."""
    if not isinstance(cell, Decimal):
        return 0
    exponent = cell.as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0
