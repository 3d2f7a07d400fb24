"""Which law catches a bug of a sizing function, at which question?"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from fixtures.seeded_bugs.functions import LAWS, RIGHT, FunctionBug, draw_question

MOST_QUESTIONS = 100


def first_caught(bug: FunctionBug, seed: int) -> tuple[int, str] | None:
    """The number of the first question at which a law breaks, and that law; None when none does."""
    draw = Random(f"{bug.function} {seed}")
    for number in range(1, MOST_QUESTIONS + 1):
        question = draw_question(draw, bug.function)
        for law in LAWS[bug.function]:
            if not law.holds(bug.wrong, question):
                return number, law.id
    return None


def catchers(bug: FunctionBug, seed: int) -> set[str]:
    """All laws that break on some question of a run."""
    return broken(bug.function, bug.wrong, seed)


def broken(function: str, answers: Callable[[Any], Any], seed: int) -> set[str]:
    """The laws that a function breaks on the questions of a run."""
    draw = Random(f"{function} {seed}")
    questions = [draw_question(draw, function) for _ in range(MOST_QUESTIONS)]
    return {
        law.id for law in LAWS[function] if not all(law.holds(answers, ask) for ask in questions)
    }


def false_alarms(function: str, seed: int) -> set[str]:
    """The laws that the reference's own function breaks: none."""
    return broken(function, RIGHT[function], seed)
