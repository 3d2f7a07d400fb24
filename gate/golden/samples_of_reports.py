"""Which figures do reports of the gate give: the `--json` lists of `cachegate curve`, `rows` and `metrics`?

Rows that are alike in all keys are repeats: `cachegate rows --seeds N` gives N of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

from gate.golden.samples import Figure, Samples, Value
from gate.golden.table import Key
from reference.errors import InputError, printable
from replay.lines import open_regular

KEYS = (
    "trace",
    "turn",
    "table",
    "interval",
    "policy",
    "capacity_rows",
    "scale",
    "budget_bytes",
    "request",
)
"""Fields that identify a row, where a report has them."""

LEFT_OUT = {"seed", "seconds", "lookups_per_s"}
"""Fields that number a repeat or depend on when it was done."""

REAL_DIGITS = 3
"""Decimals that fractions are written with: reports give them in full."""

UNITS = {"_pct": "%", "_bytes": "bytes", "_rows": "rows"}
MAX_REPORT_BYTES = 64 << 20


def samples_of_reports(folder: Path) -> Samples:
    """The figures of every row of every report in a folder.

    Raises:
        InputError: a file is no list of rows, or there is none.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file())
    rows = [row for file in files for row in _read(file)]
    if not rows:
        raise InputError("no report", source=str(folder), expected="lists of cachegate … --json")
    samples = Samples(keys=_keys(rows), names=[file.name for file in files])
    for row in rows:
        samples.add(_key(row, samples.keys), dict(_figures(row, samples.keys)))
    for row in rows:
        for name, value in _figures(row, samples.keys):
            samples.figures[name] = _figure(name, value)
    return samples


def _read(file: Path) -> list[dict[str, Any]]:
    with open_regular(file) as stream:
        data = stream.read(MAX_REPORT_BYTES + 1)
    try:
        report = json.loads(data) if len(data) <= MAX_REPORT_BYTES else None
    except (ValueError, RecursionError) as fault:
        raise InputError(f"is no JSON: {printable(str(fault))}", source=str(file)) from None
    if not isinstance(report, list) or not all(isinstance(row, dict) for row in report):
        raise InputError(
            "is no report", source=str(file), expected="the list that cachegate curve --json gives"
        )
    return report


def _keys(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Those that some row has; without any there is no telling the rows apart."""
    keys = tuple(name for name in KEYS if any(row.get(name) is not None for row in rows))
    if not keys:
        raise InputError("its rows have no key", expected=f"one of {', '.join(KEYS)}")
    return keys


def _key(row: Mapping[str, Any], keys: tuple[str, ...]) -> Key:
    """What identifies a row; of a path its last part, so that a table can be measured anywhere."""
    return tuple(
        value if isinstance(value := row.get(name), int) else PurePath(str(value or "")).name
        for name in keys
    )


def _figures(row: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        if name in keys or name in LEFT_OUT or isinstance(value, bool):
            continue
        if isinstance(value, int):
            yield name, value
        elif isinstance(value, float) and value - value == 0:
            yield name, Decimal(f"{value:.{REAL_DIGITS}f}")


def _figure(name: str, value: Value) -> Figure:
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "1")
    return Figure(unit, None if isinstance(value, int) else REAL_DIGITS)
