"""What does one bug do on one program? Run once, so that laws that cannot see a difference are not asked.

A law is a statement about a program and its outcome, and the reference keeps every law (`score.false_alarms` looks): so
where what a law can see is as the reference's, only a law that relates several runs can still break.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gate.connect.implementation import Failure, at_level
from gate.judging.judge import EVERY_OPERATION_ANSWERS
from gate.power.cases import TriedCase
from gate.power.seeded import TOP, SeededCache
from reference.laws import Case, Law
from reference.program import Answer, Outcome, Program

NOWHERE = TOP + 1
"""Above every level: where answers that do not differ are seen to differ."""

RELATED_CASES = 10
"""How many cases of a run are tried with laws that run the bug again although it shows nowhere."""


@dataclass(slots=True)
class Trial:
    """One bug on one program.

    Args:
        seeded: the bug, at the highest level it is looked at.
        program: the program.
        outcome: what the bug answers, or how it failed to.
        differs_at: the lowest level at which that is not what the reference answers; NOWHERE if at none.
        relate: laws that relate several runs are judged even where it differs nowhere.
    """

    seeded: SeededCache
    program: Program
    outcome: Outcome | Failure
    differs_at: int
    relate: bool = True
    _cases: dict[int, Case] = field(default_factory=dict)
    _related: dict[str, Related] = field(default_factory=dict)

    @classmethod
    def of(cls, seeded: SeededCache, case: TriedCase, number: int) -> Trial:
        """Run the bug once, on the so manieth case of a run."""
        try:
            outcome = seeded.run(case.program)
        except Failure as failure:
            return cls(seeded, case.program, failure, 0)
        relate = number <= RELATED_CASES and not case.is_long
        return cls(seeded, case.program, outcome, _differs_at(outcome, case.expected), relate)

    def with_own_hash(self, case: TriedCase) -> Trial:
        """The same where the bug places rows by a hash of its own, which laws that relate several runs do not see."""
        seeded = SeededCache(self.seeded.bug, own_hash=True)
        if case.own_hash is None:
            return replace(self, seeded=seeded)
        return Trial.of(seeded, case.own_hash, number=RELATED_CASES + 1)

    def first_broken(self, laws: Iterable[Law], level: int) -> str | None:
        """The first law that breaks, as seen from a level; None where none does."""
        try:
            return next((law.id for law in laws if self.breaks(law, level)), None)
        except Failure:
            return EVERY_OPERATION_ANSWERS.id

    def breaks(self, law: Law, level: int) -> bool:
        """Does a law break, as seen from a level?

        Raises:
            Failure: the bug does not answer, on this program or on another that the law runs.
        """
        case = self._case(level)
        if not law.again:
            return self.differs_at <= level and any(law.judge(case))
        if self.differs_at == NOWHERE and not self.relate:
            return False
        if law.id not in self._related:
            self._related[law.id] = Related.of(law, self.seeded, self._case(TOP))
        return self._related[law.id].breaks(law, case)

    def _case(self, level: int) -> Case:
        if isinstance(self.outcome, Failure):
            raise self.outcome
        if level not in self._cases:
            whole = next(iter(self._cases.values()), None)
            whole = whole or Case.of(self.program, self.outcome, self.seeded.run)
            self._cases[level] = replace(whole, outcome=at_level(self.outcome, level))
        return self._cases[level]


@dataclass(slots=True)
class Related:
    """A law that relates several runs: what it came to where everything is seen, and the runs it made for that.

    What does not break there is not asked again from below; what does is judged by the same runs.
    """

    seeded: SeededCache
    broken: bool = False
    runs: list[Outcome] = field(default_factory=list)

    @classmethod
    def of(cls, law: Law, seeded: SeededCache, case: Case) -> Related:
        """Judge it where everything is seen."""
        made = cls(seeded)
        made.broken = any(law.judge(replace(case, run=made._run)))
        return made

    def _run(self, program: Program) -> Outcome:
        self.runs.append(self.seeded.run(program))
        return self.runs[-1]

    def breaks(self, law: Law, case: Case) -> bool:
        """Does it break on the same case as seen from another level?"""
        level, runs = case.outcome.level, iter(self.runs)

        def run(program: Program) -> Outcome:
            return at_level(next(runs, None) or self.seeded.run(program), level)

        return self.broken and (level == TOP or any(law.judge(replace(case, run=run))))


def _differs_at(outcome: Outcome, expected: Outcome) -> int:
    """The lowest level at which two outcomes of a program differ."""
    pairs = zip(
        (outcome.opened, *outcome.answers), (expected.opened, *expected.answers), strict=True
    )
    return min((_lowest(got, right) for got, right in pairs if got != right), default=NOWHERE)


def _lowest(got: Answer, right: Answer) -> int:
    return next(
        level
        for level in range(NOWHERE)
        if at_level(Outcome(got, ()), level) != at_level(Outcome(right, ()), level)
    )
