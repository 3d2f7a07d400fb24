"""From where are the bugs looked at? Each observation level, and without what shares the reference's hash or model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from fixtures.seeded_bugs.registry import SeededBug
from gate.judging.judge import LOCKSTEP, Judge, laws_of
from gate.power.seeded import SeededCache
from gate.power.trial import Trial
from reference.laws import EXPERT, ROW, Law


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

    def seeded(self, bug: SeededBug) -> SeededCache:
        """A bug as it is looked at."""
        return SeededCache(bug, self.level, self.own_hash)

    def first_broken(self, trial: Trial) -> str | None:
        """The first law that a bug breaks on a program when it is looked at from here; None where none does."""
        bug = trial.seeded.bug
        laws = laws_from(self, bug)
        broken = trial.first_broken(laws, self.level)
        if broken is None or not self.own_hash:
            return broken
        fault = Judge(self.seeded(bug), laws).judge(
            trial.program
        )  # it knows what only the hash did
        return fault.law.id if fault else None


@lru_cache(maxsize=1024)
def laws_from(view: View, bug: SeededBug) -> tuple[Law, ...]:
    """The laws that a bug is held to."""
    laws = laws_of(view.seeded(bug).declaration)
    return tuple(law for law in laws if view.lockstep or law.id not in LOCKSTEP)


GATE = View("gate", "all laws, level 3", 3, {EXPERT: 1.0, ROW: 1.0})
VIEWS = (
    GATE,
    View("L2", "all laws, level 2", 2, {EXPERT: 0.95, ROW: 0.9}),
    View("L1", "all laws, level 1", 1, {EXPERT: 0.95, ROW: 0.9}),
    View("L0", "all laws, counters alone", 0, {EXPERT: 0.8, ROW: 0.75}),
    View("hash", "own hash, level 1", 1, {ROW: 0.3}, own_hash=True, cases=24),
    View(
        "free", "without lockstep, level 3", 3, {EXPERT: 0.9, ROW: 0.4}, lockstep=False, cases=100
    ),
)
