"""At which budgets does the hit curve of each trace change, and by how much? All budgets in one digest.

Under LRU a lookup hits from its threshold on (replay/thresholds.py). The sorted list of (threshold, lookups,
bytes), a line each and first touches last, decides hits and bytes read at every budget: a change of either
anywhere changes its SHA-256. The sample shows where.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from gate.golden.definitions.traces import TRACES, lru_curve
from gate.golden.table import Row
from replay.lookups import Lookups
from replay.thresholds import NEVER, thresholds

POINTS = 64


class Breakpoint(NamedTuple):
    """From `budget_bytes` on, `hits` more lookups hit and `hit_bytes` fewer are read."""

    budget_bytes: int
    hits: int
    hit_bytes: int


def breakpoints(bench_data: Path) -> list[Row]:
    """Of each trace: its lookups, its breakpoints, and their digest."""
    return [_summary(trace, lru_curve(bench_data, trace).lookups) for trace in TRACES]


def breakpoint_sample(bench_data: Path) -> list[Row]:
    """Hits and bytes read, prefill included, at 64 breakpoints of each trace, from the first to the last."""
    return [
        {"trace": trace, "point": point, **row}
        for trace in TRACES
        for point, row in enumerate(_sampled(lru_curve(bench_data, trace).lookups), 1)
    ]


def breakpoints_of(lookups: Lookups) -> list[Breakpoint]:
    """The breakpoints, ascending; the last, NEVER, holds the first touches."""
    found: dict[int, tuple[int, int]] = {}
    for theta, key in zip(thresholds(lookups), lookups.key, strict=True):
        hits, hit_bytes = found.get(theta, (0, 0))
        found[theta] = hits + 1, hit_bytes + lookups.key_bytes[key]
    return [Breakpoint(theta, *found[theta]) for theta in sorted(found)]


def digest_of(breakpoints: list[Breakpoint]) -> str:
    """SHA-256 of the lines `budget hits bytes`, with the word `never` for the first touches."""
    lines = (
        f"{'never' if budget == NEVER else budget} {hits} {hit_bytes}\n"
        for budget, hits, hit_bytes in breakpoints
    )
    return sha256("".join(lines).encode()).hexdigest()


def _summary(trace: str, lookups: Lookups) -> Row:
    found = breakpoints_of(lookups)
    return {
        "trace": trace,
        "lookups": len(lookups.key),
        "first_touches": len(lookups.key_bytes),
        "breakpoints": sum(point.budget_bytes != NEVER for point in found),
        "digest": digest_of(found),
    }


def _sampled(lookups: Lookups) -> Iterator[Row]:
    found = [point for point in breakpoints_of(lookups) if point.budget_bytes != NEVER]
    hits = list(accumulate(point.hits for point in found))
    saved = list(accumulate(point.hit_bytes for point in found))
    asked = sum(lookups.key_bytes[key] for key in lookups.key)
    for number in range(POINTS):
        at = number * (len(found) - 1) // (POINTS - 1)
        yield {
            "budget_bytes": max(1, found[at].budget_bytes),
            "hits": hits[at],
            "read_bytes": asked - saved[at],
        }
