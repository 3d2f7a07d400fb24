"""Every law, on programs of every family, on every implementation under test.

The implementations are those of --expert-cache and --row-cache, else the reference under each set of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import expert_programs
from gate.implementation import BUILT_IN_RULES, Implementation, connect
from gate.judge import EVERY_OPERATION_ANSWERS, Judge
from gate.recorder import Record
from gate.shrink import shrink
from gate.verdict import failure_text, write_counterexample
from reference.expert_config import ENGINE_RULES
from reference.laws import EXPERT
from reference.program import Program

SEEDS = st.integers(0, (1 << 64) - 1)
MAX_TRIALS_OF_A_HANG = 8

Expert = tuple[str, Implementation]


@pytest.fixture(scope="session")
def expert(request: pytest.FixtureRequest) -> Iterator[Expert]:
    """The expert cache under test, with its connect string."""
    implementation = connect(request.param, EXPERT)
    yield request.param, implementation
    implementation.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One case for each implementation and family."""
    named = metafunc.config.getoption("--expert-cache") or list(BUILT_IN_RULES)
    if "expert" in metafunc.fixturenames:
        metafunc.parametrize("expert", named, indirect=True, scope="session")


@pytest.mark.parametrize("family", sorted(expert_programs.FAMILIES))
def test_expert_cache(expert: Expert, family: str, record: Record, counterexamples: Path) -> None:
    """Every law of the expert cache holds on programs of this family."""
    rules = expert[1].declaration.rules
    if family == "failure" and rules == ENGINE_RULES:
        pytest.skip("the engine's rules keep a failed read resident with wrong bytes: a deviation")
    judge_all(
        expert,
        lambda random: expert_programs.expert_program(random, family, rules),
        record,
        counterexamples,
    )


def judge_all(
    connected: Expert,
    make: Callable[[Random], Program],
    record: Record,
    counterexamples: Path,
) -> None:
    """Judge the programs of as many seeds as the profile asks for; fails with the smallest program found."""
    text, implementation = connected
    judge = Judge.of(implementation)

    @given(SEEDS)
    def holds(seed: int) -> None:
        fault = judge.judge(make(Random(seed)))
        if fault is None:
            return
        law = fault.law
        trials = MAX_TRIALS_OF_A_HANG if fault.verdict == "hang" else 20_000
        small = shrink(fault.program, lambda p: judge.breaks(p, law) is not None, trials)
        if law is not EVERY_OPERATION_ANSWERS:
            fault = Judge(implementation, [law]).judge(small) or fault
        file = write_counterexample(fault, implementation.declaration, counterexamples)
        message = failure_text(fault, implementation.declaration, text, file)
        record.add_fault(text, fault, message)
        pytest.fail(message, pytrace=False)

    try:
        holds()
    finally:
        record.add(text, judge)
