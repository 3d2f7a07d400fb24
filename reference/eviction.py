"""Which entry leaves the expert cache? One victim rule for each policy.

Each rule picks among the entries that are not protected by the batch just loaded. Source: the policies of
scripts/route-replay.py in Helldez/BigMoeOnEdge at 2d4f2b1, which made the published hit curves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Key = tuple[int, int]
"""(layer, expert)."""

NEVER = 1 << 62
"""Next use of an entry that is not used again."""


@dataclass(slots=True)
class Entry:
    """One resident expert.

    Args:
        size_bytes: bytes of all its projections.
        inserted: sequence number of its insertion; residents in this order are in insertion order.
        last_use: sequence number of its last touch.
        speculative: came in by prefetch and has not been looked up since.
        wrong_bytes: its read failed, and the rules keep it resident all the same.
    """

    size_bytes: int
    inserted: int
    last_use: int
    speculative: bool = False
    wrong_bytes: bool = False


Residents = Mapping[Key, Entry]
"""Entries in recency order, the least recent first."""

VictimRule = Callable[[Residents, Sequence[Key]], Key]
"""(residents, unprotected keys in recency order) -> the key to evict."""


def least_recent() -> VictimRule:
    """lru and layer: the least recently used entry."""
    return lambda residents, keys: keys[0]


def least_frequent(uses: Mapping[Key, int]) -> VictimRule:
    """lfu and layerlfu: the fewest lookups so far, never reset; the least recent of equals."""
    return lambda residents, keys: min(
        keys, key=lambda key: (uses.get(key, 0), residents[key].last_use)
    )


def at_random(seed: int = 1234) -> VictimRule:
    """random: one `choice` of a Mersenne Twister for each eviction, over the unprotected entries in insertion order."""
    generator = random.Random(seed)
    return lambda residents, keys: generator.choice(
        sorted(keys, key=lambda key: residents[key].inserted)
    )


def furthest_use(next_use: Callable[[Key], int]) -> VictimRule:
    """belady: the entry whose next use lies furthest ahead; the first inserted of equals.

    Args:
        next_use: the index of the next batch that uses a key, or NEVER.
    """
    return lambda residents, keys: max(
        keys, key=lambda key: (next_use(key), -residents[key].inserted)
    )


def is_partitioned(policy: str) -> bool:
    """Does the policy give each MoE layer its own slice of the budget?"""
    return policy in ("layer", "layerlfu")


def of_layer(keys: Iterable[Key], layer: int) -> list[Key]:
    """The keys of one layer, in the order given."""
    return [key for key in keys if key[0] == layer]
