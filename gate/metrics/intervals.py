"""What happened to each table between two scrapes? The counts at both ends, and what forbids to compare them.

Counts are read one after another while a server works, so both scrapes belong between requests:
a row that was looked up before a scrape and inserted after it counts as one insert too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gate.metrics.names import COUNTERS, SERVER_START
from gate.metrics.scrape import Labels, Scrape
from reference.errors import InputError

TOTAL = "total"
START_JITTER_SECONDS = 2.0
"""A process' start is computed from the boot time, which moves by a second when the clock is set."""

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """Something at the start and at the end of an interval."""

    before: Counts
    after: Counts

    def both(self) -> tuple[tuple[str, Counts], tuple[str, Counts]]:
        """(before or after, counts)."""
        return ("before", self.before), ("after", self.after)

    def grown(self, what: str) -> int:
        """How far a count rose; it must be in both."""
        return self.after[what] - self.before[what]

    def having(self, *what: str) -> list[tuple[str, Counts]]:
        """Those of `both` that have all these counts."""
        return [(where, counts) for where, counts in self.both() if counts.keys() >= {*what}]

    def has(self, *what: str) -> bool:
        """Are these counts in both?"""
        return len(self.having(*what)) == 2


@dataclass(frozen=True, slots=True)
class Interval:
    """One table, or all of them, from one scrape to the next.

    Args:
        table: the value of its only label, or `label=value,…`; TOTAL for all together.
        sources: the two scrapes.
        prefix: of the series' names.
        ends: the counts by field.
        ways: slots of a set.
        seconds: between the scrapes; None if not known.
        reset: why counts before and after cannot be compared; empty if they can.
        exposed: of a total, what the server itself says of all tables together.
        parts: of a total, its tables.
    """

    table: str
    sources: tuple[str, str]
    prefix: str
    ends: Ends
    ways: int
    seconds: float | None
    reset: str = ""
    exposed: Ends = field(default_factory=lambda: Ends({}, {}))
    parts: tuple[Interval, ...] = ()

    def missing(self, *what: str) -> list[str]:
        """The series of these fields that are not in both scrapes, by name."""
        return [lack for name in what if (lack := self._lack(name))]

    def _lack(self, name: str) -> str:
        lacking = [where for where, counts in self.ends.both() if name not in counts]
        series = f"{self.prefix}_{name}"
        if len(lacking) == 2:
            return f"no series {series}"
        of = "" if self.table == TOTAL else f" of {self.table}"
        return f"no series {series}{of} {lacking[0]}" if lacking else ""


def intervals(
    before: Scrape, after: Scrape, ways: int, default_seconds: float | None = None
) -> list[Interval]:
    """All tables between two scrapes, then their total.

    Args:
        ways: slots of a set.
        default_seconds: between the scrapes, where these do not say when they were taken.

    Raises:
        InputError: `after` was taken before `before`.
    """
    total = Interval(
        table=TOTAL,
        sources=(before.source, after.source),
        prefix=after.prefix,
        ends=_ends(before, after, ()),
        ways=ways,
        seconds=_seconds(before, after, default_seconds),
        reset=next(_resets(before, after), ""),
    )
    tables = [
        replace(total, table=_name(labels), ends=_ends(before, after, labels))
        for labels in sorted(before.tables.keys() | after.tables.keys())
        if labels
    ]
    return [*tables, _with_parts(total, tables) if tables else total]


def _with_parts(total: Interval, tables: list[Interval]) -> Interval:
    """The sums over the tables; a field that only the unlabelled series has is taken from there."""
    exposed = total.ends
    sums = Ends(
        {**exposed.before, **_sums([table.ends.before for table in tables])},
        {**exposed.after, **_sums([table.ends.after for table in tables])},
    )
    return replace(total, ends=sums, exposed=exposed, parts=tuple(tables))


def _sums(tables: list[Counts]) -> dict[str, int]:
    """The sums of what every table has."""
    shared = set(tables[0]).intersection(*tables[1:])
    return {what: sum(table[what] for table in tables) for what in shared}


def _seconds(before: Scrape, after: Scrape, default: float | None) -> float | None:
    if before.at_seconds is None or after.at_seconds is None:
        return default
    seconds = after.at_seconds - before.at_seconds
    if seconds < 0:
        raise InputError(
            f"was taken {-seconds:g} s before {before.source}",
            source=after.source,
            expected="scrapes in the order in which they were taken",
        )
    return seconds


def _ends(before: Scrape, after: Scrape, labels: Labels) -> Ends:
    return Ends(before.tables.get(labels, {}), after.tables.get(labels, {}))


def _name(labels: Labels) -> str:
    if len(labels) == 1 and labels[0][1] != TOTAL:
        return labels[0][1]
    return ",".join(f"{key}={value}" for key, value in labels)


def _resets(before: Scrape, after: Scrape) -> Iterator[str]:
    """The signs that counting began anew between the scrapes.

    One is enough for all tables: they are counted by one process, and after a restart a busy
    table's counters may have passed their old values already.
    """
    for (what, labels), start in after.starts.items():
        earlier = before.starts.get((what, labels), start)
        if abs(start - earlier) > (START_JITTER_SECONDS if what == SERVER_START else 0):
            yield f"restart: {what}{_of(labels)} went from {earlier} to {start}"
    for labels in sorted(before.tables.keys() & after.tables.keys()):
        ends = _ends(before, after, labels)
        for what in COUNTERS:
            if ends.has(what) and ends.grown(what) < 0:
                fall = f"from {ends.before[what]} to {ends.after[what]}"
                yield f"counter reset: {what}{_of(labels)} fell {fall}"


def _of(labels: Labels) -> str:
    return f" of {_name(labels)}" if labels else ""
