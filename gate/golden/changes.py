"""What would a measurement write into a golden table, and how far does each cell move?

A cell within its tolerance stays as it is: what it was printed as is right, and another measurement says the same.

A cell's name is its row's key and its column: `gemma/decode_hit_pct`, `compute_ms,5/share_pct`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from gate.golden.comparison import Difference
from gate.golden.table import (
    EXACT,
    PRINTED_DIGITS,
    STATED,
    Cell,
    Column,
    Number,
    Row,
    Table,
    TableRow,
    decimals,
    distance,
)
from reference.errors import InputError

MAX_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class Change:
    """One cell, as it stands and as it was measured.

    Args:
        name: the cell's name.
        row: the row it stands in.
        column: its column.
        old: what the table asserts.
        measured: the measurement, in full.
        new: what the table should say: the measurement as the column prints it, or `old` within the tolerance.
    """

    name: str
    row: TableRow
    column: Column
    old: Cell
    measured: Cell
    new: Cell

    @property
    def in_tolerances(self) -> float | None:
        """How many tolerances it moves; None for text and where the tolerance is 0."""
        return Difference(
            "", {}, self.column, expected=self.old, measured=self.measured
        ).in_tolerances

    @property
    def beyond(self) -> bool:
        """Does it move by more than its tolerance?"""
        if isinstance(self.old, str) or isinstance(self.measured, str):
            return self.old != self.measured
        return distance(self.old, self.measured) > self.column.tolerance


def cell_name(table: Table, row: Row, column: str) -> str:
    """How a cell is named on the command line and in the history."""
    return f"{','.join(str(part) for part in table.key(row))}/{column}"


def cells(table: Table, measured: Sequence[Row]) -> list[Change]:
    """Every cell that both the table and the measurement have, in the table's order.

    Raises:
        InputError: a measurement cannot stand in its column: no finite number, or not exact.
    """
    found = {table.key(row): row for row in measured}
    return [
        _change(table, row, column, fresh[column.name])
        for row in table.rows
        for fresh in [found.get(table.key(row.cells), {})]
        for column in table.value_columns
        if column.name in table.asserted_cells(row) and column.name in fresh
    ]


def _change(table: Table, row: TableRow, column: Column, measured: Cell) -> Change:
    name = cell_name(table, row.cells, column.name)
    old = table.asserted_cells(row)[column.name]
    try:
        new = printed_as(column, old, measured)
    except (ValueError, OverflowError) as problem:
        raise InputError(f"{name}: {problem}", source=table.id) from None
    change = Change(name, row, column, old, measured, new)
    return change if change.beyond else replace(change, new=old)


def printed_as(column: Column, old: Cell, measured: Cell) -> Cell:
    """A measurement as it is printed in a column, with the digits of the old cell in a spread one.

    Raises:
        ValueError, OverflowError: it is not finite, or an exact column cannot hold it.
    """
    if isinstance(measured, str):
        return measured
    if column.kind == EXACT:
        return _exactly(measured)
    digits = column.digits if column.kind == PRINTED_DIGITS else _digits_of(old)
    return rounded(measured, digits)


def _digits_of(cell: Cell) -> int:
    return 0 if isinstance(cell, str) else decimals(cell)


def _exactly(measured: Number) -> Cell:
    exact = Fraction(measured)
    if exact.denominator == 1:
        return int(exact)
    for digits in range(1, MAX_DECIMALS + 1):
        cell = rounded(exact, digits)
        if Fraction(cell) == exact:
            return cell
    raise ValueError(f"{measured} in an exact column")


def rounded(number: Number, digits: int) -> Number:
    """The number printed with so many decimals, half to even; whole numbers for none."""
    units: int = round(Fraction(number) * 10**digits)
    if not digits:
        return units
    sign = int(units < 0)
    return Decimal((sign, tuple(map(int, str(abs(units)))), -digits))


def with_changes(table: Table, changes: Sequence[Change]) -> Table:
    """The table as it reads once the changes are written."""
    new = {(change.row.line, change.column.name): change.new for change in changes}
    return replace(table, rows=tuple(_changed_row(row, new) for row in table.rows))


def _changed_row(row: TableRow, new: Mapping[tuple[int, str], Cell]) -> TableRow:
    asserted = row.measured if row.status == STATED else row.cells
    cells = {name: new.get((row.line, name), cell) for name, cell in asserted.items()}
    return replace(row, measured=cells) if row.status == STATED else replace(row, cells=cells)
