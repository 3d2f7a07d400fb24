"""Which laws catch which bug? Every law but lockstep on every bug, each at its own observation level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context

from fixtures.seeded_bugs import BUGS
from fixtures.seeded_bugs.registry import SeededBug
from gate.connect.implementation import Failure
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS, LOCKSTEP, Judge, laws_of
from gate.power.cases import DERANDOMIZED, TriedCase, cases, censuses
from gate.power.seeded import SeededCache
from gate.power.trial import Trial
from gate.show import Progress
from reference import row_statistics
from reference.laws import ROW, SHARED_PLACEMENT, SHARED_SETS, Law
from reference.program_text import parse
from reference.run import run

MOST_CASES = 44
"""Cases of the derandomized run a law is tried on beside the bug's own witness, the long ones left out."""

COUNTED_IN_A_CENSUS = ("row_sets",)
"""The families of bugs that are tried on a census as well: it takes a second, and tells only how rows spread."""

LEVELS = (0, 1, 2, 3)
LAWS: tuple[Law, ...] = (
    EVERY_OPERATION_ANSWERS,
    *(law for law in ALL_LAWS if law.id not in LOCKSTEP),
)

KEPT = {
    "budget/legal": "the proposal's own words; budget/as-requested knows each request and sees all that it sees",
    "runs/same-again": "what cannot be repeated cannot be shrunk or replayed; other laws see that by luck",
    "row-runs/same-again": "the same of the row cache",
}
"""Laws that are never the only catcher, and why they stay."""

Catchers = dict[bool, frozenset[str]]
"""The laws that catch a bug, where the gate shares its hash (False) and where the hash is its own (True)."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Law by bug.

    Args:
        catches: bug to the laws that catch it.
    """

    catches: dict[str, Catchers]

    def bugs_of(self, law_id: str) -> list[str]:
        """The bugs a law catches."""
        return sorted(bug for bug, laws in self.catches.items() if law_id in laws[False])

    def only_catcher_of(self, law_id: str) -> list[tuple[str, str]]:
        """The bugs that only this law catches, with the first place where: a level, `own` with its own hash."""
        found = []
        for bug in sorted(self.catches):
            where = next((at for at, laws in self._seen(bug) if laws == [law_id]), None)
            if where is not None:
                found.append((bug, where))
        return found

    def _seen(self, bug: str) -> Iterator[tuple[str, list[str]]]:
        """The laws that catch a bug at each level, with a shared hash and with its own."""
        for own_hash, laws in self.catches[bug].items():
            for level in LEVELS:
                seen = [law.id for law in LAWS if law.id in laws and law.level <= level]
                yield f"L{level}{' own' if own_hash else ''}", seen


def matrix(bugs: Iterable[str], workers: int) -> Matrix:
    """Try every law on every bug."""
    chosen = list(bugs)
    progress = Progress("bugs on every law", len(chosen))
    if workers < 2:
        catches = _gathered(map(catchers, chosen), progress)
    else:
        with get_context("fork").Pool(workers) as pool:
            catches = _gathered(pool.imap(catchers, chosen, chunksize=4), progress)
    progress.close()
    return Matrix(catches)


def _gathered(results: Iterable[tuple[str, Catchers]], progress: Progress) -> dict[str, Catchers]:
    catches = {}
    for bug, laws in results:
        catches[bug] = laws
        progress.step()
    return catches


def catchers(bug_id: str, most_cases: int = MOST_CASES) -> tuple[str, Catchers]:
    """The laws that catch one bug, each at its own level."""
    bug = BUGS[bug_id]
    laws = [law for law in laws_of(SeededCache(bug).declaration) if law.id not in LOCKSTEP]
    placed = [law for law in laws if needs_places(law)]
    shared, own = Catching(laws), Catching(placed if bug.cache == ROW else [])
    for number, case in enumerate(_tried(bug, most_cases), 1):
        trial = Trial.of(SeededCache(bug), case, number)
        shared.take(trial)
        if own.waiting:
            own.take(trial.with_own_hash(case))
    shared.caught |= _catchers_by_chance(bug)
    own.caught |= shared.caught.difference(law.id for law in placed)
    return bug_id, {False: frozenset(shared.caught), True: frozenset(own.caught)}


def _catchers_by_chance(bug: SeededBug) -> set[str]:
    by_chance = Catching(row_statistics.LAWS.laws)
    for case in censuses() if bug.family in COUNTED_IN_A_CENSUS else ():
        by_chance.take(Trial.of(SeededCache(bug), case, number=1))
    return by_chance.caught


def _tried(bug: SeededBug, most_cases: int) -> list[TriedCase]:
    """Its witness, and the cases that are not long."""
    witness = parse(bug.witness)
    made = [
        TriedCase("witness", witness, 0.0, run(witness)),
        *cases(bug.cache, bug.rules, DERANDOMIZED),
    ]
    return [case for case in made if not case.is_long][: most_cases + 1]


def needs_places(law: Law) -> bool:
    """Does a law know where a row may sit?"""
    needed = {what for alternative in law.needs for what in alternative}
    return not needed.isdisjoint((SHARED_SETS, SHARED_PLACEMENT))


@dataclass(slots=True)
class Catching:
    """Laws that are tried on a bug, and those that caught it so far."""

    waiting: list[Law]
    caught: set[str] = field(default_factory=set)

    def take(self, trial: Trial) -> None:
        """Try the laws that wait on one program."""
        try:
            self.caught |= {law.id for law in self.waiting if _breaks(trial, law)}
        except Failure:
            self.caught.add(EVERY_OPERATION_ANSWERS.id)
        self.waiting = [law for law in self.waiting if law.id not in self.caught]


def _breaks(trial: Trial, law: Law) -> bool:
    """With a hash of its own, what only the hash did does not count."""
    seeded = trial.seeded
    if not trial.breaks(law, law.level):
        return False
    judge = Judge(SeededCache(seeded.bug, law.level, seeded.own_hash), [law])
    return not seeded.own_hash or judge.breaks(trial.program, law) is not None
