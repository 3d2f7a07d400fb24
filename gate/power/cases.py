"""On which programs is a bug tried? The ones the gate would draw, its families taken in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from hypothesis import given, seed, settings

from fixtures import expert_programs, row_programs
from fixtures.profiles import FIND, SEEDS, register
from reference.expert_config import Rules
from reference.laws import EXPERT
from reference.program import Outcome, Program
from reference.run import run

DERANDOMIZED = -1
"""The seed that stands for the derandomized run."""

MOST_CASES = 100
"""Cases a bug is tried on: none may need more."""


@dataclass(frozen=True, slots=True)
class TriedCase:
    """A program to try.

    Args:
        family: the family it was made from.
        program: the program.
        make_s: CPU-seconds that making it took.
        expected: what the reference answers to it.
    """

    family: str
    program: Program
    make_s: float
    expected: Outcome


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
    families, make = _families(cache, rules)
    drawn = draws(run_seed)
    made = []
    for number in range(MOST_CASES):
        family, random = families[number % len(families)], Random(drawn[number // len(families)])
        start = time.process_time()
        program = make(random, family)
        make_s = time.process_time() - start
        made.append(TriedCase(family, program, make_s, run(program)))
    return tuple(made)


def _families(cache: str, rules: Rules) -> tuple[list[str], Callable[[Random, str], Program]]:
    if cache != EXPERT:
        return sorted(row_programs.FAMILIES), row_programs.row_program
    families = sorted(expert_programs.FAMILIES)
    if rules.failed_read == "resident":
        families.remove("failure")  # what the rule says of a failed read is a known deviation
    return families, lambda random, family: expert_programs.expert_program(random, family, rules)
