"""What is under test: an implementation with its connect string and its known deviations."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from gate.connect.capabilities import can_run
from gate.connect.fitting import fit
from gate.connect.implementation import HANG, Declaration, Implementation
from gate.judging.deviations import Deviation
from gate.judging.judge import EVERY_OPERATION_ANSWERS, Fault, Judge, lacks, laws_of
from gate.judging.kind import Kind, kind_of
from gate.judging.shrink import MAX_TRIALS, shrink
from gate.judging.verdict import MAX_OPERATIONS
from reference.laws import Law
from reference.program import Program

MAX_TRIALS_OF_A_HANG = 8
"""Runs a shrink may take where each costs a deadline."""

MAX_TRIALS_WHEN_LONG = 60
"""The same where each run costs half a second (fixtures/long_programs.py, which are small as they are)."""


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
        """The same fault on a program that no longer shrinks; of the same kind, where such a program is small."""
        trials = MAX_TRIALS_WHEN_LONG if fault.program.is_long else MAX_TRIALS
        trials = MAX_TRIALS_OF_A_HANG if fault.verdict == HANG else trials
        alike = self._shrunk(judge, fault, trials, {kind_of(fault)})
        is_small = len(alike.program.operations) <= MAX_OPERATIONS
        return alike if is_small else self._shrunk(judge, alike, trials, None)

    def _shrunk(
        self, judge: Judge, fault: Fault, trials: int, kinds: Container[Kind] | None
    ) -> Fault:
        """The last fault that shrinking met; its program is as it was run, with the places an own hash needs."""
        smallest = fault

        def fails(program: Program) -> bool:
            nonlocal smallest
            fitted = self.fitted(program)
            found = judge.fault_of(fitted, fault.law) if fitted is not None else None
            if found is None or (kinds is not None and kind_of(found) not in kinds):
                return False
            smallest = found
            return True

        shrink(fault.program, fails, trials)
        return smallest

    def skipped(self) -> dict[str, str]:
        """The laws of its cache that are not judged on it, and why."""
        declared = self.implementation.declaration
        why = {
            law: f"known deviation {d.id}" for d in self.deviations if not d.avoid for law in d.laws
        }
        for avoiding in (d for d in self.deviations if d.avoid):
            without = replace(declared, capabilities=declared.capabilities - {avoiding.avoid})
            why |= dict.fromkeys(lacks(without), f"known deviation {avoiding.id}")
        return why | lacks(declared)

    def still_deviates(self, deviation: Deviation) -> bool:
        """Does the witness of a deviation still break one of its laws?"""
        declared = self.implementation.declaration
        laws: list[Law] = [
            law for law in (EVERY_OPERATION_ANSWERS, *laws_of(declared)) if law.id in deviation.laws
        ]
        judge = Judge(self.implementation, laws)
        return any(judge.breaks(deviation.witness, law) for law in laws)
