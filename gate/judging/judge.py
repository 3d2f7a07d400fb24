"""Does an implementation keep the laws on a program? One judgement a program, with every law that applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gate.connect.implementation import Declaration, Failure, Implementation
from gate.connect.offers import offers_of
from gate.judging.own_hash import namings_needed, renamed
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
from reference.laws import Broken, Case, Finding, Law, missing
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

LOCKSTEP = ("lockstep/reference", "row-lockstep/reference")
"""The laws that run the reference beside the implementation."""


def laws_of(declared: Declaration) -> list[Law]:
    """The laws that an implementation can be held to: of its cache, seen at its level, with what they need."""
    lacking = lacks(declared)
    return [law for law in ALL_LAWS if law.cache == declared.cache and law.id not in lacking]


def lacks(declared: Declaration) -> dict[str, str]:
    """The laws of its cache that an implementation cannot be held to, and what they need that it does not offer."""
    offers = offers_of(declared)
    found = {}
    for law in ALL_LAWS:
        above = f"needs level {law.level}" if law.level > declared.level else ""
        why = above or missing(law.needs, offers)
        if law.cache == declared.cache and why:
            found[law.id] = why
    return found


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
            return _unanswered(program, failure)

    def fault_of(self, program: Program, law: Law) -> Fault | None:
        """Where a program breaks one law, if it does; nothing is counted."""
        try:
            case = Case.of(program, self._run(program), self._run)
            if law is EVERY_OPERATION_ANSWERS:
                self._run(
                    Program(program.config, ())
                )  # is it still there when the program is done?
            broken = next((finding for finding in self._findings(law, case) if finding), None)
            return Fault(law, "fail", program, broken) if broken else None
        except Failure as failure:
            return _unanswered(program, failure) if law is EVERY_OPERATION_ANSWERS else None

    def breaks(self, program: Program, law: Law) -> Broken | None:
        """The same without its verdict."""
        fault = self.fault_of(program, law)
        return fault.broken if fault else None

    def _run(self, program: Program) -> Outcome:
        """The outcome; a failure says which program it is charged to, as laws run others beside the judged one."""
        try:
            return self.implementation.run(program)
        except Failure as failure:
            raise Failure(failure.verdict, failure.detail, failure.program or program) from failure

    def _first_fault(self, law: Law, case: Case) -> Fault | None:
        for finding in self._findings(law, case):
            self.checks[law.id] += 1
            if finding is not None:
                return Fault(law, "fail", case.program, finding)
        return None

    def _findings(self, law: Law, case: Case) -> Iterator[Finding]:
        """What a law finds; of a cache whose hash is its own, what does not hang on it."""
        if law.again and case.program.is_long:
            return
        known = self.implementation.declaration.places_are_known
        namings = 0 if known else namings_needed(law, case)
        if namings is None:
            return
        for finding in law.judge(case):
            if finding and not all(self._breaks_renamed(law, case, n) for n in range(namings)):
                return
            yield finding

    def _breaks_renamed(self, law: Law, case: Case, naming: int) -> bool:
        program = renamed(case.program, naming)
        return any(law.judge(Case.of(program, self._run(program), self._run)))


def _unanswered(program: Program, failure: Failure) -> Fault:
    broken = Broken(0, "an answer to every operation", failure.detail)
    charged = failure.program or program
    return Fault(EVERY_OPERATION_ANSWERS, failure.verdict, charged, broken)
