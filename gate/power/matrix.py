"""Which laws catch which bug? Every law but lockstep on every bug, each at its own observation level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context

from fixtures.seeded_bugs import BUGS
from gate.connect.implementation import Failure
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS
from gate.power.cases import DERANDOMIZED, cases
from gate.power.seeded import SeededCache
from gate.power.trial import Trial
from gate.power.views import LOCKSTEP
from gate.show import Progress
from reference.laws import Case, Law
from reference.program import Program

MOST_CASES = 40
"""Cases of the derandomized run a law is tried on."""

LEVELS = (0, 1, 2, 3)
LAWS: tuple[Law, ...] = (
    EVERY_OPERATION_ANSWERS,
    *(law for law in ALL_LAWS if law.id not in LOCKSTEP),
)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Law by bug.

    Args:
        catches: bug to the laws that catch it.
    """

    catches: dict[str, frozenset[str]]

    def bugs_of(self, law_id: str) -> list[str]:
        """The bugs a law catches."""
        return sorted(bug for bug, laws in self.catches.items() if law_id in laws)

    def only_catcher_of(self, law_id: str) -> list[tuple[str, int]]:
        """The bugs that at some level only this law catches, with the lowest such level."""
        found = []
        for bug in self.bugs_of(law_id):
            seen = [law for law in LAWS if law.id in self.catches[bug]]
            alone = (
                level
                for level in LEVELS
                if [law.id for law in seen if law.level <= level] == [law_id]
            )
            level = next(alone, None)
            if level is not None:
                found.append((bug, level))
        return found


def matrix(bugs: Iterable[str], workers: int) -> Matrix:
    """Try every law on every bug."""
    chosen = list(bugs)
    progress = Progress("bugs on every law", len(chosen))
    catches = {}
    if workers < 2:
        results: Iterable[tuple[str, frozenset[str]]] = map(catchers, chosen)
        catches = _gathered(results, progress)
    else:
        with get_context("fork").Pool(workers) as pool:
            catches = _gathered(pool.imap(catchers, chosen, chunksize=4), progress)
    progress.close()
    return Matrix(catches)


def _gathered(
    results: Iterable[tuple[str, frozenset[str]]], progress: Progress
) -> dict[str, frozenset[str]]:
    catches = {}
    for bug, laws in results:
        catches[bug] = laws
        progress.step()
    return catches


def catchers(bug_id: str) -> tuple[str, frozenset[str]]:
    """The laws that catch one bug, each at its own level."""
    bug = BUGS[bug_id]
    at_levels = [SeededCache(bug, level) for level in LEVELS]
    waiting = [law for law in LAWS if law.cache == bug.cache]
    caught: set[str] = set()
    for case in cases(bug.cache, bug.rules, DERANDOMIZED)[:MOST_CASES]:
        trial = Trial.of(at_levels[-1], case)
        asked = [law for law in waiting if trial.may_break(law)]
        try:
            caught |= {law.id for law in asked if _breaks(at_levels, law, case.program)}
        except Failure:
            caught.add(EVERY_OPERATION_ANSWERS.id)
        waiting = [law for law in waiting if law.id not in caught]
    return bug_id, frozenset(caught)


def _breaks(at_levels: Sequence[SeededCache], law: Law, program: Program) -> bool:
    seeded = at_levels[law.level]
    case = Case.of(program, seeded.run(program), seeded.run)
    return any(law.judge(case))
