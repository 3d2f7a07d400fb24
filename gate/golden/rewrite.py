"""How does a measurement get into the files of golden tables? One line for each changed cell, one of history."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gate.golden.changes import Change, with_changes
from gate.golden.measurement import measurement_line, toml
from gate.golden.table import STATED, Measurement, Table
from gate.golden.table_file import load
from gate.golden.whole_files import replace_files
from reference.errors import InputError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[{}\[\]=,]|[^\s{}\[\]=,"\']+|\s+')
_HISTORY = "history = ["


class NewTable(NamedTuple):
    """A table and what is to be written into its file: one or more changes, and their record."""

    table: Table
    changes: Sequence[Change]
    measurement: Measurement


def write_tables(news: Sequence[NewTable]) -> None:
    """Write all of them, or none.

    Raises:
        InputError: a file cannot be written, or its text is not such that a cell can be replaced.
    """
    by_path = {new.table.path: new for new in news}
    replace_files(
        {path: rewritten(new) for path, new in by_path.items()},
        lambda staged, target: _verify(staged, by_path[target]),
    )


def rewritten(new: NewTable) -> str:
    """The file's text with the new cells and the record of where they come from.

    Raises:
        InputError: a row does not stand on one line.
    """
    path = new.table.path
    text = path.read_bytes().decode()
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(end)
    for change in new.changes:
        at = change.row.line - 1
        place = ("measured",) if change.row.status == STATED else ()
        lines[at] = _with_cell(lines[at], (*place, change.column.name), change, path)
    _record(lines, measurement_line(new.measurement))
    return end.join(lines)


def _with_cell(line: str, place: tuple[str, ...], change: Change, path: Path) -> str:
    """The line of a row with one value replaced."""
    for keys, start, stop in _values(line):
        if keys == place:
            return line[:start] + toml(change.new) + line[stop:]
    raise InputError(
        f"no value of {change.name} on the line",
        source=str(path),
        line=change.row.line,
        expected="each row as one line { column = value, ... },",
    )


def _values(line: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(keys that lead to it, start, end) of each plain value in a line that is one inline table."""
    inside: list[str] = []
    key, is_value = "", False
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token == "{":
            inside.append(key)
            is_value = False
        elif token == "}":
            del inside[-1:]
        elif token == "=":
            is_value = True
        elif token == ",":
            is_value = False
        elif not token.isspace():
            if is_value:
                yield (*inside[1:], key), match.start(), match.end()
            else:
                key = _unquoted(token)


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"]) if key[0] in "\"'" else key


def _record(lines: list[str], record: str) -> None:
    """Add a line to the array `history`, which is made at the end of the file where there is none."""
    if _HISTORY in lines:
        lines.insert(lines.index("]", lines.index(_HISTORY)), record)
        return
    while lines and not lines[-1]:
        lines.pop()
    lines += [_HISTORY, record, "]", ""]


def _verify(staged: Path, new: NewTable) -> None:
    """The staged file is the old table but for the changes: nothing else moved, nothing was missed."""
    read = load(staged)
    expected = with_changes(new.table, new.changes).rows
    if read.rows != expected or read.history != (*new.table.history, new.measurement):
        raise InputError(
            "the new text does not read as the measured table",
            source=str(new.table.path),
            expected="each row as one line { column = value, ... },",
        )
