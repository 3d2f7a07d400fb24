"""What of a program's prefetches is queued, has arrived, and is integrated when? From what is seen to be resident.

Nothing is modelled but the queue: whether an id is prefetched at all depends on what the implementation itself shows as
resident before that step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference.eviction import Key
from reference.program import Arrive, Lose, Prefetch
from reference.timeline import Step

Residents = frozenset[Key]


@dataclass(frozen=True, slots=True)
class Queued:
    """What one step did to the queue.

    Args:
        added: keys it queued.
        completed: keys whose read it completed.
        failed: keys whose read it failed.
        integrated: keys that became resident at its start.
    """

    added: frozenset[Key] = frozenset()
    completed: frozenset[Key] = frozenset()
    failed: frozenset[Key] = frozenset()
    integrated: frozenset[Key] = frozenset()


@dataclass(slots=True)
class SpeculationQueue:
    """The queue after the steps so far.

    Attributes:
        queued: reads under way.
        arrived: reads complete and not yet integrated.
    """

    queued: set[Key] = field(default_factory=set)
    arrived: set[Key] = field(default_factory=set)

    def take(self, step: Step, there: Residents) -> Queued:
        """Follow one step; `there` is what was resident before it."""
        act = step.operation
        if isinstance(act, Prefetch) and step.refusal == "":
            known = range(step.shape.experts[act.layer])
            wanted = {(act.layer, expert) for expert in act.experts if expert in known}
            added = wanted - there - self.queued - self.arrived
            self.queued |= added
            return Queued(added=frozenset(added))
        if isinstance(act, Arrive | Lose):
            return self._settle(act)
        if step.is_load or step.budget_after < step.budget_before:
            integrated = frozenset(self.arrived)
            self.queued, self.arrived = set(), set()
            return Queued(integrated=integrated)
        return Queued()

    def _settle(self, act: Arrive | Lose) -> Queued:
        found = frozenset(self.queued.intersection((act.layer, e) for e in act.experts))
        self.queued -= found
        if isinstance(act, Lose):
            return Queued(failed=found)
        self.arrived |= found
        return Queued(completed=found)
