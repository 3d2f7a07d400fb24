"""On which programs is a bug tried? The ones the gate would draw, its families taken in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from random import Random

from hypothesis import given, seed, settings

from fixtures import expert_programs, row_programs
from fixtures.expert_tokens import token_program
from fixtures.long_programs import BITS, long_expert_program, long_row_program
from fixtures.profiles import FIND, SEEDS, register
from gate.connect.fitting import fit
from gate.power.seeded import TOP, declared
from reference.expert_config import Rules
from reference.laws import EXPERT, ROW
from reference.program import Outcome, Program
from reference.program_text import format_program, parse
from reference.row_config import RowCacheConfig
from reference.run import run

DERANDOMIZED = -1
"""The seed that stands for the derandomized run."""

MOST_CASES = 100
"""Cases a bug is tried on: none may need more."""


TOKENS = "tokens"
"""The family of fixtures/expert_tokens.py."""


LONG_AFTER = {EXPERT: 9, ROW: 7}
"""After so many programs of each family come the long ones: late, as every bug not caught by then pays for them."""


@dataclass(frozen=True, slots=True)
class TriedCase:
    """A program to try.

    Args:
        family: the family it was made from.
        program: the program.
        make_s: CPU-seconds that making it took.
        expected: what the reference answers to it.
        own_hash: the case for a row cache whose hash is its own; None where it is the same.
    """

    family: str
    program: Program
    make_s: float
    expected: Outcome
    own_hash: TriedCase | None = None

    @property
    def is_long(self) -> bool:
        """Does it hold a burst as long as 16 bits count?"""
        return self.program.is_long


@lru_cache(maxsize=4)
def draws(run_seed: int) -> tuple[int, ...]:
    """The seeds the tests of the gate draw in one run, as Hypothesis hands them to each family."""
    register()
    profile = settings.get_profile("gate")
    drawn: list[int] = []

    @settings(profile, derandomize=run_seed == DERANDOMIZED, phases=FIND)
    @given(SEEDS)
    def draw(number: int) -> None:
        drawn.append(number)

    (draw if run_seed == DERANDOMIZED else seed(run_seed)(draw))()
    return tuple(drawn)


@lru_cache(maxsize=16)
def cases(cache: str, rules: Rules, run_seed: int) -> tuple[TriedCase, ...]:
    """The first programs of a run of the gate on one kind of cache."""
    made = []
    draws(run_seed)
    start = time.process_time()
    for family, program in islice(programs(cache, rules, run_seed), MOST_CASES):
        make_s = time.process_time() - start
        made.append(_tried(TriedCase(family, program, make_s, _expected(program))))
        start = time.process_time()
    return tuple(made)


def _expected(program: Program) -> Outcome:
    """What the reference answers; to the long programs, which are those of every run, it is asked once."""
    return _expected_of(format_program(program)) if program.is_long else run(program)


@lru_cache(maxsize=16)
def _expected_of(text: str) -> Outcome:
    return run(parse(text))


def _tried(case: TriedCase) -> TriedCase:
    """The same with the program that a row cache gets whose hash is its own, where it is another."""
    if not isinstance(case.program.config, RowCacheConfig):
        return case
    program = fit(case.program, declared("", ROW, TOP, Rules(), own_hash=True))
    if program == case.program:
        return case
    return replace(case, own_hash=replace(case, program=program, expected=run(program)))


@lru_cache(maxsize=1)
def censuses() -> tuple[TriedCase, ...]:
    """The censuses of a run of the gate on a row cache."""
    made = [row_programs.census(Random(shape[-1]), *shape) for shape in row_programs.CENSUSES]
    return tuple(TriedCase("census", program, 0.0, run(program)) for program in made)


def programs(cache: str, rules: Rules, run_seed: int) -> Iterator[tuple[str, Program]]:
    """All programs of a run of the gate on one kind of cache, its families in turn, the long ones among them."""
    families, make = _families(cache, rules)
    for number, drawn in enumerate(draws(run_seed)):
        if number == LONG_AFTER[cache]:
            yield from _long_programs(cache, rules)
        for family in families:
            yield family, make(Random(drawn), family)


def _long_programs(cache: str, rules: Rules) -> Iterator[tuple[str, Program]]:
    for bits in sorted(BITS, reverse=True):
        if cache == EXPERT:
            yield "at length", long_expert_program(Random(bits), rules, bits)
        else:
            yield "at length", long_row_program(Random(bits), bits)


def _families(cache: str, rules: Rules) -> tuple[list[str], Callable[[Random, str], Program]]:
    if cache != EXPERT:
        return sorted(row_programs.FAMILIES), row_programs.row_program
    families = [*sorted(expert_programs.FAMILIES), TOKENS]
    if rules.failed_read == "resident":
        families.remove("failure")  # what the rule says of a failed read is a known deviation
    return families, partial(_expert_program, rules=rules)


def _expert_program(random: Random, family: str, rules: Rules) -> Program:
    if family == TOKENS:
        return token_program(random, rules)
    return expert_programs.expert_program(random, family, rules)
