"""Which figures do the scrapes of a row-cache server give? A row for each interval between two scrapes.

A folder of scrapes is one measurement; a folder of such folders holds its repeats. A row is named after
the scrape that ends its interval: `2-B.prom` gives `B`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from gate.audit.findings import FAIL
from gate.golden.samples import Figure, Samples, Value
from gate.metrics.intervals import TOTAL, intervals
from gate.metrics.rows import MetricsRow, row_of
from gate.metrics.sources import recorded
from reference.errors import InputError

FIGURES = {
    "lookups": Figure("rows"),
    "hits": Figure("rows"),
    "misses": Figure("rows"),
    "hit_pct": Figure("%", 2),
    "added": Figure("rows"),
    "evictions": Figure("rows"),
    "refusals": Figure("rows"),
    "resident_rows": Figure("rows"),
    "capacity_rows": Figure("rows"),
    "fill_pct": Figure("%", 2),
}
"""Fields of gate.metrics.rows.MetricsRow that become columns: those of all tables together."""

WAYS = 1
"""How many slots a set has is not asked here: a whole number of one way always fits."""

NUMBERED = re.compile(r"\d+-(?=.)")


def samples_of_scrapes(folder: Path) -> Samples:
    """The figures of every interval between the scrapes in a folder, or in each of its folders.

    Raises:
        InputError: a file is no scrape, there are fewer than two, or the counters break a law.
    """
    samples = Samples(keys=("interval",))
    repeats = sorted(path for path in folder.iterdir() if path.is_dir()) or [folder]
    for repeat in repeats:
        for row in _rows(repeat):
            samples.add((_name(row.after),), dict(_figures(row)))
        samples.names += sorted(path.relative_to(folder).as_posix() for path in repeat.iterdir())
    present = {name for row in samples.rows.values() for name in row}
    samples.figures = {name: figure for name, figure in FIGURES.items() if name in present}
    return samples


def _rows(folder: Path) -> list[MetricsRow]:
    """All tables together, from scrape to scrape."""
    rows = [
        row_of(number, interval)
        for number, (before, after) in enumerate(pairwise(recorded([str(folder)], None)), 1)
        for interval in intervals(before, after, WAYS)
        if interval.table == TOTAL
    ]
    if not rows:
        raise InputError("fewer than two scrapes", source=str(folder), expected="two or more")
    for row in rows:
        for finding in row.laws:
            if finding.verdict == FAIL:
                raise InputError(
                    f"breaks the law {finding.law}: {finding.detail}",
                    source=row.after,
                    cure="cachegate metrics tells more",
                )
    return rows


def _name(file: str) -> str:
    return NUMBERED.sub("", Path(file).stem, count=1)


def _figures(row: MetricsRow) -> Iterator[tuple[str, Value]]:
    for name, figure in FIGURES.items():
        value = getattr(row, name)
        if value is not None and figure.digits is None:
            yield name, int(value)
        elif value is not None:
            yield name, Decimal(f"{value:.{figure.digits}f}")
