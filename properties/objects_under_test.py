"""Which classes are connected by `python:MODULE:CLASS` in the tests? One that is right, and several that are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate.connect.implementation import Declaration
from reference.expert_session import ExpertSession
from reference.program import Answer, Plain, SetBudget
from reference.row_config import RowCacheConfig
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


class Bare(RowSession):
    """The row cache's reference as one that has little and shows less."""

    declaration = Declaration(
        "bare",
        "1",
        "row-cache",
        level=0,
        capabilities=frozenset(),
        row_settings={"placement": "own"},
    )

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return self.observe()

    def observe(self, done: Answer = Answer()) -> Answer:  # noqa: B008 - an Answer is a frozen value
        """Four counters."""
        counters = super().observe(done).counters
        return Answer({name: counters[name] for name in ("lookups", "hits", "misses", "added")})


class Elsewhere(Row):
    """The row cache's reference under another hash, which it does not say."""

    declaration = Declaration(
        "elsewhere",
        "1",
        "row-cache",
        capabilities=frozenset(),
        row_settings={"placement": "own"},
    )

    def __init__(self, config: RowCacheConfig) -> None:
        super().__init__(replace(config, hash_seed=7))


class WithoutWays(Row):
    """It declares sets of a number of ways that is none."""

    declaration = Declaration("row", "1", "row-cache", row_settings={"ways": "some"})


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

    level = 1

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
