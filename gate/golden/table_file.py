"""How does a golden table stand in its file?

TOML, one file a table, one column and one row a line, so that a re-measured cell changes one line:

    title = "What does one token ask for?"
    status = "asserted"
    source = { document = "...", section = "...", commit = "...", date = 2026-07-26, data = "..." }
    definition = "token_demand"
    words = "TD = ..."
    columns = [
        { name = "model", unit = "name", kind = "key", why = "..." },
        { name = "cycles", unit = "cycles", kind = "printed_digits", digits = 2, why = "..." },
    ]
    rows = [
        { model = "a", cycles = 1.65 },
        { model = "b", cycles = 2.90, status = "stated", measured = { cycles = 2.87 } },
    ]

Numbers are written with the digits they are printed with: 2.90 is not 2.9. Two more arrays may follow:
`checks` (gate/golden/checks.py) and `history` (gate/golden/measurement.py).
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from gate.golden.checks import parse_check
from gate.golden.measurement import read_measurement
from gate.golden.table import (
    EXACT,
    KEY,
    KINDS,
    PRINTED_DIGITS,
    SPREAD,
    STATED,
    STATUSES,
    Cell,
    Column,
    Source,
    Table,
    TableRow,
    decimals,
)
from reference.errors import InputError, printable

TABLES = Path(__file__).resolve().parents[2] / "regressions" / "tables"
"""The folder of the project's golden tables."""

MAX_FILE_BYTES = 1 << 20
MAX_DECIMALS = 12
MAX_NUMBER = 10**18

_TABLE_KEYS = {"title", "status", "source", "definition", "words", "columns", "rows"}
_OPTIONAL_KEYS = {"checks", "history"}
_SOURCE_KEYS = {"document": str, "section": str, "commit": str, "date": datetime.date, "data": str}
_COLUMN_KEYS = {"name", "unit", "kind", "why"}
_KIND_KEYS = {
    KEY: set[str](),
    EXACT: set[str](),
    PRINTED_DIGITS: {"digits"},
    SPREAD: {"repeats", "spread"},
}
_ROW_KEYS = {"status", "measured"}


def load_all(folder: Path = TABLES) -> list[Table]:
    """Every table of a folder, by name.

    Raises:
        InputError: a file is not a golden table.
    """
    return [load(path) for path in sorted(folder.glob("*.toml"))]


def load(path: Path) -> Table:
    """The table in the file `path`; its id is the file's name without `.toml`.

    Raises:
        InputError: the file cannot be read or is not a golden table; names the line if known.
    """
    place = _Place(path)
    text = _read(place)
    document = _parse(text, place)
    place.exact_keys("the table", document, _TABLE_KEYS | (_OPTIONAL_KEYS & set(document)))
    columns = _columns(document["columns"], text, place)
    status = place.one_of("status", document["status"], STATUSES)
    return Table(
        id=path.stem,
        title=place.text("title", document["title"]),
        source=_source(document["source"], place),
        definition=place.text("definition", document["definition"]),
        words=place.text("words", document["words"]),
        columns=tuple(columns.values()),
        rows=_rows(document["rows"], columns, status, text, place),
        path=path,
        checks=_checks(document.get("checks", []), columns, place),
        history=tuple(
            read_measurement(entry, at.error)
            for entry, at in _entries("history", document.get("history", []), text, place)
        ),
    )


