"""Does an implementation keep the laws on a program? One judgement a program, with every law that applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gate.connect.implementation import Declaration, Failure, Implementation
from reference import (
    expert_answer_laws,
    expert_counter_laws,
    expert_dropping_laws,
    expert_order_laws,
    expert_relations,
    expert_speculation_laws,
    row_admission_laws,
    row_answer_laws,
    row_counter_laws,
    row_placement_laws,
    row_relations,
    row_statistics,
)
from reference.laws import Broken, Case, Law
from reference.program import Outcome, Program

EVERY_OPERATION_ANSWERS = Law(
    "answers/every-operation",
    "Every operation of a legal program is answered: no crash, no hang, no garbage.",
    "",
    0,
    lambda case: (),
)

ALL_LAWS: tuple[Law, ...] = (
    *expert_counter_laws.LAWS.laws,
    *expert_answer_laws.LAWS.laws,
    *expert_order_laws.LAWS.laws,
    *expert_speculation_laws.LAWS.laws,
    *expert_dropping_laws.LAWS.laws,
    *expert_relations.LAWS.laws,
    *row_counter_laws.LAWS.laws,
    *row_answer_laws.LAWS.laws,
    *row_placement_laws.LAWS.laws,
    *row_admission_laws.LAWS.laws,
    *row_relations.LAWS.laws,
    *row_statistics.LAWS.laws,
)


def laws_of(declared: Declaration) -> list[Law]:
    """The laws that an implementation can be held to: of its cache, seen at its level, with what they need."""
    return [
        law
        for law in ALL_LAWS
        if law.cache == declared.cache
        and law.level <= declared.level
        and (not law.needs or law.needs in declared.offers)
    ]


@dataclass(frozen=True, slots=True)
class Fault:
    """A law that does not hold on a program.

    `verdict` is fail, crash, hang or garbage.
    """

    law: Law
    verdict: str
    program: Program
    broken: Broken


@dataclass(slots=True)
class Judge:
    """Runs programs on one implementation and judges them.

    Attributes:
        checks: how often each law was checked, by its id; a law that is not in it was never exercised.
        programs: how many programs were judged.
    """

    implementation: Implementation
    laws: Sequence[Law]
    checks: Counter[str] = field(default_factory=Counter)
    programs: int = 0

    @classmethod
    def of(cls, implementation: Implementation) -> Judge:
        """The judge with all laws that the implementation's level can see."""
        declared = implementation.declaration
        return cls(implementation, laws_of(declared))

    def judge(self, program: Program) -> Fault | None:
        """The first law that does not hold, or None."""
        self.programs += 1
        try:
            self.checks[EVERY_OPERATION_ANSWERS.id] += 1
            case = Case.of(program, self._run(program), self._run)
            return next(
                (fault for law in self.laws if (fault := self._first_fault(law, case))), None
            )
        except Failure as failure:
            broken = Broken(0, "an answer to every operation", failure.detail)
            return Fault(EVERY_OPERATION_ANSWERS, failure.verdict, program, broken)

    def breaks(self, program: Program, law: Law) -> Broken | None:
        """Where a program breaks one law, if it does; nothing is counted."""
        try:
            case = Case.of(program, self._run(program), self._run)
            return next((finding for finding in law.judge(case) if finding), None)
        except Failure as failure:
            if law is EVERY_OPERATION_ANSWERS:
                return Broken(0, "an answer to every operation", failure.detail)
            return None

    def _run(self, program: Program) -> Outcome:
        return self.implementation.run(program)

    def _first_fault(self, law: Law, case: Case) -> Fault | None:
        for finding in law.judge(case):
            self.checks[law.id] += 1
            if finding is not None:
                return Fault(law, "fail", case.program, finding)
        return None
