"""Does a measurement agree with a golden table?

All arithmetic is exact (fractions), so every value that prints as the cell agrees with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeGuard

from gate.golden.table import (
    STATED,
    Cell,
    Column,
    Key,
    Number,
    Row,
    Table,
    TableRow,
    decimals,
    distance,
    half_unit,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which a measurement does not agree with a table.

    Args:
        table: the table's id.
        row: the row's key, column name to value.
        column: the cell's column; None where the whole row is missing or additional.
        expected: the cell, or None where the table has none.
        measured: the measurement, or None where there is none.
    """

    table: str
    row: Row
    column: Column | None
    expected: Cell | None
    measured: Cell | None

    @property
    def in_tolerances(self) -> float | None:
        """How many tolerances the measurement lies from the cell; None where that means nothing."""
        if self.column is None or not self.column.tolerance:
            return None
        if not (_finite(self.expected) and _finite(self.measured)):
            return None
        return float(distance(self.expected, self.measured) / self.column.tolerance)

    def __str__(self) -> str:
        """The difference in one line."""
        where = ", ".join(f"{name}={value}" for name, value in self.row.items())
        if self.column is None:
            found = "not measured" if self.measured is None else "measured, but not in the table"
            return f"{self.table} [{where}]: the row is {found}"
        what = f"{self.table} [{where}] {self.column.name}: expected {_shown(self.expected)}"
        what += f", measured {_shown(self.measured)} {self.column.unit}"
        steps = self.in_tolerances
        return what if steps is None else f"{what} ({steps:.2f} tolerances)"


def compare(table: Table, measured: Sequence[Row]) -> list[Difference]:
    """Everything in which the rows in `measured` do not agree with `table`, in the table's order.

    The two must hold the same rows and in each row the same cells; a missing or an additional one
    is a difference.

    Raises:
        ValueError: `measured` holds a row twice or a column that the table does not know.
    """
    found = _by_key(table, measured)
    differences = []
    for row in table.rows:
        key = table.key(row.cells)
        if key in found:
            differences += _compare_row(table, row, found.pop(key))
        else:
            differences.append(Difference(table.id, _named(table, key), None, table.id, None))
    return differences + [
        Difference(table.id, _named(table, key), None, None, table.id) for key in found
    ]


def reproduced_claims(table: Table, measured: Sequence[Row]) -> list[str]:
    """The stated cells that do come out after all, to half a unit of their last printed digit.

    A claim that comes out belongs among the asserted cells, so this list is to be empty.
    """
    found = _by_key(table, measured)
    return [
        f"{table.id}:{row.line}: {column.name}"
        for row in table.rows
        if row.status == STATED
        for column in table.value_columns
        if column.name in row.cells
        and _claim_holds(
            row.cells[column.name], found.get(table.key(row.cells), {}).get(column.name)
        )
    ]


def _by_key(table: Table, measured: Sequence[Row]) -> dict[Key, Row]:
    known = {column.name for column in table.columns}
    for row in measured:
        if unknown := set(row) - known:
            raise ValueError(
                f"{table.definition} computes {sorted(unknown)}, no columns of {table.id}"
            )
    found = {table.key(row): row for row in measured}
    if len(found) < len(measured):
        raise ValueError(f"{table.definition} computes a row of {table.id} twice")
    return found


def _named(table: Table, key: Key) -> Row:
    return dict(zip(table.key_names, key, strict=True))


def _compare_row(table: Table, row: TableRow, fresh: Row) -> list[Difference]:
    asserted = table.asserted_cells(row)
    where = _named(table, table.key(row.cells))
    return [
        Difference(table.id, where, column, asserted.get(column.name), fresh.get(column.name))
        for column in table.value_columns
        if not _agree(asserted.get(column.name), fresh.get(column.name), column.tolerance)
    ]


def _agree(expected: Cell | None, measured: Cell | None, tolerance: Fraction) -> bool:
    if not (_finite(expected) and _finite(measured)):
        return expected == measured
    return distance(expected, measured) <= tolerance


def _claim_holds(claim: Cell, measured: Cell | None) -> bool:
    tolerance = half_unit(0 if isinstance(claim, str) else decimals(claim))
    return measured is not None and _agree(claim, measured, tolerance)


def _finite(cell: Cell | None) -> TypeGuard[Number]:
    if isinstance(cell, float):
        return cell - cell == 0
    return isinstance(cell, int | Fraction | Decimal)


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "nothing"
    return str(float(cell)) if isinstance(cell, Fraction) else str(cell)
