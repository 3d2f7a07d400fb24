"""What does one bug do on one program? Run once, so that laws that cannot see a difference are not asked.

A law is a statement about a program and its outcome, and the reference keeps every law (`score.false_alarms` looks): so
on a program where the bug answers as the reference does, only a law that relates several runs can still break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.connect.implementation import Failure
from gate.power.cases import TriedCase
from gate.power.seeded import SeededCache
from reference import expert_relations, row_relations
from reference.laws import Case, Law

RELATIONS = frozenset(law.id for law in (*expert_relations.LAWS.laws, *row_relations.LAWS.laws))
"""Laws that may run the implementation again, on another program."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One bug on one program.

    Args:
        seeded: the bug, at some level.
        case: the program.
        differs: its answers are not the reference's, or it crashed.
    """

    seeded: SeededCache
    case: TriedCase
    differs: bool

    @classmethod
    def of(cls, seeded: SeededCache, case: TriedCase) -> Trial:
        """Run the bug once."""
        try:
            return cls(seeded, case, seeded.run(case.program) != case.expected)
        except Failure:
            return cls(seeded, case, differs=True)

    def may_break(self, law: Law) -> bool:
        """Can this law break here?"""
        return self.differs or law.id in RELATIONS

    def breaks_any(self, laws: Sequence[Law]) -> bool:
        """Does a law that relates several runs break where the bug's own answers are right? (Not called otherwise.)"""
        run = self.seeded.run
        case = Case.of(self.case.program, self.case.expected, run)
        return any(any(law.judge(case)) for law in laws if law.id in RELATIONS)
