"""How does `cachegate metrics` read on a terminal? The figures, the verdicts counted, and what did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gate.audit.findings import FAIL, PASS, SKIP, UNKNOWN
from gate.metrics.laws import LAWS
from gate.metrics.rows import MetricsRow
from gate.show import print_table
from reference.errors import printable

MAX_DETAIL = 300
MAX_NAMED = 3
VERDICTS = (PASS, FAIL, UNKNOWN, SKIP)
HEADINGS = (
    "interval",
    "table",
    "s",
    "lookups",
    "lookups/s",
    "hit %",
    "added",
    "evictions",
    "refusals",
    "resident",
    "capacity",
    "fill %",
    "fill % by chance",
    "distinct rows",
    "full sets %",
)
NOTES = """\
refusals: misses - added - evictions, added being the growth of the resident rows
fill % by chance: Poisson, had every miss brought a row not seen before
distinct rows, full sets %: Poisson, from the fill; one candidate set"""


def print_report(rows: Sequence[MetricsRow]) -> None:
    """Three parts: figures by interval and table, verdicts by law, and each verdict but a pass."""
    print_table(HEADINGS, [_cells(row) for row in rows])
    print(f"\n{NOTES}\n")
    counts = Counter((finding.law, finding.verdict) for row in rows for finding in row.laws)
    print_table(
        ("law", *VERDICTS, "states that"),
        [
            (name, *(str(counts[name, verdict]) for verdict in VERDICTS), law.sentence)
            for name, law in LAWS.items()
        ],
    )
    _print_reasons(rows)
    _print_failures(rows)


def _cells(row: MetricsRow) -> tuple[str, ...]:
    return (
        str(row.interval),
        printable(row.table),
        _real(row.seconds, 1),
        _whole(row.lookups),
        _real(row.lookups_per_s, 1),
        _real(row.hit_pct, 2),
        _whole(row.added),
        _whole(row.evictions),
        _whole(row.refusals),
        _whole(row.resident_rows),
        _whole(row.capacity_rows),
        _real(row.fill_pct, 2),
        _real(row.expected_fill_pct, 2),
        _whole(row.distinct_rows),
        _real(row.full_sets_pct, 2),
    )


def _whole(number: int | None) -> str:
    return "-" if number is None else str(number)


def _real(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:.{digits}f}"


def _print_failures(rows: Sequence[MetricsRow]) -> None:
    for row in rows:
        for finding in row.laws:
            if finding.verdict == FAIL:
                print(f"\nFAIL {finding.law}: {LAWS[finding.law].sentence}")
                print(
                    f"  {printable(row.before)} to {printable(row.after)}, {printable(row.table)}"
                )
                print(f"  {printable(finding.detail, MAX_DETAIL)}")


def _print_reasons(rows: Sequence[MetricsRow]) -> None:
    """Why a law was not judged: each reason once, with its laws and the interval that has it first."""
    laws: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        for law, verdict, detail in row.laws:
            if verdict in (UNKNOWN, SKIP):
                laws.setdefault((verdict, detail), {}).setdefault(law, row.interval)
    if laws:
        print()
    for (verdict, detail), found in laws.items():
        named = ", ".join(found) if len(found) <= MAX_NAMED else f"{len(found)} laws"
        since = min(found.values())
        where = f" (first in interval {since})" if rows[-1].interval > 1 else ""
        print(f"{verdict} {named}: {printable(detail, MAX_DETAIL)}{where}")
