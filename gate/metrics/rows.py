"""What is said of one table over one interval? The figures beside chance, and the verdicts: a row of `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from gate.audit.findings import Finding
from gate.metrics.intervals import Counts, Interval
from gate.metrics.laws import added, judge_interval, refusals
from gate.metrics.names import GAUGES, REQUIRED
from reference.row_geometry import (
    expected_full_sets,
    expected_residents,
    rows_at_fill,
)


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """One table, or the total, from one scrape to the next; the fields are those of `--json`.

    None (null) where a series is missing or a reset lies between; `missing` and `laws` say which.

    interval: from 1. before, after: the two scrapes. table: its label, or `total`.
    lookups to refusals: over the interval; refusals are inferred, and negative if a law is broken.
    resident_rows, capacity_rows, fill_pct: at the end.
    expected_fill_pct: the Poisson fill at the end, had every miss brought a row not seen before; a
        first read comes close, and one candidate set filled by a hash does not get above it.
    distinct_rows: how many distinct rows leave this fill, by the Poisson inversion; None when full.
    full_sets_pct: share of the sets without a free way, expected at that many rows.
    """

    interval: int
    before: str
    after: str
    table: str
    seconds: float | None
    lookups: int | None
    lookups_per_s: float | None
    hits: int | None
    misses: int | None
    hit_pct: float | None
    added: int | None
    evictions: int | None
    refusals: int | None
    resident_rows: int | None
    capacity_rows: int | None
    fill_pct: float | None
    expected_fill_pct: float | None
    distinct_rows: int | None
    full_sets_pct: float | None
    missing: tuple[str, ...]
    laws: tuple[Finding, ...]

    def as_dict(self) -> dict[str, object]:
        """The object of `--json`."""
        return {**asdict(self), "laws": [finding._asdict() for finding in self.laws]}


def row_of(number: int, interval: Interval) -> MetricsRow:
    """Figures and verdicts of one interval."""
    hits, misses, evictions = (_grown(interval, what) for what in ("hits", "misses", "evictions"))
    lookups = None if hits is None or misses is None else hits + misses
    after = interval.ends.after
    resident, capacity = after.get("resident_rows"), after.get("capacity_rows")
    by_chance = _by_chance(interval)
    comparable = not interval.reset and interval.ends.has("resident_rows")
    inferable = comparable and interval.ends.has("misses", "evictions")
    return MetricsRow(
        interval=number,
        before=interval.sources[0],
        after=interval.sources[1],
        table=interval.table,
        seconds=interval.seconds,
        lookups=lookups,
        lookups_per_s=lookups / interval.seconds
        if interval.seconds and lookups is not None
        else None,
        hits=hits,
        misses=misses,
        hit_pct=_percent(hits, lookups),
        added=added(interval) if comparable else None,
        evictions=evictions,
        refusals=refusals(interval) if inferable else None,
        resident_rows=resident,
        capacity_rows=capacity,
        fill_pct=_percent(resident, capacity),
        expected_fill_pct=_percent(by_chance.if_all_new, capacity),
        distinct_rows=None if by_chance.rows is None else round(by_chance.rows),
        full_sets_pct=_percent(by_chance.full_sets, by_chance.sets),
        missing=tuple(interval.missing(*REQUIRED)),
        laws=tuple(judge_interval(interval)),
    )


def _grown(interval: Interval, what: str) -> int | None:
    """How far a counter rose; None if that cannot be told."""
    return interval.ends.grown(what) if interval.ends.has(what) and not interval.reset else None


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100 * part / whole


# Chance


class _ByChance(NamedTuple):
    """What Poisson arrivals say, in rows and sets, so that tables can be summed."""

    rows: float | None
    full_sets: float | None
    if_all_new: float | None
    sets: int


def _by_chance(interval: Interval) -> _ByChance:
    if interval.parts and all(part.ends.having(*GAUGES) for part in interval.parts):
        return _summed([_by_chance(part) for part in interval.parts])
    after, ways = interval.ends.after, interval.ways
    sets = after.get("capacity_rows", 0) // ways
    rows = _distinct_rows(after, sets, ways)
    earlier, misses = _distinct_rows(interval.ends.before, sets, ways), _grown(interval, "misses")
    return _ByChance(
        rows=rows,
        full_sets=None if rows is None else sets * expected_full_sets(rows, sets, ways),
        if_all_new=(
            None
            if earlier is None or misses is None
            else expected_residents(earlier + misses, sets, ways)
        ),
        sets=sets,
    )


def _distinct_rows(counts: Counts, sets: int, ways: int) -> float | None:
    resident = counts.get("resident_rows")
    return (
        None if resident is None or resident >= sets * ways else rows_at_fill(resident, sets, ways)
    )


def _summed(tables: Sequence[_ByChance]) -> _ByChance:
    """All tables together; None where one of them has no answer."""
    return _ByChance(
        _sum([table.rows for table in tables]),
        _sum([table.full_sets for table in tables]),
        _sum([table.if_all_new for table in tables]),
        sum(table.sets for table in tables),
    )


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
