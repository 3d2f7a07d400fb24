"""How are programs judged one by one? An implementation beside the reference; the reference itself by all laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from fixtures import expert_programs, row_programs
from gate.bulk.faults import plain
from gate.bulk.work import Judged, opened
from gate.judging.judge import LOCKSTEP, Judge, laws_of
from gate.judging.subject import Subject
from reference.expert_config import Rules
from reference.laws import EXPERT, Law
from reference.program import Program, times


def is_reference(connect: str) -> bool:
    """Does a connect string name the reference itself?"""
    return connect.startswith("builtin")


def _any(program: Program, fitted: Program) -> bool:
    return True


def judge_programs(
    subject: Subject,
    programs: Iterable[Program],
    is_taken: Callable[[Program, Program], bool] = _any,
) -> Judged:
    """Judge programs as far as the first fault; `is_taken` says of a program and the same fitted whether it counts."""
    judge = Judge(subject.implementation, _laws(subject))
    skipped = 0
    for program in programs:
        fitted = subject.fitted(program)
        if fitted is None or not is_taken(program, fitted):
            skipped += 1
        elif (fault := judge.judge(fitted)) is not None:
            return Judged(judge.programs, skipped, fault=plain(fault))
    return Judged(judge.programs, skipped)


def _laws(subject: Subject) -> list[Law]:
    """That of the reference alone where there is one; nothing is to be seen of the reference beside itself."""
    laws = laws_of(subject.implementation.declaration)
    beside = [law for law in laws if law.id in LOCKSTEP]
    if is_reference(subject.connect):
        return [law for law in laws if law not in beside]
    return beside or laws


LONGEST = 2000
"""Operations a program may apply: the few that apply 2^16 cost as much as all others, and `check` tries them."""


@dataclass(frozen=True, slots=True)
class RandomPrograms:
    """Programs of the families that the laws are tried on, one a seed, the families in turn."""

    connect: str
    cache: str
    rules: Rules
    seed: int
    count: int

    def judge(self) -> Judged:
        """Judge them as far as the first fault."""
        return judge_programs(opened(self.connect, self.cache), self.programs())

    def programs(self) -> Iterator[Program]:
        """The programs, made one by one."""
        expert = self.cache == EXPERT
        families = sorted(expert_programs.FAMILIES if expert else row_programs.FAMILIES)
        if expert and self.rules.failed_read == "resident":
            families.remove("failure")
        for number in range(self.seed, self.seed + self.count):
            random, family = Random(number), families[number % len(families)]
            while _applied(program := self._drawn(random, family)) > LONGEST:
                pass
            yield program

    def _drawn(self, random: Random, family: str) -> Program:
        if self.cache == EXPERT:
            return expert_programs.expert_program(random, family, self.rules)
        return row_programs.row_program(random, family)


def _applied(program: Program) -> int:
    return sum(map(times, program.operations))
