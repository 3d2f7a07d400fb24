"""Do the tables of docs/self-sizing.md say what the golden tables say?

A table there stands below a line `<!-- GOLDEN-TABLE: COLUMN COLUMN … -->`; `[key=value]` after the name keeps only the
rows with that key.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate.golden.table import Cell
from gate.golden.table_file import TABLES, load

PAGE = Path(__file__).parents[1] / "docs" / "self-sizing.md"
MARK = re.compile(r"<!-- ([a-z-]+)(?: \[(\w+)=([^\]]+)\])?: ([\w ]+) -->\n\n((?:\|.*\n)+)")
QUOTED = MARK.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_quotes_golden_tables() -> None:
    """Each answer has a table that is held to the recorded runs."""
    assert {
        "growth-comparison",
        "growth-dips",
        "sample-length",
        "fault-price",
        "faults-by-budget",
        "compute-spread",
        "management-time",
    } <= {name for name, *_ in QUOTED}


@pytest.mark.parametrize("name, key, value, columns, text", QUOTED)
def test_a_quoted_table_is_the_golden_one(
    name: str, key: str, value: str, columns: str, text: str
) -> None:
    """Every row of it, in order, digit for digit."""
    table = load(TABLES / f"{name}.toml")
    expected = [
        [_shown(row.cells.get(column, "")) for column in columns.split()]
        for row in table.rows
        if not key or _shown(row.cells[key]) == value
    ]
    body = text.splitlines()[2:]
    found = [[cell.strip().strip("*`") for cell in line.strip("|").split("|")] for line in body]
    assert found == expected


def _shown(cell: Cell) -> str:
    """As the page prints it: runs by the last part of their name."""
    return str(cell).rpartition("/")[2]
