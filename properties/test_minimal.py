"""Is the counterexample for every seeded bug as small as it can be?

None of the programs that are smaller in one place (gate/judging/shrink.py, `candidates`) still breaks the same law.
"""

from __future__ import annotations

from functools import cache, partial

import pytest

from fixtures.seeded_bugs import BUGS
from gate.judging.judge import Fault, Judge
from gate.judging.shrink import MAX_TRIALS, candidates, shrink
from gate.judging.subject import MAX_TRIALS_WHEN_LONG
from gate.power.cases import DERANDOMIZED, cases
from gate.power.seeded import SeededCache
from gate.power.summary import quantile
from reference.program import Program
from reference.program_text import format_program

MOST_OPERATIONS, MEDIAN_OPERATIONS = 8, 4
SHARE = {"quick": 20, "gate": 3, "nightly": 1}
"""Every so manieth bug is shrunk."""

FUNCTION = "a-function-of-the-program"
"""A bug that breaks this fails now and then on the same program, so that what is left of one has no least form."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a bug."""
    if "bug_id" in metafunc.fixturenames:
        metafunc.parametrize("bug_id", _shrunk(metafunc.config))


def _shrunk(config: pytest.Config) -> list[str]:
    steady = [bug.id for bug in BUGS.values() if not bug.requirement.endswith(FUNCTION)]
    return sorted(steady)[:: SHARE[config.getoption("--profile")]]


@cache
def smallest(bug_id: str) -> tuple[Judge, Fault, Program]:
    """The first fault of a bug in the derandomized run, and its program shrunk."""
    bug = BUGS[bug_id]
    judge = Judge.of(SeededCache(bug))
    faults = (judge.judge(case.program) for case in cases(bug.cache, bug.rules, DERANDOMIZED))
    fault = next(fault for fault in faults if fault)
    trials = MAX_TRIALS_WHEN_LONG if fault.program.is_long else MAX_TRIALS
    fails = partial(judge.breaks, law=fault.law)
    return judge, fault, shrink(fault.program, lambda p: fails(p) is not None, trials)


def test_no_part_of_a_counterexample_can_be_lowered(bug_id: str) -> None:
    """No operation, key, count or geometry number can be lowered and the same law still break.

    A clock of 16 bits fails on long programs alone, which are small as they are and not shrunk that far.
    """
    judge, fault, small = smallest(bug_id)
    if fault.program.is_long:
        assert len(small.operations) <= 2 * MOST_OPERATIONS
        return
    assert judge.breaks(small, fault.law) is not None
    smaller = (p for p in candidates(small) if judge.breaks(p, fault.law) is not None)
    found = next(smaller, None)
    assert found is None, format_program(found or small)
    assert len(small.operations) <= MOST_OPERATIONS, format_program(small)


def test_half_the_counterexamples_have_four_operations(pytestconfig: pytest.Config) -> None:
    """The median counterexample has at most four operations."""
    lengths = sorted(len(smallest(bug)[2].operations) for bug in _shrunk(pytestconfig))
    assert quantile(lengths, 0.5) <= MEDIAN_OPERATIONS
