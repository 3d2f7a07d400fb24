"""From where are the bugs looked at? Each observation level, and without what shares the reference's hash or model."""

from __future__ import annotations

from dataclasses import dataclass, field

from fixtures.seeded_bugs.registry import SeededBug
from gate.judging.judge import Judge, laws_of
from gate.power.seeded import SeededCache
from reference.laws import EXPERT, ROW

LOCKSTEP = ("lockstep/reference", "row-lockstep/reference")


@dataclass(frozen=True, slots=True)
class View:
    """One way of looking at an implementation.

    Args:
        id: as printed.
        title: in a few words.
        level: the observation level.
        floors: by cache, the least share of its bugs that must be caught in every run.
        lockstep: the reference is run beside it.
        own_hash: a row cache places its rows in a way the gate does not know.
        cases: on how many cases a bug is tried.
    """

    id: str
    title: str
    level: int
    floors: dict[str, float] = field(hash=False)
    lockstep: bool = True
    own_hash: bool = False
    cases: int = 60

    def judge(self, bug: SeededBug) -> Judge:
        """A judge of one bug with the laws of this view."""
        seeded = SeededCache(bug, self.level, self.own_hash)
        laws = laws_of(seeded.declaration)
        return Judge(seeded, [law for law in laws if self.lockstep or law.id not in LOCKSTEP])


GATE = View("gate", "all laws, level 3", 3, {EXPERT: 1.0, ROW: 1.0})
VIEWS = (
    GATE,
    View("L2", "all laws, level 2", 2, {EXPERT: 0.95, ROW: 0.9}),
    View("L1", "all laws, level 1", 1, {EXPERT: 0.95, ROW: 0.9}),
    View("L0", "all laws, counters alone", 0, {EXPERT: 0.8, ROW: 0.75}),
    View("hash", "own hash, level 1", 1, {ROW: 0.3}, own_hash=True, cases=40),
    View(
        "free", "without lockstep, level 3", 3, {EXPERT: 0.9, ROW: 0.4}, lockstep=False, cases=100
    ),
)
