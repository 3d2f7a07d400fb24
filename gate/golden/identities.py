"""Does a printed number follow from other printed numbers?

Each printed number stands for all values that print as it. A number follows from others by a formula
if one of the values it stands for can be reached from values that the others stand for. The formulas
are monotone in each number, so their corners bound what can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from gate.golden.table import Cell, Table


@dataclass(frozen=True, slots=True)
class Printed:
    """All values from `value - tolerance` to `value + tolerance`."""

    value: Fraction
    tolerance: Fraction

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The lowest and the highest of the values."""
        return self.value - self.tolerance, self.value + self.tolerance


def printed(table: Table, column: str, *key: Cell) -> Printed:
    """A cell of `table` with its column's tolerance.

    Raises:
        KeyError: there is no such cell.
        ValueError: the cell is text.
    """
    cell = table.cell(column, *key)
    tolerance = next(known.tolerance for known in table.columns if known.name == column)
    return Printed(Fraction(cell), tolerance)


def printed_column(table: Table, column: str) -> list[Printed]:
    """All cells of a column, in the table's order; rows without it are left out."""
    return [
        printed(table, column, *table.key(row.cells))
        for row in table.rows
        if column in table.asserted_cells(row)
    ]


def reach(formula: Callable[..., Fraction], *inputs: Printed) -> tuple[Fraction, Fraction]:
    """The lowest and the highest value of `formula`, monotone in each argument, over the inputs."""
    corners = [formula(*corner) for corner in product(*(each.ends for each in inputs))]
    return min(corners), max(corners)


def follows(result: Printed, formula: Callable[..., Fraction], *inputs: Printed) -> bool:
    """Can `formula` of the inputs be one of the values that `result` stands for?"""
    low, high = reach(formula, *inputs)
    least, most = result.ends
    return low <= most and least <= high


def same(left: Printed, right: Printed) -> bool:
    """Can both be printed from one value?"""
    return follows(left, lambda value: value, right)


def exactly(value: int | Fraction) -> Printed:
    """A number that is known exactly."""
    return Printed(Fraction(value), Fraction(0))


def least(cells: Iterable[Printed]) -> Printed:
    """The smallest of several printed numbers."""
    return min(cells, key=lambda cell: cell.value)


def greatest(cells: Iterable[Printed]) -> Printed:
    """The largest of several printed numbers."""
    return max(cells, key=lambda cell: cell.value)


def total(parts: Iterable[Printed]) -> Printed:
    """The sum of printed numbers, with the sum of their tolerances."""
    every = list(parts)
    value = sum((part.value for part in every), Fraction(0))
    return Printed(value, sum((part.tolerance for part in every), Fraction(0)))
