"""Which equations hold between the columns of a new table, by more than chance?

Tried are equal columns, sums of two to four, the growth of a column from row to row, and products. An
equation is proposed if it holds in every row, and the rows in which it could have failed rule out chance. Of
equal columns the first stands for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import log2
from typing import NamedTuple

from gate.golden.checks import (
    Cells,
    Check,
    PrintedRow,
    cells_of,
    parse_check,
    printed_rows,
    side_range,
)
from gate.golden.table import KEY, Column, Table

BITS = 20
"""Below one in a million that an equation holds by chance: with twenty columns about 10,000 are tried."""

LEAST_BITS_OF_ROW = 3
"""A row in which the tolerances are more than an eighth of the value says nothing."""

PARTS = (2, 3, 4)
"""How many columns a sum has."""

PERCENT = "%"


class Tried(NamedTuple):
    """What equations are tried on."""

    columns: Sequence[Column]
    rows: Sequence[PrintedRow]


def proposals(table: Table) -> list[str]:
    """The checks to write into the table, as text."""
    numbers = [
        column
        for column in table.columns
        if column.kind != KEY and column.name.isidentifier() and _is_number(table, column)
    ]
    tried = Tried(table.columns, printed_rows(table))
    equal: list[str] = []
    different: list[Column] = []
    for column in numbers:
        twins = (f"{column.name} = {known.name}" for known in different)
        same = next((text for text in twins if _holds(tried, text)), None)
        if same is None:
            different.append(column)
        else:
            equal.append(same)
    return equal + [text for text in _candidates(different) if _holds(tried, text)]


def _is_number(table: Table, column: Column) -> bool:
    cells = [table.asserted_cells(row).get(column.name, 0) for row in table.rows]
    return not any(isinstance(cell, str) for cell in cells)


def _candidates(columns: Sequence[Column]) -> Iterator[str]:
    for result in columns:
        others = [column for column in columns if column is not result]
        alike = [column.name for column in others if column.unit == result.unit]
        for count in PARTS:
            for parts in combinations(alike, count):
                yield f"{' + '.join(parts)} = {result.name}"
        for grown in alike:
            yield f"{grown} - {grown}.before = {result.name}"
        for left, right in combinations_with_replacement(others, 2):
            percent = (left.unit == PERCENT) + (right.unit == PERCENT)
            factor = f"{100**percent} * " if percent else ""
            yield f"{left.name} * {right.name} = {factor}{result.name}"
    for left, right in combinations(columns, 2):
        yield f"{left.name} * {right.name} = 1"


def _holds(tried: Tried, text: str) -> bool:
    """In every row, and not by chance."""
    check = parse_check(text, tried.columns)
    bits = 0.0
    seen: set[tuple[Fraction, ...]] = set()
    for _, cells in cells_of(tried.rows, check.factors):
        if not check.holds(cells):
            return False
        values = tuple(cell.value for cell in cells.values())
        if values not in seen:
            bits += _bits(check, cells)
        seen.add(values)
    return bits >= BITS


def _bits(check: Check, cells: Cells) -> float:
    """How surprising it is that the equation holds in a row: the value over its uncertainty."""
    if not all(cell.value for cell in cells.values()):
        return 0.0
    low, high = side_range(check.left, cells)
    least, most = side_range(check.right, cells)
    width = (high - low) + (most - least)
    largest = max(abs(high), abs(most))
    # Whole numbers have no width; what could have come out instead is the next one.
    bits = log2(largest / width if width else largest) if largest > 0 else 0.0
    return bits if bits >= LEAST_BITS_OF_ROW else 0.0
