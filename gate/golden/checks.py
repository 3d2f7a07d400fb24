"""Which equations between a table's columns does its file state, and do its printed cells keep them?

A check is one line of `checks = [ ... ]`:

    hits + misses = lookups
    hit_pct * lookups = 100 * hits
    resident_rows - resident_rows.before = added

`.before` is the same column one row up. Each printed cell stands for all values within its tolerance; an
equation holds in a row if both sides can be equal. Rows that lack one of its cells are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple

from gate.golden.identities import Printed, exactly, reach
from gate.golden.table import KEY, Column, Table

BEFORE = ".before"
_FACTOR = re.compile(r"([A-Za-z_]\w*)(\.before)?|([0-9]{1,18})", re.ASCII)
_SIGN = re.compile(r"\s+([+-])\s+")


class Factor(NamedTuple):
    """A column, of this row or of the one before; without a column the number `number`."""

    column: str
    before: bool = False
    number: int = 1


class Term(NamedTuple):
    """A product, with its sign (1 or -1)."""

    sign: int
    factors: tuple[Factor, ...]


Cells = Mapping[Factor, Printed]
"""What each factor stands for in one row."""


class PrintedRow(NamedTuple):
    """A row's name, and what each of its numbers stands for, by column."""

    name: str
    cells: Mapping[str, Printed]


@dataclass(frozen=True, slots=True)
class Check:
    """An equation; `left` and `right` are sums of products."""

    text: str
    left: tuple[Term, ...]
    right: tuple[Term, ...]

    @property
    def factors(self) -> list[Factor]:
        """All columns it speaks of, each once."""
        terms = (*self.left, *self.right)
        return list(dict.fromkeys(f for term in terms for f in term.factors if f.column))

    def holds(self, cells: Cells) -> bool:
        """Can both sides be equal?"""
        (low, high), (least, most) = side_range(self.left, cells), side_range(self.right, cells)
        return low <= most and least <= high


def parse_check(text: str, columns: Iterable[Column]) -> Check:
    """The check that a line states.

    Raises:
        ValueError: it is no equation, or speaks of something that is no column of numbers.
    """
    sides = text.split(" = ")
    if len(sides) != 2:
        raise ValueError("no equation: one ` = ` between two sums of products")
    numbers = {column.name for column in columns if column.kind != KEY}
    left, right = (tuple(_terms(side.strip(), numbers)) for side in sides)
    return Check(text, left, right)


def _terms(side: str, numbers: set[str]) -> Iterator[Term]:
    first, *rest = _SIGN.split(side)
    yield Term(1, tuple(_factors(first, numbers)))
    for sign, product in zip(rest[::2], rest[1::2], strict=True):
        yield Term(1 if sign == "+" else -1, tuple(_factors(product, numbers)))


def _factors(product: str, numbers: set[str]) -> Iterator[Factor]:
    for text in product.split("*"):
        match = _FACTOR.fullmatch(text.strip())
        if match is None or (match[1] and match[1] not in numbers):
            raise ValueError(f"`{text.strip()}` is neither a column of numbers nor a whole number")
        yield Factor(match[1] or "", bool(match[2]), int(match[3] or 1))


def side_range(terms: Iterable[Term], cells: Cells) -> tuple[Fraction, Fraction]:
    """The lowest and the highest value of a sum of products."""
    low = high = Fraction(0)
    for term in terms:
        inputs = [cells[f] if f.column else exactly(f.number) for f in term.factors]
        ends = [term.sign * end for end in reach(lambda *values: prod(values), *inputs)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def printed_rows(table: Table) -> list[PrintedRow]:
    """What every number of a table stands for, row by row."""
    tolerance = {column.name: column.tolerance for column in table.columns}
    return [
        PrintedRow(
            ",".join(str(part) for part in table.key(row.cells)),
            {
                name: Printed(Fraction(cell), tolerance[name])
                for name, cell in table.asserted_cells(row).items()
                if not isinstance(cell, str)
            },
        )
        for row in table.rows
    ]


def cells_of(rows: Sequence[PrintedRow], factors: Sequence[Factor]) -> Iterator[tuple[str, Cells]]:
    """The rows that have all these cells: their name, and what each factor stands for."""
    for at, row in enumerate(rows):
        above = rows[at - 1].cells if at else {}
        found = {f: (above if f.before else row.cells).get(f.column) for f in factors}
        cells = {factor: cell for factor, cell in found.items() if cell is not None}
        if len(cells) == len(found):
            yield row.name, cells


def broken_checks(table: Table) -> list[str]:
    """The rows in which a check of the table does not hold, in one line each."""
    checks = [parse_check(text, table.columns) for text in table.checks]
    rows = printed_rows(table)
    return [
        f"{table.id} [{name}]: {check.text} does not hold"
        for check in checks
        for name, cells in cells_of(rows, check.factors)
        if not check.holds(cells)
    ]
