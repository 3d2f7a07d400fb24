"""What would lfu, layerlfu, belady or random have done at one budget? One replay a budget.

These are no stack algorithms, so each budget is replayed. The rules are those of reference/eviction.py. What makes it
fast: how little an entry is worth depends on the routing alone, so it is ranked before any replay, and a heap may hold
an entry under ranks that a later touch has made stale.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush

from replay.lookups import Lookups
from replay.tally import Tally

ORDER_BITS = 32
"""Bits of a rank that hold a sequence number, which decides between equals."""

NEVER_USED = 1 << 40
"""Next use of an expert that is not used again, as a batch number."""


class PolicyReplay:
    """Replays one policy over one sequence of lookups, budget by budget.

    Args:
        lookups: what is replayed.
        policy: lfu, layerlfu, belady or random.
    """

    def __init__(self, lookups: Lookups, policy: str) -> None:
        self.lookups = lookups
        self.policy = policy
        sliced = policy == "layerlfu"
        self.slices = lookups.slices if sliced else 1
        self.partition = lookups.layer if sliced else [0] * len(lookups.layer)
        self.ranks = RANKS[policy](lookups) if policy in RANKS else []

    def at(self, budget_bytes: int) -> list[Tally]:
        """What each segment counts at a budget above 0."""
        replayed = self._by_rank if self.ranks else self._at_random
        tallies = replayed(budget_bytes)
        for tally, first_touches in zip(tallies, self.lookups.first_touches(), strict=True):
            # Whatever was touched before and is absent was evicted.
            tally.rereads = tally.lookups - tally.hits - first_touches
        return tallies

    def _by_rank(self, budget_bytes: int) -> list[Tally]:
        """The entry of the lowest rank leaves; the batch just loaded is kept off the heap, hence protected."""
        lookups, ranks, partition = self.lookups, self.ranks, self.partition
        key, offsets, key_bytes = lookups.key, lookups.offsets, lookups.key_bytes
        first_inserted = self.policy == "belady"  # of equals, the first inserted leaves
        expert_bits = len(key_bytes).bit_length()
        expert_mask = (1 << expert_bits) - 1
        budget = budget_bytes // self.slices
        heaps: dict[int, list[int]] = {at: [] for at in partition}
        held = dict.fromkeys(partition, 0)
        resident = bytearray(len(key_bytes))
        rank = [0] * len(key_bytes)
        inserted = [0] * len(key_bytes)
        tallies = []
        for segment in lookups.segments:
            tally = Tally.empty(lookups, segment)
            for number in range(segment.first, segment.last):
                start, end = offsets[number], offsets[number + 1]
                heap, used = heaps[partition[number]], held[partition[number]]
                for at in range(start, end):
                    expert = key[at]
                    if resident[expert]:
                        tally.hits += 1
                    else:
                        resident[expert] = 1
                        inserted[expert] = at if first_inserted else 0
                        used += key_bytes[expert]
                        tally.read_bytes += key_bytes[expert]
                    rank[expert] = ranks[at] + inserted[expert] << expert_bits | expert
                while used > budget and heap:
                    least = heappop(heap)
                    victim = least & expert_mask
                    if rank[victim] == least and resident[victim]:
                        resident[victim] = 0
                        used -= key_bytes[victim]
                        tally.evictions += 1
                for expert in key[start:end]:
                    heappush(heap, rank[expert])
                held[partition[number]] = used
            tallies.append(tally)
        return tallies

    def _at_random(self, budget_bytes: int) -> list[Tally]:
        """One draw of `random.Random(1234)` an eviction, over the unprotected entries in insertion order."""
        key, offsets, key_bytes = self.lookups.key, self.lookups.offsets, self.lookups.key_bytes
        choice = random.Random(1234).choice
        order: list[int] = []  # the lookups that inserted the residents, ascending
        inserted = [0] * len(key_bytes)
        resident = bytearray(len(key_bytes))
        used = 0
        tallies = []
        for segment in self.lookups.segments:
            tally = Tally.empty(self.lookups, segment)
            for number in range(segment.first, segment.last):
                start, end = offsets[number], offsets[number + 1]
                protected = []
                for at in range(start, end):
                    expert = key[at]
                    if resident[expert]:
                        tally.hits += 1
                        protected.append(inserted[expert])
                    else:
                        resident[expert] = 1
                        inserted[expert] = at
                        order.append(at)
                        used += key_bytes[expert]
                        tally.read_bytes += key_bytes[expert]
                protected.sort()
                while used > budget_bytes and len(order) > end - start:
                    place = choice(range(len(order) - (end - start)))
                    for hit in protected:
                        place += order[place] >= hit
                    victim = key[order.pop(place)]
                    resident[victim] = 0
                    used -= key_bytes[victim]
                    tally.evictions += 1
            tallies.append(tally)
        return tallies


def _uses_then_recency(lookups: Lookups) -> list[int]:
    """lfu and layerlfu: lookups so far, then recency."""
    uses = [0] * len(lookups.key_bytes)
    recency = [0] * len(lookups.key_bytes)
    ranks = []
    for start, end in zip(lookups.offsets, lookups.offsets[1:], strict=False):
        for at in range(start, end):
            recency[lookups.touched[at]] = at
        for expert in lookups.key[start:end]:
            uses[expert] += 1
            ranks.append(uses[expert] << ORDER_BITS | recency[expert])
    return ranks


def _nearness_of_next_use(lookups: Lookups) -> list[int]:
    """belady: the further ahead the next batch that looks the expert up, the lower."""
    next_use = [NEVER_USED] * len(lookups.key_bytes)
    ranks = [0] * len(lookups.key)
    for number in range(len(lookups.layer) - 1, -1, -1):
        for at in range(lookups.offsets[number], lookups.offsets[number + 1]):
            expert = lookups.key[at]
            ranks[at] = NEVER_USED - next_use[expert] << ORDER_BITS
            next_use[expert] = number
    return ranks


RANKS: dict[str, Callable[[Lookups], list[int]]] = {
    "lfu": _uses_then_recency,
    "layerlfu": _uses_then_recency,
    "belady": _nearness_of_next_use,
}
