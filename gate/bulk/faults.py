"""How does a fault of very many programs travel between processes, become small, and get told once a law?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gate.bulk.engine_laws import ENGINE_LAWS, engines_for
from gate.bulk.work import Judged, opened
from gate.connect.implementation import Declaration
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS, Fault, Judge
from gate.judging.subject import Subject
from gate.judging.verdict import failure_text, write_counterexample
from reference.laws import Law

LAWS = {law.id: law for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS, *ENGINE_LAWS.values())}


def plain(fault: Fault) -> Fault:
    """The fault without the function in its law, which cannot be sent to another process."""
    law = fault.law
    return replace(fault, law=Law(law.id, law.sentence, law.cache, law.level, _no_findings))


def _no_findings(case: object) -> tuple[()]:
    return ()


def is_of_engines(fault: Fault) -> bool:
    """Is it a fault of replay/, not of the implementation?"""
    return fault.law.id in {law.id for law in ENGINE_LAWS.values()}


@dataclass(frozen=True, slots=True)
class Smaller:
    """Shrinks a fault, as a unit of work."""

    connect: str
    cache: str
    fault: Fault

    def judge(self) -> Judged:
        """The same fault on a program that no longer shrinks."""
        law = LAWS[self.fault.law.id]
        subject = self._subject()
        judge = Judge(subject.implementation, [law])
        return Judged(fault=plain(subject.smallest(judge, replace(self.fault, law=law))))

    def _subject(self) -> Subject:
        if is_of_engines(self.fault):
            return engines_for(self.fault.program)
        return opened(self.connect, self.cache)


class Found:
    """The faults of one thing under test: of each law one is written at once, shrunk, written again and told.

    Args:
        connect, cache, declared: what is under test.
        folder: where programs are written.
    """

    def __init__(self, connect: str, cache: str, declared: Declaration, folder: Path) -> None:
        self.connect, self.cache, self.declared = connect, cache, declared
        self.folder = folder
        self.laws: set[str] = set()
        self._untold: dict[str, tuple[Fault, Path]] = {}

    def meet(self, fault: Fault) -> Smaller | None:
        """Take a fault; of a law that broke for the first time it is written, and gives the work of shrinking it."""
        if fault.law.id in self.laws:
            return None
        self.laws.add(fault.law.id)
        self._untold[fault.law.id] = fault, self._written(fault)
        return Smaller(self.connect, self.cache, fault)

    def tell(self, small: Fault) -> None:
        """Take the shrunk fault: its program replaces the one that was written, and it is told."""
        _, file = self._untold.pop(small.law.id)
        smaller = self._written(small)
        if smaller != file:
            file.unlink(missing_ok=True)
        self._print(small, smaller)

    def tell_untold(self) -> None:
        """Tell what nobody had the time to shrink."""
        for fault, file in self._untold.values():
            self._print(fault, file)
        self._untold.clear()

    def _written(self, fault: Fault) -> Path:
        return write_counterexample(fault, self._owner(fault)[0], self.folder)

    def _print(self, fault: Fault, file: Path) -> None:
        print(failure_text(fault, *self._owner(fault), file), flush=True)

    def _owner(self, fault: Fault) -> tuple[Declaration, str]:
        """Whose fault it is, and how that is connected."""
        if is_of_engines(fault):
            subject = engines_for(fault.program)
            return subject.declared, subject.connect
        return self.declared, self.connect
