"""What is a law, and how is it judged? A statement about programs and their outcomes that every correct cache keeps.

A law needs no model of what the cache holds, unless it says so; it names the lowest observation level it needs. Judging
gives one finding a check, so a law that was never exercised can be told from one that held.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from reference.expert_config import ExpertConfig
from reference.program import Answer, Outcome, Program
from reference.row_timeline import RowStep, row_timeline
from reference.timeline import Step, timeline

EXPERT = "expert-cache"
ROW = "row-cache"

SHARED_SETS = "shared-sets"
"""What a law needs that knows where a row may sit: the program's hash, places it injects, or one set a table."""
SHARED_PLACEMENT = "shared-placement"
"""The same, and which cells of the sketch a row has."""
ONE_CANDIDATE = "candidate_sets=1"
NO_SETS, MANY_SETS, ANY_SETS = "sets=0", "sets>=100", "sets=any"
"""Tables without a set; of so many that chance evens out; of as many as a comparison takes."""
FEW_WAYS, ANY_WAYS = "ways<=4", "ways=any"
"""Sets that fill unevenly; sets as wide as a comparison takes."""

Needs = tuple[tuple[str, ...], ...]
"""What a law cannot be exercised without: of one of these alternatives everything; () is nothing.

Each is a capability (`pins`), a column (`column hits`), a level (`level 1`), a rule (`budget=cycles`) or a setting
(`admission=no`) of programs that it can be given, or one of the names above.
"""

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
        needs: what it cannot be exercised without, beside its level.
        again: it runs the implementation again, on this program or another; not where the program is long.
    """

    id: str
    sentence: str
    cache: str
    level: int
    judge: Judge
    needs: Needs = ()
    again: bool = False


class Registry:
    """The laws of one file, in the order they are written."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self.laws: list[Law] = []

    def law(
        self, law_id: str, level: int, needs: Needs = (), *, again: bool = False
    ) -> Callable[[Judge], Judge]:
        """Register the decorated judge; its docstring is the law's sentence."""

        def register(judge: Judge) -> Judge:
            sentence = " ".join((judge.__doc__ or "").split())
            self.laws.append(Law(law_id, sentence, self.cache, level, judge, needs, again))
            return judge

        return register


# --- what a law needs -----------------------------------------------------------------------------


def columns(*names: str) -> tuple[str, ...]:
    """These columns, as a law needs them."""
    return tuple(f"column {name}" for name in names)


def all_of(*what: str) -> Needs:
    """A law needs all of these."""
    return (what,)


def any_of(*alternatives: tuple[str, ...]) -> Needs:
    """A law needs one of these, whole."""
    return alternatives


def one_column(*names: str, also: tuple[str, ...] = ()) -> Needs:
    """A law needs one of these columns, and all that `also` names."""
    return tuple((*also, *columns(name)) for name in names)


def missing(needs: Needs, offers: Container[str]) -> str:
    """What is not offered, in one clause: of the alternative that lacks least. "" when nothing is missing."""
    lacks = [[what for what in alternative if what not in offers] for alternative in needs]
    least = min(lacks, key=len, default=[])
    return f"needs {', '.join(least)}" if least else ""


# --- findings -------------------------------------------------------------------------------------


def compare(step: int, what: str, expected: object, got: object) -> Finding:
    """None when equal, else what was expected and what came."""
    if expected == got:
        return None
    if isinstance(expected, Answer) and isinstance(got, Answer):
        return Broken(step, f"{what} {_told(expected, got)}", f"{what} {_told(got, expected)}")
    return Broken(step, f"{what} {shown(expected)}", f"{what} {shown(got)}")


def shown(value: object) -> str:
    """A value as it is written everywhere: entries as `layer:expert`, a row as `table:row`, an empty list as `none`."""
    if value is None or value in ([], (), {}, frozenset()):
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{shown(key)} {shown(each)}" for key, each in sorted(value.items()))
    if _is_pair(value):
        return ":".join(map(str, value))  # type: ignore[call-overload]
    if isinstance(value, list | tuple | frozenset) and value and all(map(_is_pair, value)):
        in_order = sorted(value) if isinstance(value, frozenset) else value
        return ",".join(map(shown, in_order))
    return str(value)


def _is_pair(value: object) -> bool:
    """Is it an entry, as (layer, expert) or (table, row)?"""
    return isinstance(value, tuple) and len(value) == 2 and all(type(n) is int for n in value)


def _told(answer: Answer, other: Answer) -> str:
    """What an answer says otherwise than another does."""
    said = [
        f"{name} {shown(value)}"
        for name, value in answer.counters.items()
        if other.counters.get(name) != value
    ]
    for field in fields(Answer):
        value = getattr(answer, field.name)
        if field.name != "counters" and value != getattr(other, field.name):
            said.append(
                f"{field.name} {hexadecimal(value) if field.name == 'digest' else shown(value)}"
            )
    return ", ".join(said)


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
