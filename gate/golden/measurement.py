"""How does a re-measurement stand in a table's file? One line of `history = [ ... ]`, read and written here."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from gate.golden.table import Cell, Measurement, Number
from reference.errors import InputError, printable

NOT_RECORDED = "not recorded"

_NAMES = tuple(field.name for field in fields(Measurement))
_TEXTS = ("source", "reason", "engine", "definition", "code")
_SHA256 = re.compile(r"[0-9a-f]{64}")

Fault = Callable[[str, str], InputError]
"""Problem and what was expected, to an error that names the place."""


def read_measurement(entry: Mapping[str, Any], fault: Fault) -> Measurement:
    """The measurement in one entry of `history`.

    Raises:
        InputError: by `fault`, for an entry that is none.
    """
    if set(entry) != set(_NAMES):
        raise fault(f"has {printable(', '.join(sorted(entry)))}", ", ".join(_NAMES))
    for name in _TEXTS:
        if not isinstance(entry[name], str) or not entry[name].strip():
            raise fault(f"{name} is empty or no text", "text")
    if type(entry["date"]) is not datetime.date:
        raise fault("date is no date", "a date, as in 2026-07-26")
    return Measurement(
        **{name: entry[name] for name in ("date", *_TEXTS)},
        changed=_changed(entry["changed"], fault),
        files=_files(entry["files"], fault),
    )


def _changed(entries: object, fault: Fault) -> dict[str, tuple[Cell, Cell]]:
    expected = "cell name = [before, after]"
    if not isinstance(entries, dict) or not entries:
        raise fault("changed is no table, or empty", expected)
    for name, pair in entries.items():
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_cell, pair)):
            raise fault(f"changed.{printable(name)} is no pair of cells", expected)
    return {name: (before, after) for name, (before, after) in entries.items()}


def _is_cell(value: object) -> bool:
    plain = isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 30
    return plain or isinstance(value, str) or type(value) is int


def _files(entries: object, fault: Fault) -> dict[str, str]:
    if not isinstance(entries, dict):
        raise fault("files is no table", "path = SHA-256")
    for name, digest in entries.items():
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise fault(f"files.{printable(name)} is no digest", "64 hexadecimal digits")
    return dict(entries)


def measurement_line(measurement: Measurement) -> str:
    """The measurement as its line, without the line's end."""
    changed = {
        name: f"[{toml(old)}, {toml(new)}]" for name, (old, new) in measurement.changed.items()
    }
    files = {name: toml(digest) for name, digest in measurement.files.items()}
    texts = [f"{name} = {toml(getattr(measurement, name))}" for name in _TEXTS]
    parts = [
        f"date = {measurement.date.isoformat()}",
        *texts,
        f"changed = {_inline(changed)}",
        f"files = {_inline(files)}",
    ]
    return f"    {{ {', '.join(parts)} }},"


def _inline(entries: Mapping[str, str]) -> str:
    inside = ", ".join(f"{toml(name)} = {text}" for name, text in entries.items())
    return f"{{ {inside} }}" if inside else "{}"


def toml(cell: Cell) -> str:
    """A cell as TOML text: numbers in full, without an exponent."""
    if isinstance(cell, str):
        return json.dumps(cell, ensure_ascii=False).replace("\x7f", "\\u007f")
    return _digits(cell)


def _digits(number: Number) -> str:
    if isinstance(number, Decimal):
        return f"{number:f}"
    if not isinstance(number, int):
        raise TypeError(f"{number!r} has no digits of its own: round it first")
    return str(number)
