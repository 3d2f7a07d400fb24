"""From where are the bugs looked at? Each observation level, and without what shares the reference's hash or model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from gate.implementation import BuiltIn
from gate.judge import laws_of
from reference.laws import EXPERT, ROW, SHARED_PLACEMENT, Law

LOCKSTEP = ("lockstep/reference", "row-lockstep/reference")


def _any(law: Law) -> bool:
    return True


def _without_lockstep(law: Law) -> bool:
    return law.id not in LOCKSTEP


def _without_hash(law: Law) -> bool:
    return law.needs != SHARED_PLACEMENT and law.id not in LOCKSTEP


@dataclass(frozen=True, slots=True)
class View:
    """One way of looking at an implementation.

    Args:
        id: as printed.
        title: in a few words.
        level: the observation level.
        floors: by cache, the least share of its bugs that must be caught.
        keeps: which laws are judged.
    """

    id: str
    title: str
    level: int
    floors: dict[str, float]
    keeps: Callable[[Law], bool] = _any

    def laws(self, cache: str) -> list[Law]:
        """The laws judged on one kind of cache."""
        return _laws(self.id, cache)


@cache
def _laws(view_id: str, kind: str) -> list[Law]:
    view = next(view for view in VIEWS if view.id == view_id)
    declared = replace(BuiltIn(kind).declaration, level=view.level)
    return [law for law in laws_of(declared) if view.keeps(law)]


GATE = View("gate", "all laws, level 3", 3, {EXPERT: 1.0, ROW: 1.0})
MODEL_FREE = View(
    "free", "without lockstep, level 3", 3, {EXPERT: 0.9, ROW: 0.4}, _without_lockstep
)
VIEWS = (
    GATE,
    View("L2", "all laws, level 2", 2, {EXPERT: 0.95, ROW: 0.95}),
    View("L1", "all laws, level 1", 1, {EXPERT: 0.95, ROW: 0.9}),
    View("L0", "all laws, counters alone", 0, {EXPERT: 0.85, ROW: 0.8}),
    View("hash", "own hash, level 1", 1, {ROW: 0.3}, _without_hash),
    MODEL_FREE,
)
