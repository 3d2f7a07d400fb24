"""Does the score reach its targets? What is caught from each view, how late, how slowly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fixtures.seeded_bugs import BUGS
from gate.power.cases import MOST_CASES
from gate.power.score import Caught, Score
from gate.power.views import GATE, View
from reference.laws import EXPERT, ROW

MEDIAN_CASE, LATE_CASE = 15, 60
"""Targets of the gate: the median first failure, and the 99th percentile."""
FAST_S, FAST_SHARE, SLOWEST_S = 0.1, 0.85, 1.0
"""Targets of the gate: this share is caught in this many CPU-seconds, and all in so many."""

CACHES = (EXPERT, ROW)


@dataclass(frozen=True, slots=True)
class Row:
    """One view of one kind of cache.

    Args:
        view: its id.
        cache: the kind of cache.
        bugs: how many bugs.
        caught: how many of them are caught in every run.
        floor: the least share of them that must be.
        median, late, last: case of the first failure: median, 99th percentile, largest; 0 where nothing is caught.
    """

    view: str
    cache: str
    bugs: int
    caught: int
    floor: float
    median: int
    late: int
    last: int

    @property
    def holds(self) -> bool:
        """Are its targets reached? Those on cases are the gate's alone."""
        if self.caught < self.floor * self.bugs:
            return False
        return self.view != GATE.id or (self.median <= MEDIAN_CASE and self.late <= LATE_CASE)


@dataclass(frozen=True, slots=True)
class Times:
    """CPU-seconds the gate needs for a bug, over all bugs and runs.

    Args:
        fast: share of them within `FAST_S`.
        slowest_s: the slowest.
    """

    fast: float
    slowest_s: float

    @property
    def holds(self) -> bool:
        """Are the targets reached?"""
        return self.fast >= FAST_SHARE and self.slowest_s <= SLOWEST_S


def times(scores: Sequence[Score]) -> Times:
    """How long the gate took; a miss counts as slow."""
    found = [score.by_view[GATE.id] for score in scores if GATE.id in score.by_view]
    spent = [caught.cpu_s for caught in found if caught]
    if not found:
        return Times(1.0, 0.0)
    return Times(sum(s <= FAST_S for s in spent) / len(found), max(spent, default=0.0))


def rows(scores: Sequence[Score], views: Iterable[View]) -> list[Row]:
    """A row for each view and kind of cache that has bugs among the scores."""
    made = []
    for view in views:
        for cache in CACHES:
            mine = [score for score in scores if BUGS[score.bug].cache == cache]
            if mine and cache in view.floors:
                made.append(_row(view, cache, mine))
    return made


def _row(view: View, cache: str, scores: Sequence[Score]) -> Row:
    found = [score.by_view[view.id] for score in scores]
    cases = sorted(caught.case if caught else MOST_CASES + 1 for caught in found)
    missed = {score.bug for score in scores if score.by_view[view.id] is None}
    bugs = {score.bug for score in scores}
    return Row(
        view.id,
        cache,
        len(bugs),
        len(bugs - missed),
        view.floors[cache],
        quantile(cases, 0.5),
        quantile(cases, 0.99),
        cases[-1],
    )


def quantile(ascending: Sequence[int], share: float) -> int:
    """The smallest number that at least this share of them does not exceed."""
    return ascending[max(0, -int(-share * len(ascending) // 1) - 1)]


@dataclass(frozen=True, slots=True)
class Trouble:
    """A bug that is missed, late or slow.

    Args:
        bug: its id.
        view: where.
        missed: in how many runs it was missed.
        runs: how many runs there were.
        last: the latest first failure of the others.
        slowest_s: the slowest of them, in CPU-seconds.
    """

    bug: str
    view: str
    missed: int
    runs: int
    last: int
    slowest_s: float


def troubles(scores: Sequence[Score], view: View) -> list[Trouble]:
    """The bugs that are missed from a view; for the gate also those that are late or slow."""
    found = []
    for bug in dict.fromkeys(score.bug for score in scores):
        runs = [score.by_view.get(view.id) for score in scores if score.bug == bug]
        if view.id not in next(score.by_view for score in scores if score.bug == bug):
            continue
        hits = [caught for caught in runs if caught]
        last = max((caught.case for caught in hits), default=0)
        slowest_s = max((caught.cpu_s for caught in hits), default=0.0)
        late = view.id == GATE.id and (last > LATE_CASE or slowest_s > SLOWEST_S)
        if len(hits) < len(runs) or late:
            found.append(Trouble(bug, view.id, len(runs) - len(hits), len(runs), last, slowest_s))
    return found


def as_json(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Every score as plain data."""
    return [
        {"bug": s.bug, "seed": s.seed, "caught": {v: _plain(c) for v, c in s.by_view.items()}}
        for s in scores
    ]


def _plain(caught: Caught | None) -> dict[str, Any] | None:
    return asdict(caught) if caught else None
