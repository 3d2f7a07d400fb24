"""What is a sizing rule told, and what does it answer? The events of a session, each answered by one reply.

A session opens, and then runs generations: `Begun`, any number of `Sampled`, `Ended`. Between generations the user may
change k (`KSet`). Every event is answered with the budget in force from then on. Inside a generation nothing changes;
what is out of place is refused by name and changes nothing.

Source of the quantities: BigMoeOnEdge#103; how the engine records them: Helldez/BigMoeOnEdge at 2d4f2b1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reference.sizing import ModelShape

IN_GENERATION = "in-generation"
NO_GENERATION = "no-generation"


@dataclass(frozen=True, slots=True)
class Sample:
    """What a stretch of routing would have hit at each legal budget, by an LRU replay of its ordered ids.

    Counters by layer cannot drive an LRU: whoever makes a sample needs the ids in the order they were routed.

    Args:
        lookups: how many lookups were replayed.
        hits: `hits[n]` of them hit at n cycles, from 0 to the least multiple that holds all experts. `hits[0]` is 0:
            the cache is off.
    """

    lookups: int
    hits: tuple[int, ...]

    def share(self, cycles: int) -> float:
        """The share of lookups that hit at so many cycles, from 0 to 1; 0 without lookups."""
        return self.hits[cycles] / self.lookups if self.lookups else 0.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What was measured over one generation, in sums over its decode tokens.

    Args:
        tokens: decode tokens.
        read_bytes: bytes they read.
        io_ms: time spent reading as the engine records it: summed over the lanes when reads overlap with compute.
        waited_ms: time the tokens waited for reads: `stall_ms` under overlap, `io_ms` otherwise.
        compute_ms: what the engine records as compute, which holds the time lost to page faults.
        management_ms: time the engine spent on the cache itself; 0 with the cache off.
        faults: major page faults; None where the platform cannot count them.
        resident_bytes: what the cache held at the end.
    """

    tokens: int
    read_bytes: int
    io_ms: float
    waited_ms: float
    compute_ms: float
    management_ms: float
    faults: int | None
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A generation begins."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A new sample is known; it replaces the one before."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class Ended:
    """The generation is over; this is what it measured."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class KSet:
    """The user changed the router's top-k."""

    k: int


Event = Begun | Sampled | Ended | KSet


@dataclass(frozen=True, slots=True)
class Reply:
    """What is in force after an event.

    Args:
        budget_bytes: the cache's budget.
        k: the router's top-k.
        drop_fraction: the threshold below which cold experts are dropped.
        refusal: why the event was refused; "" if it was not.
        why: the reason of the decision in a word or two; nobody judges it.
    """

    budget_bytes: int
    k: int
    drop_fraction: float
    refusal: str = ""
    why: str = ""


class Sizing(Protocol):
    """A sizing rule under judgement."""

    def opened(self) -> Reply:
        """What is in force before the first event."""

    def tell(self, event: Event) -> Reply:
        """Take one event; what is in force from then on."""


MakeSizing = Callable[[ModelShape, float, str], Sizing]
"""Makes the rule for one session, from the model's shape, the drop fraction and the platform's name.

The name is for reports: no decision may depend on it.
"""