@dataclass(frozen=True)
class _Place:
    """Where in which file a value stands, and the checks that blame that place."""

    path: Path
    line: int | None = None

    def error(self, problem: str, expected: str = "", cure: str = "") -> InputError:
        return InputError(
            problem, source=str(self.path), line=self.line, expected=expected, cure=cure
        )

    def exact_keys(self, where: str, entry: Mapping[str, object], names: set[str]) -> None:
        for wrong, what in ((names - set(entry), "lacks"), (set(entry) - names, "has unknown")):
            if wrong:
                keys = printable(", ".join(sorted(wrong)))
                raise self.error(f"{where} {what} {keys}", expected=", ".join(sorted(names)))

    def one_of(self, name: str, value: object, allowed: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise self.error(f"{name} is {printable(str(value))}", expected=" or ".join(allowed))
        return value

    def text(self, name: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{name} is empty or no text")
        return value.strip()


def _read(place: _Place) -> str:
    try:
        with place.path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise place.error(
            f"cannot be read as text: {printable(str(error), 200)}",
            expected="a golden table, TOML in UTF-8",
        ) from error
    if len(raw) > MAX_FILE_BYTES:
        raise place.error(f"larger than {MAX_FILE_BYTES} bytes", expected="a golden table")
    return text


def _parse(text: str, place: _Place) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        line = re.search(r"\(at line (\d+)", str(error))
        raise _Place(place.path, int(line[1]) if line else None).error(
            printable(str(error), 200),
            expected="a golden table, TOML as gate/golden/table_file.py describes it",
        ) from error


def _source(entry: object, place: _Place) -> Source:
    if not isinstance(entry, dict):
        raise place.error("source is no table", expected="source = { document = ..., ... }")
    place.exact_keys("source", entry, set(_SOURCE_KEYS))
    for name, kind in _SOURCE_KEYS.items():
        if not isinstance(entry[name], kind) or not entry[name]:
            raise place.error(f"source.{name} is {entry[name]!r}", expected=f"a {kind.__name__}")
    return Source(**entry)


def _columns(entries: object, text: str, place: _Place) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for entry, at in _entries("columns", entries, text, place):
        column = _column(entry, at)
        if column.name in columns:
            raise at.error(f"the column {column.name} again")
        columns[column.name] = column
    if all(column.kind != KEY for column in columns.values()):
        raise place.error("no column identifies a row", cure='make one kind = "key"')
    return columns


def _column(entry: dict[str, Any], at: _Place) -> Column:
    kind = at.one_of("kind", entry.get("kind"), KINDS)
    at.exact_keys("the column", entry, _COLUMN_KEYS | _KIND_KEYS[kind])
    for name in ("name", "unit", "why"):
        at.text(name, entry[name])
    if entry["name"] in _ROW_KEYS:
        raise at.error(f"{entry['name']} cannot be a column's name: rows use it")
    if kind == PRINTED_DIGITS and not _in_range(entry["digits"], 0, MAX_DECIMALS):
        raise at.error("digits is wrong", expected=f"a whole number from 0 to {MAX_DECIMALS}")
    if kind == SPREAD:
        _check_spread(entry, at)
    return Column(**entry)


def _check_spread(entry: dict[str, Any], at: _Place) -> None:
    spread = entry["spread"]
    if not (_in_range(entry["repeats"], 2, MAX_NUMBER) and _is_number(spread) and spread > 0):
        raise at.error(
            "repeats or spread is wrong",
            expected="2 or more repeats and a positive spread",
            cure="one run gives no spread: repeat the measurement",
        )


def _checks(entries: object, columns: Mapping[str, Column], place: _Place) -> tuple[str, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise place.error("checks is no array of texts", expected='"hits + misses = lookups"')
    for entry in entries:
        try:
            parse_check(entry, columns.values())
        except ValueError as problem:
            raise place.error(f"check {printable(entry)}: {problem}") from None
    return tuple(entries)


def _rows(
    entries: object, columns: Mapping[str, Column], status: str, text: str, place: _Place
) -> tuple[TableRow, ...]:
    lines: dict[tuple[Cell, ...], int | None] = {}
    rows = []
    for entry, at in _entries("rows", entries, text, place):
        row = _row(entry, columns, status, at)
        key = tuple(row.cells[name] for name, column in columns.items() if column.kind == KEY)
        if key in lines:
            raise at.error(f"the row of line {lines[key]} again")
        lines[key] = at.line
        rows.append(row)
    return tuple(rows)


def _row(entry: dict[str, Any], columns: Mapping[str, Column], status: str, at: _Place) -> TableRow:
    status = at.one_of("status", entry.get("status", status), STATUSES)
    cells = {name: cell for name, cell in entry.items() if name not in _ROW_KEYS}
    measured = entry.get("measured", {})
    if not isinstance(measured, dict):
        raise at.error("measured is no table", expected="measured = { column = number }")
    for name, cell in (*cells.items(), *measured.items()):
        _check_cell(name, cell, columns, at)
    keys = {name for name, column in columns.items() if column.kind == KEY}
    if missing := keys - set(cells):
        raise at.error(f"the row lacks its key {', '.join(sorted(missing))}")
    if bool(measured) != (status == STATED) or (
        measured and not set(cells) - keys <= set(measured)
    ):
        raise at.error(
            f"measured does not fit a row that is {status}",
            expected="for each value of a stated row what was measured, and nothing otherwise",
        )
    for name, cell in (measured if status == STATED else cells).items():
        _check_digits(columns[name], cell, at)
    return TableRow(cells, status, measured, at.line or 0)


def _check_cell(name: str, cell: object, columns: Mapping[str, Column], at: _Place) -> None:
    if name not in columns:
        raise at.error(f"no column is called {printable(name)}", expected=", ".join(columns))
    if not isinstance(cell, str) and not _is_number(cell):
        raise at.error(
            f"{name} is {printable(str(cell))}",
            expected="text, or a number written out in full, without an exponent",
        )


def _check_digits(column: Column, cell: Cell, at: _Place) -> None:
    if column.kind != PRINTED_DIGITS:
        return
    if isinstance(cell, str) or decimals(cell) != column.digits:
        raise at.error(
            f"{column.name} is {printable(str(cell))}",
            expected=f"a number printed with {column.digits} decimals",
        )


def _entries(
    name: str, entries: object, text: str, place: _Place
) -> Iterator[tuple[dict[str, Any], _Place]]:
    """The tables in the array `name`, each with its line: each has to begin a line of its own."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise place.error(f"{name} is no array of tables", expected=f"{name} = [ ... ]")
    lines = text.replace("\r\n", "\n").split("\n")
    start = lines.index(f"{name} = [") + 1 if f"{name} = [" in lines else len(lines)
    end = lines.index("]", start) if "]" in lines[start:] else len(lines)
    begins = [n for n in range(start, end) if lines[n].lstrip().startswith("{")]
    if len(begins) != len(entries):
        raise place.error(
            f"{name} does not stand one entry a line",
            expected=f"the line `{name} = [`, one {{ ... }}, on each line, and the line `]`",
        )
    for entry, number in zip(entries, begins, strict=True):
        yield entry, _Place(place.path, number + 1)


def _is_number(value: object) -> bool:
    """Is `value` a number in plain notation and of a size that exact arithmetic can bear?"""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        plain = isinstance(exponent, int) and -MAX_DECIMALS <= exponent <= 0
        return plain and abs(value) < MAX_NUMBER
    return _in_range(value, -MAX_NUMBER, MAX_NUMBER)


def _in_range(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
