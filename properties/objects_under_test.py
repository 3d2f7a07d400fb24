"""Which classes are connected by `python:MODULE:CLASS` in the tests? One that is right, and several that are not."""

from __future__ import annotations

from typing import Any

from gate.connect.implementation import Declaration
from reference.expert_session import ExpertSession
from reference.program import Answer, Plain, SetBudget
from reference.row_session import RowSession


class Expert(ExpertSession):
    """The reference as an object."""

    declaration = Declaration("expert", "1", "expert-cache")

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return self.observe()


class Row(RowSession):
    """The row cache's reference as an object."""

    declaration = Declaration("row", "1", "row-cache")

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return self.observe()


class Plainly:
    """A cache that says what it is by plain attributes, and counts nothing."""

    cache = "expert-cache"
    level = 0

    def __init__(self, config: Any) -> None:
        self.seen = 0

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return Answer({"seen": 0})

    def apply(self, operation: Plain) -> Answer:
        """Counts what it is asked."""
        self.seen += 1
        return Answer({"seen": self.seen})


class Raises(Plainly):
    """It raises on one budget."""

    def apply(self, operation: Plain) -> Answer:
        """An exception on a legal program."""
        if operation == SetBudget(666):
            raise ZeroDivisionError("division by zero")
        return super().apply(operation)


class WillNotOpen(Plainly):
    """It cannot be made."""

    def __init__(self, config: Any) -> None:
        raise KeyError("budget")


class Loops(Plainly):
    """It never comes back, and swallows every exception it can."""

    def apply(self, operation: Plain) -> Answer:
        """A loop without an end."""
        while True:
            try:
                self.seen += 1
            except Exception:
                continue


class SaysNone(Plainly):
    """It answers with nothing."""

    def apply(self, operation: Plain) -> Answer:
        """No answer."""
        return None  # type: ignore[return-value]


class SaysTooLittle(Plainly):
    """It declares a level whose answers it does not give."""

    level = 2


class SaysNothingOfItself:
    """It has the methods and no declaration."""

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return Answer()

    def apply(self, operation: Plain) -> Answer:
        """Nothing."""
        return Answer()


class HasNoApply:
    """It lacks a method."""

    declaration = Declaration("x", "1", "expert-cache")
