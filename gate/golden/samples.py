"""What was measured, row by row, before it is a golden table: each figure with all its repeats.

Three things give samples: recorded runs, scrapes of a server, and reports of the gate (the modules
samples_of_*.py). `cachegate table new` makes a table of them, which names one as its definition, so that
it can be re-measured the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from gate.golden.table import Key, Row, Table

Value = int | Decimal
"""A number as it is printed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure is.

    Args:
        unit: the unit of its numbers.
        digits: decimals it is printed with; None for a count.
    """

    unit: str
    digits: int | None = None


@dataclass(slots=True)
class Samples:
    """Repeats of figures by row.

    Attributes:
        keys: what identifies a row.
        figures: name to what it is, in the order of the columns.
        rows: row key to (figure to its value in each repeat).
        names: the files it was read from, below their folder.
        version: of what was measured, where the files say it.
    """

    keys: tuple[str, ...]
    figures: dict[str, Figure] = field(default_factory=dict)
    rows: dict[Key, dict[str, list[Value]]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    version: str = ""

    def add(self, key: Key, values: Mapping[str, Value]) -> None:
        """One repeat of a row."""
        row = self.rows.setdefault(key, {})
        for name, value in values.items():
            row.setdefault(name, []).append(value)

    def means(self, table: Table) -> list[Row]:
        """The mean over the repeats of each figure that `table` has a column for, exactly."""
        known = {column.name for column in table.columns}
        return [
            {
                **dict(zip(self.keys, key, strict=True)),
                **{name: mean(values) for name, values in row.items() if name in known},
            }
            for key, row in self.rows.items()
        ]


def mean(values: list[Value]) -> Fraction:
    """The exact mean."""
    return sum((Fraction(value) for value in values), Fraction(0)) / len(values)
