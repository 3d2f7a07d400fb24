"""What does an LRU cache hit when its budget changes between turns?

Held equal to reference/expert_session.py by a property. Under a budget that never changes replay/thresholds.py is
faster: one pass gives every budget.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from replay.lookups import Lookups


@dataclass(slots=True)
class Played:
    """What a stretch of batches did: lookups, hits, logical bytes read. With the cache off nothing is counted."""

    lookups: int = 0
    hits: int = 0
    read_bytes: int = 0


class ScheduledLru:
    """An LRU cache over lookups, played stretch by stretch."""

    def __init__(self, lookups: Lookups, budget_bytes: int = 0) -> None:
        self.lookups = lookups
        self.budget_bytes = budget_bytes
        self.resident_bytes = 0
        self._order: OrderedDict[int, None] = OrderedDict()

    def set_budget(self, budget_bytes: int) -> None:
        """A grow evicts nothing; a shrink evicts the least recent at once, down to the budget."""
        self.budget_bytes = budget_bytes
        self._evict(protected=0)

    def play(self, first: int, last: int) -> Played:
        """Load batches `first` to `last - 1`."""
        if self.budget_bytes == 0:
            return self._play_uncached(first, last)
        lookups, order = self.lookups, self._order
        offsets, key_bytes = lookups.offsets, lookups.key_bytes
        played = Played(lookups=offsets[last] - offsets[first])
        for batch in range(first, last):
            start, end = offsets[batch], offsets[batch + 1]
            for expert in lookups.key[start:end]:
                if expert in order:
                    played.hits += 1
                else:
                    played.read_bytes += key_bytes[expert]
                    order[expert] = None
                    self.resident_bytes += key_bytes[expert]
            for expert in lookups.touched[start:end]:
                order.move_to_end(expert)
            if self.resident_bytes > self.budget_bytes:
                self._evict(protected=end - start)
        return played

    def _play_uncached(self, first: int, last: int) -> Played:
        lookups = self.lookups
        read = lookups.key[lookups.offsets[first] : lookups.offsets[last]]
        return Played(read_bytes=sum(lookups.key_bytes[expert] for expert in read))

    def _evict(self, protected: int) -> None:
        """The least recent leave while the budget is exceeded; the `protected` most recent stay."""
        order = self._order
        while self.resident_bytes > self.budget_bytes and len(order) > protected:
            expert, _ = order.popitem(last=False)
            self.resident_bytes -= self.lookups.key_bytes[expert]
