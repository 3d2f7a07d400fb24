"""What happens when a sizing rule, a cache and a device run turns together?

Each turn: the budget in force is set between generations, the generation begins, prefill and decode run through the
cache, the rule is told the sample and what the device measured, and answers the next budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from reference.growth_events import Begun, Ended, Event, KSet, Reply, Sample, Sampled, Sizing, Turn
from reference.growth_history import History
from reference.sizing import ModelShape
from replay.scheduled_lru import Played


@dataclass(frozen=True, slots=True)
class Work:
    """What a turn's decode made the device do.

    Args:
        turn: number of the turn in the session, from 0.
        tokens: decode tokens.
        first_token: decode tokens of the session before them.
        read_bytes: logical bytes read.
        resident_bytes: what the cache held at the end.
        cache_on: was the budget above 0?
    """

    turn: int
    tokens: int
    first_token: int
    read_bytes: int
    resident_bytes: int
    cache_on: bool


@dataclass(frozen=True, slots=True)
class TurnDone:
    """One turn as it ran."""

    budget_bytes: int
    decode: Played
    work: Work


Measure = Callable[[Work], Turn]
"""What the device records for a turn's work."""

NO_CHANGES: Mapping[int, int] = {}


class Workload(Protocol):
    """Turns of routing on one warm cache."""

    @property
    def turn_count(self) -> int:
        """How many turns there are."""

    def play(self, turn: int, budget_bytes: int) -> TurnDone:
        """Set the budget, run the turn's prefill, then its decode; turns are played in order, each once."""

    def sample(self, turn: int) -> Sample | None:
        """What the rule is told to have been routed, by the end of that turn."""


@dataclass(frozen=True, slots=True)
class LoopTurn:
    """One turn of a session: what ran, what was measured, and why the budget moved or not afterwards."""

    done: TurnDone
    measured: Turn
    why: str


@dataclass(frozen=True, slots=True)
class Session:
    """A whole session: its turns, and every exchange with the rule."""

    turns: tuple[LoopTurn, ...]
    history: History


def measured(done: Iterable[TurnDone], measure: Measure) -> list[LoopTurn]:
    """Turns that ran without a rule, as the device records them."""
    return [LoopTurn(each, measure(each.work), "") for each in done]


def run_closed_loop(
    sizing: Sizing,
    workload: Workload,
    measure: Measure,
    shape: ModelShape,
    *,
    drop_fraction: float = 0.0,
    k_at: Mapping[int, int] = NO_CHANGES,
    careless: bool = False,
) -> Session:
    """Every turn at the budget the rule answered before it.

    Args:
        sizing: the rule.
        workload: what runs.
        measure: the device.
        shape: the model, with the k of the opening.
        drop_fraction: the drop threshold the rule was told.
        k_at: turns before which the user sets k, for workloads that follow it.
        careless: also tell the rule what is out of place: to begin, and to change k, inside a generation, and to end
            one that is over. All of it must be refused.
    """
    opened = sizing.opened()
    exchanges: list[tuple[Event, Reply]] = []

    def tell(event: Event) -> Reply:
        reply = sizing.tell(event)
        exchanges.append((event, reply))
        return reply

    user = _User(tell, k_at, careless)
    turns = tuple(_turns(workload, measure, opened, user))
    return Session(turns, History(shape, drop_fraction, opened, tuple(exchanges)))


def _turns(
    workload: Workload,
    measure: Measure,
    in_force: Reply,
    user: _User,
) -> Iterator[LoopTurn]:
    tell = user.tell
    for number in range(workload.turn_count):
        if number in user.k_at:
            in_force = tell(KSet(user.k_at[number]))
        tell(Begun())
        user.meddle(Begun(), KSet(in_force.k + 1))
        done = workload.play(number, in_force.budget_bytes)
        sample = workload.sample(number)
        if sample is not None:
            tell(Sampled(sample))
        turn = measure(done.work)
        in_force = tell(Ended(turn))
        user.meddle(Ended(turn))
        yield LoopTurn(done, turn, in_force.why)


@dataclass(frozen=True, slots=True)
class _User:
    """Who runs the session: how the rule is told, when k is set, and whether also what is out of place is said."""

    tell: Callable[[Event], Reply]
    k_at: Mapping[int, int]
    careless: bool

    def meddle(self, *events: Event) -> None:
        """Say what is out of place."""
        if self.careless:
            for event in events:
                self.tell(event)
