"""What is the text of a golden table made from samples, and why is each tolerance what it is?

Repeats that all print the same leave the tolerance of the print: nothing for a count, half a unit of the last
digit for a fraction. Repeats that differ give their mean and as tolerance the largest deviation from it.
One run gives no spread; the column says so.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from gate.golden.changes import rounded
from gate.golden.measurement import NOT_RECORDED, toml
from gate.golden.samples import Figure, Samples, Value, mean
from gate.golden.table import EXACT, KEY, PRINTED_DIGITS, SPREAD, Number

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Heading:
    """What the maker of a table says of it.

    Args:
        title: the question it answers.
        document: where the measurement comes from.
        definition: what made the samples, by its name in gate/golden/sources.py.
        date: the day it is written.
    """

    title: str
    document: str
    definition: str
    date: datetime.date


def table_text(samples: Samples, heading: Heading, checks: Sequence[str] = ()) -> str:
    """The file of a table."""
    columns = [_key_column(name) for name in samples.keys]
    columns += [_column(name, figure, samples) for name, figure in samples.figures.items()]
    lines = [
        f"title = {toml(heading.title)}",
        'status = "asserted"',
        f"source = {_source(samples, heading)}",
        f"definition = {toml(heading.definition)}",
        f"words = {toml(_words(samples))}",
        *_array("columns", columns),
        *_array("rows", (_row(key, values, samples) for key, values in samples.rows.items())),
    ]
    if checks:
        lines += _array("checks", map(toml, checks))
    return "\n".join(lines) + "\n"


def _array(name: str, entries: Iterable[str]) -> list[str]:
    return [f"{name} = [", *(f"    {entry}," for entry in entries), "]"]


def _inline(entries: Iterable[tuple[str, str]]) -> str:
    return f"{{ {', '.join(f'{_name(name)} = {text}' for name, text in entries)} }}"


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml(name)


def _source(samples: Samples, heading: Heading) -> str:
    names = list(dict.fromkeys(samples.names))
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    entries = [
        ("document", toml(heading.document)),
        ("section", toml("as measured")),
        ("commit", toml(samples.version or NOT_RECORDED)),
        ("date", heading.date.isoformat()),
        ("data", toml(", ".join(names[:NAMES_SHOWN]) + more)),
    ]
    return _inline(entries)


def _words(samples: Samples) -> str:
    counts = sorted({len(values) for row in samples.rows.values() for values in row.values()})
    if counts == [1]:
        return "One run a row, as the files print it."
    return (
        f"The mean over the repeats of a row, {_between(counts)} of them, as the files print them."
    )


def _key_column(name: str) -> str:
    return _inline(
        [("name", toml(name)), ("unit", '"name"'), ("kind", toml(KEY)), ("why", '"names the row"')]
    )


def _column(name: str, figure: Figure, samples: Samples) -> str:
    repeats = [row[name] for row in samples.rows.values() if name in row]
    entries = [("name", toml(name)), ("unit", toml(figure.unit))]
    if any(len(set(values)) > 1 for values in repeats):
        entries += _spread(repeats, figure)
    elif figure.digits is None:
        entries += [("kind", toml(EXACT)), ("why", toml(f"a count; {_agreement(repeats)}"))]
    else:
        why = f"half a unit of the last digit: {figure.digits} decimals are printed; {_agreement(repeats)}"
        entries += [
            ("kind", toml(PRINTED_DIGITS)),
            ("digits", str(figure.digits)),
            ("why", toml(why)),
        ]
    return _inline(entries)


def _agreement(repeats: Sequence[Sequence[Value]]) -> str:
    """What is known of the spread where no repeats differ."""
    several = [len(values) for values in repeats if len(values) > 1]
    if not several:
        return "one run a row gives no spread"
    if len(several) == len(repeats):
        return f"{_between(several)} repeats of every row agree"
    return (
        f"{_between(several)} repeats of {len(several)} rows agree, "
        f"the other {len(repeats) - len(several)} are one run, which gives no spread"
    )


def _spread(repeats: Sequence[Sequence[Value]], figure: Figure) -> list[tuple[str, str]]:
    largest = max(
        abs(Fraction(value) - Fraction(cell_of(values, figure)))
        for values in repeats
        for value in values
    )
    several = [len(values) for values in repeats if len(values) > 1]
    why = f"the largest deviation from the mean, {_between(several)} repeats of {len(several)} rows"
    alone = len(repeats) - len(several)
    if alone:
        why += f"; {alone} rows are one run, which gives no spread"
    return [
        ("kind", toml(SPREAD)),
        ("repeats", str(min(several))),
        ("spread", toml(rounded(largest, figure.digits or 0))),
        ("why", toml(why)),
    ]


def _between(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def cell_of(values: Sequence[Value], figure: Figure) -> Number:
    """The mean of repeats as the table prints it."""
    return rounded(mean(list(values)), figure.digits or 0)


def _row(key: tuple[object, ...], values: dict[str, list[Value]], samples: Samples) -> str:
    keys = [
        (name, toml(part) if isinstance(part, str | int | Decimal) else toml(str(part)))
        for name, part in zip(samples.keys, key, strict=True)
    ]
    cells = [
        (name, toml(cell_of(values[name], figure)))
        for name, figure in samples.figures.items()
        if name in values
    ]
    return _inline([*keys, *cells])
