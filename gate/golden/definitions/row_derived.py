"""Which lookups and misses of each request do the report's printed figures leave possible?

The server printed hit rates to 0.01 %, evictions by request, and refusals, residents and fill only in sums. Every
figure stands for all values that print as it; the ends of what follows are rounded outwards.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from pathlib import Path

from gate.golden.identities import printed, reach
from gate.golden.table import Row, Table
from gate.golden.table_file import TABLES, load

STEPS = {
    "A": (1000, 1000),
    "A2": (1000, 100),
    "B": (1000, 1000),
    "B2": (1000, 100),
    "A3": (100, 10),
}
"""To how many rows the ends of lookups and of misses are rounded."""

Range = tuple[Fraction, Fraction]


def row_cache_derived(_folder: Path) -> list[Row]:
    """At 1 GiB, by request. A2 is taken to look up no more than A and no less than A3, the same text."""
    measured, totals, waits = (
        load(TABLES / f"row-cache-{name}.toml") for name in ("measured", "totals", "wait")
    )
    lookups: dict[str, Range] = {}
    misses: dict[str, Range] = {}
    for request in ("B2", "A3"):
        lookups[request], misses[request] = _later(measured, waits, request)
    misses["B"] = _misses_of_b(measured, totals, misses)
    lookups["B"] = _lookups(misses["B"], measured, "B")
    misses["A"], misses["A2"] = _misses_of_a(measured, totals, lookups["A3"])
    lookups["A"] = _lookups(misses["A"], measured, "A")
    return [_row(request, lookups.get(request), misses[request]) for request in STEPS]


def _later(measured: Table, waits: Table, request: str) -> tuple[Range, Range]:
    """Lookups and misses from how many misses more a lower hit rate made."""
    more = printed(waits, "more_misses", request)
    low, high = (printed(measured, f"hit_{size}_pct", request) for size in ("1gib", "4gib"))
    return (
        reach(lambda n, a, b: 100 * n / (b - a), more, low, high),
        reach(lambda n, a, b: n * (100 - a) / (b - a), more, low, high),
    )


def _misses_of_b(measured: Table, totals: Table, misses: dict[str, Range]) -> Range:
    """Residents, less those before B and those of the later two, are what B added; the rest of its misses is told."""
    others = _turned_away(totals, "B2 and A3")
    added_later = [misses["B2"][end] + misses["A3"][end] - others for end in (0, 1)]
    before = _residents_before_b(measured, totals)
    placed = int(totals.cell("resident_rows", 1, "all")) + _turned_away(totals, "B")
    return placed - before[1] - added_later[1], placed - before[0] - added_later[0]


def _turned_away(totals: Table, requests: str) -> int:
    return sum(int(totals.cell(name, 1, requests)) for name in ("evictions", "refusals"))


def _residents_before_b(measured: Table, totals: Table) -> Range:
    capacity = int(totals.cell("capacity_rows", 1, "all"))
    return reach(lambda fill: fill * capacity / 100, printed(measured, "fill_pct", "A2"))


def _misses_of_a(measured: Table, totals: Table, lookups_a3: Range) -> tuple[Range, Range]:
    """A and A2 share what is resident before B, and a few refusals."""
    refusals = int(totals.cell("refusals", 1, "A and A2"))
    evictions = {name: int(measured.cell("evictions", name)) for name in ("A", "A2")}
    before = _residents_before_b(measured, totals)
    together = (before[0] + sum(evictions.values()), before[1] + sum(evictions.values()) + refusals)
    most_of_a = _lookups(together, measured, "A")[1]
    rate = _miss_rate(measured, "A2")
    of_a2 = (lookups_a3[0] * rate[0], most_of_a * rate[1])
    return (together[0] - of_a2[1], together[1] - of_a2[0]), of_a2


def _lookups(misses: Range, measured: Table, request: str) -> Range:
    least, most = _miss_rate(measured, request)
    return misses[0] / most, misses[1] / least


def _miss_rate(measured: Table, request: str) -> Range:
    return reach(lambda hit: 1 - hit / 100, printed(measured, "hit_1gib_pct", request))


def _row(request: str, lookups: Range | None, misses: Range) -> Row:
    of_lookups, of_misses = STEPS[request]
    row: dict[str, int | str] = {"request": request}
    if lookups is not None:
        row["lookups_least"], row["lookups_most"] = _outwards(lookups, of_lookups)
    row["misses_least"], row["misses_most"] = _outwards(misses, of_misses)
    return row


def _outwards(ends: Range, step: int) -> tuple[int, int]:
    return floor(ends[0] / step) * step, ceil(ends[1] / step) * step
