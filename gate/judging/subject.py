"""What is under test: an implementation with its connect string and its known deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gate.connect.capabilities import can_run
from gate.connect.fitting import fit
from gate.connect.implementation import Declaration, Implementation
from gate.judging.deviations import Deviation
from gate.judging.judge import EVERY_OPERATION_ANSWERS, Fault, Judge, laws_of
from gate.judging.shrink import MAX_TRIALS, shrink
from reference.laws import Law
from reference.program import Program

MAX_TRIALS_OF_A_HANG = 8
"""Runs a shrink may take where each costs a deadline."""


@dataclass(slots=True)
class Subject:
    """An implementation under test.

    Attributes:
        connect: the connect string it was named by.
        implementation: what runs programs.
        deviations: the known ones that match it.
    """

    connect: str
    implementation: Implementation
    deviations: Sequence[Deviation] = field(default_factory=tuple)

    @property
    def declared(self) -> Declaration:
        """What it declares, less what is tried by witnesses alone."""
        declared = self.implementation.declaration
        avoided = {deviation.avoid for deviation in self.deviations}
        return replace(declared, capabilities=declared.capabilities - avoided)

    def judge(self) -> Judge:
        """A judge with every law it can be held to."""
        excused = {law for d in self.deviations if not d.avoid for law in d.laws}
        declared = self.implementation.declaration
        laws = [law for law in laws_of(declared) if law.id not in excused]
        return Judge(self.implementation, laws)

    def fitted(self, program: Program, *, injected: bool = True) -> Program | None:
        """The program as it can be given to it; None when it cannot. Without `injected`, rows go by its own hash."""
        declared = self.declared
        if not injected:
            kept = declared.capabilities - {"injected-placement"}
            declared = replace(declared, capabilities=kept)
        fitted = fit(program, declared)
        return None if can_run(declared, fitted) else fitted

    def smallest(self, judge: Judge, fault: Fault) -> Fault:
        """The same fault on a program that no longer shrinks."""
        law = fault.law
        trials = MAX_TRIALS_OF_A_HANG if fault.verdict == "hang" else MAX_TRIALS

        def fails(program: Program) -> bool:
            fitted = self.fitted(program)
            return fitted is not None and judge.breaks(fitted, law) is not None

        small = shrink(fault.program, fails, trials)
        small = (
            self.fitted(small) or small
        )  # what was run: with the places that a hash of its own needs
        if law is EVERY_OPERATION_ANSWERS:
            return replace(fault, program=small)
        return Judge(self.implementation, [law]).judge(small) or fault

    def still_deviates(self, deviation: Deviation) -> bool:
        """Does the witness of a deviation still break one of its laws?"""
        declared = self.implementation.declaration
        laws: list[Law] = [
            law for law in (EVERY_OPERATION_ANSWERS, *laws_of(declared)) if law.id in deviation.laws
        ]
        judge = Judge(self.implementation, laws)
        return any(judge.breaks(deviation.witness, law) for law in laws)
