"""What is a law, and how is it judged? A statement about programs and their outcomes that every correct cache keeps.

A law needs no model of what the cache holds, unless it says so; it names the lowest observation level it needs. Judging
gives one finding a check, so a law that was never exercised can be told from one that held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reference.expert_config import ExpertConfig
from reference.program import Answer, Outcome, Program
from reference.row_timeline import RowStep, row_timeline
from reference.timeline import Step, timeline

EXPERT = "expert-cache"
ROW = "row-cache"

SHARED_PLACEMENT = "shared-placement"
"""What a law needs that knows where a row may sit: the program's hash, or places injected by the program."""

Run = Callable[[Program], Outcome]
"""Runs a program on the implementation under judgement."""


@dataclass(frozen=True, slots=True)
class Broken:
    """One place where a law does not hold.

    Args:
        step: 1-based operation; 0 for the opening or the program as a whole.
        expected: what the law demands there.
        got: what the implementation said.
        program: the program it shows on, when that is not the one judged.
    """

    step: int
    expected: str
    got: str
    program: Program | None = None


Finding = Broken | None
"""One check: None when it held."""


@dataclass(frozen=True, slots=True)
class Case:
    """One program, its outcome on the implementation, and what is known about its steps.

    `steps` are those of a program of the expert cache, `row_steps` those of one of the row cache.
    """

    program: Program
    outcome: Outcome
    steps: Sequence[Step]
    run: Run
    row_steps: Sequence[RowStep] = ()

    @classmethod
    def of(cls, program: Program, outcome: Outcome, run: Run) -> Case:
        """The case of a program whose outcome is at hand."""
        if isinstance(program.config, ExpertConfig):
            return cls(program, outcome, timeline(program), run)
        return cls(program, outcome, (), run, row_timeline(program))

    def around(self) -> Iterator[tuple[Step, Answer, Answer]]:
        """Each step of an expert cache with the answers before and after it."""
        return _around(self.steps, self.outcome)

    def around_rows(self) -> Iterator[tuple[RowStep, Answer, Answer]]:
        """Each step of a row cache with the answers before and after it."""
        return _around(self.row_steps, self.outcome)


AnyStep = TypeVar("AnyStep")


def _around(steps: Sequence[AnyStep], outcome: Outcome) -> Iterator[tuple[AnyStep, Answer, Answer]]:
    before = outcome.opened
    for step, after in zip(steps, outcome.answers, strict=True):
        yield step, before, after
        before = after


Judge = Callable[[Case], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Law:
    """A law.

    Args:
        id: stable name, `family/what`.
        sentence: what it says, in one sentence.
        cache: EXPERT or ROW.
        level: lowest observation level: 0 counters, 1 results of operations, 2 resident set, 3 victim order.
        judge: yields one finding a check, and nothing where the law does not apply.
        needs: what it does not apply without: a capability, a rule as `budget=cycles`, SHARED_PLACEMENT; "" is none.
    """

    id: str
    sentence: str
    cache: str
    level: int
    judge: Judge
    needs: str = ""


class Registry:
    """The laws of one file, in the order they are written."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self.laws: list[Law] = []

    def law(self, law_id: str, level: int, needs: str = "") -> Callable[[Judge], Judge]:
        """Register the decorated judge; its docstring is the law's sentence."""

        def register(judge: Judge) -> Judge:
            sentence = " ".join((judge.__doc__ or "").split())
            self.laws.append(Law(law_id, sentence, self.cache, level, judge, needs))
            return judge

        return register


def compare(step: int, what: str, expected: object, got: object) -> Finding:
    """None when equal, else what was expected and what came."""
    if expected == got:
        return None
    return Broken(step, f"{what} {_shown(expected)}", f"{what} {_shown(got)}")


def _shown(value: object) -> str:
    return "none" if value in ([], None) else str(value)


def hexadecimal(digest: int | None) -> str | None:
    """A digest as it is written everywhere: 16 hexadecimal digits."""
    return None if digest is None else f"{digest:016x}"


def at_most(step: int, what: str, bound: int, got: int) -> Finding:
    """None when `got` does not exceed `bound`."""
    if got <= bound:
        return None
    return Broken(step, f"{what} at most {bound}", f"{what} {got}")


def offered(answer: Answer, *names: str) -> bool:
    """Does the answer hold all these counters?"""
    return all(name in answer.counters for name in names)


def grown(before: Answer, after: Answer, name: str) -> int:
    """How far a counter rose over one step."""
    return after.counters[name] - before.counters[name]
