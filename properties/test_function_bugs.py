"""Do the laws of the sizing functions see each seeded bug, and nothing in what is right?"""

from __future__ import annotations

import pytest

from fixtures.seeded_bugs.functions import FUNCTION_BUGS, LAWS, FunctionBug
from gate.power.functions import catchers, false_alarms, first_caught

SEEDS = range(20)
MEDIAN_QUESTION, LATEST_QUESTION = 15, 100


@pytest.mark.parametrize("bug", FUNCTION_BUGS, ids=lambda bug: bug.id)
def test_a_bug_is_caught_in_every_run(bug: FunctionBug) -> None:
    """In 20 of 20 runs a law breaks within 100 questions, in half of them within 15."""
    found = [first_caught(bug, seed) for seed in SEEDS]
    assert None not in found
    numbers = sorted(caught[0] for caught in found if caught)
    assert numbers[len(numbers) // 2] <= MEDIAN_QUESTION
    assert numbers[-1] <= LATEST_QUESTION


@pytest.mark.parametrize("function", LAWS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_keeps_every_law(function: str, seed: int) -> None:
    """On the same questions the reference's own function breaks none."""
    assert false_alarms(function, seed) == set()


@pytest.mark.parametrize("function", LAWS)
def test_each_law_catches_something(function: str) -> None:
    """Every law breaks on some bug in some run."""
    bugs = [bug for bug in FUNCTION_BUGS if bug.function == function]
    caught = {law for bug in bugs for law in catchers(bug, seed=0)}
    assert caught == {law.id for law in LAWS[function]}
