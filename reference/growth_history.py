"""What happened in a session of a sizing rule, and what is known of the machine it ran on?

The laws of reference/growth_laws.py judge a `GrowthCase`: one session and those it is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from reference.growth_events import Begun, Ended, Event, KSet, Reply
from reference.sizing import ModelShape

NOTHING, EVERYTHING, SOMETHING = "nothing", "everything", "something"


@dataclass(frozen=True, slots=True)
class Step:
    """One event and what was in force before and after it."""

    number: int
    event: Event
    before: Reply
    after: Reply
    shape: ModelShape
    generating: bool


@dataclass(frozen=True)
class History:
    """A whole session: the opening reply, then each event with its reply."""

    shape: ModelShape
    drop_fraction: float
    opened: Reply
    exchanges: tuple[tuple[Event, Reply], ...]

    @cached_property
    def steps(self) -> Sequence[Step]:
        """Each event with its surroundings; `shape` has the k that is in force after it."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[Step]:
        before, shape, generating = self.opened, self.shape, False
        for number, (event, after) in enumerate(self.exchanges, 1):
            if isinstance(event, KSet) and not generating:
                shape = shape.with_k(event.k)
            yield Step(number, event, before, after, shape, generating)
            if isinstance(event, Begun | Ended):
                generating = isinstance(event, Begun)
            before = after

    @cached_property
    def budgets(self) -> Sequence[int]:
        """The budget with which each generation began, in bytes."""
        return tuple(
            step.after.budget_bytes
            for step in self.steps
            if isinstance(step.event, Begun) and not step.generating
        )

    def resting_bytes(self) -> int:
        """The budget of most generations in the second half of the session."""
        second_half = self.budgets[len(self.budgets) // 2 :]
        return Counter(second_half).most_common(1)[0][0]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the machine and the routing of a case.

    Args:
        stationary: nothing but bounded noise changes from turn to turn.
        concedes: at the end: "nothing": each cycle costs more than any gains, beyond the noise. "everything": none
            costs anything. "something": otherwise.
        shares: share of hits at each number of cycles, where the same sample is told in every turn; else empty.
        clear: for each cycle it is clear beyond the noise whether it is worth its cost.
        worth: how many cycles are, where that is clear and gains only fall; else None.
    """

    stationary: bool
    concedes: str = SOMETHING
    shares: Sequence[float] = ()
    clear: bool = False
    worth: int | None = None


@dataclass(frozen=True, slots=True)
class GrowthCase:
    """One session and those it is compared with.

    Args:
        facts: of the machine.
        history: the session.
        again: the same session once more.
        elsewhere: the same numbers told under another platform's name.
        quiet: the same session without noise.
    """

    facts: Facts
    history: History
    again: History
    elsewhere: History
    quiet: History
