"""Is the counterexample for every seeded bug as small as it can be?

None of the programs that are smaller in one place (gate/judging/shrink.py, `candidates`) still breaks the same law.
"""

from __future__ import annotations

from functools import cache

import pytest

from fixtures.seeded_bugs import BUGS
from gate.judging.judge import Fault, Judge
from gate.judging.shrink import candidates, shrink
from gate.power.cases import DERANDOMIZED, cases
from gate.power.seeded import SeededCache
from gate.power.summary import quantile
from reference.program import Program
from reference.program_text import format_program

MOST_OPERATIONS, MEDIAN_OPERATIONS = 8, 4
QUICK_SHARE = 20
"""In the quick profile every so manieth bug is shrunk."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a bug."""
    if "bug_id" in metafunc.fixturenames:
        metafunc.parametrize("bug_id", _shrunk(metafunc.config))


def _shrunk(config: pytest.Config) -> list[str]:
    quick = config.getoption("--profile") == "quick"
    return sorted(BUGS)[:: QUICK_SHARE if quick else 1]


@cache
def smallest(bug_id: str) -> tuple[Judge, Fault, Program]:
    """The first fault of a bug in the derandomized run, and its program shrunk."""
    bug = BUGS[bug_id]
    judge = Judge.of(SeededCache(bug))
    faults = (judge.judge(case.program) for case in cases(bug.cache, bug.rules, DERANDOMIZED))
    fault = next(fault for fault in faults if fault)
    return judge, fault, shrink(fault.program, lambda p: judge.breaks(p, fault.law) is not None)


def test_no_part_of_a_counterexample_can_be_lowered(bug_id: str) -> None:
    """No operation, key, count or geometry number can be lowered and the same law still break."""
    judge, fault, small = smallest(bug_id)
    assert judge.breaks(small, fault.law) is not None
    smaller = (p for p in candidates(small) if judge.breaks(p, fault.law) is not None)
    found = next(smaller, None)
    assert found is None, format_program(found or small)
    assert len(small.operations) <= MOST_OPERATIONS, format_program(small)


def test_half_the_counterexamples_have_four_operations(pytestconfig: pytest.Config) -> None:
    """The median counterexample has at most four operations."""
    lengths = sorted(len(smallest(bug)[2].operations) for bug in _shrunk(pytestconfig))
    assert quantile(lengths, 0.5) <= MEDIAN_OPERATIONS
