"""What would a policy have done on a sequence of batches? The plain answer, one budget at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from reference.eviction import NEVER, Key
from reference.expert_cache import Batch, ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.sizing import ModelShape

Routed = tuple[int, tuple[int, ...], bool]
"""One batch of a recorded routing: layer, expert ids in routing order, is it decode."""


def replay_policy(
    shape: ModelShape, batches: Sequence[Routed], policy: str, budget_bytes: int
) -> Iterator[tuple[ExpertCache, Batch]]:
    """Load the batches one after the other; gives, after each, the cache as it then stands and what the batch did.

    Args:
        shape: the model.
        batches: in the order they were loaded.
        policy: one of reference.expert_config.POLICIES; `belady` looks the next use of an expert up in `batches`.
        budget_bytes: kept to the byte.
    """
    uses: dict[Key, list[int]] = defaultdict(list)
    for index, (layer, experts, _) in enumerate(batches):
        for expert in set(experts):
            uses[layer, expert].append(index)
    now = 0

    def next_use(key: Key) -> int:
        later = bisect_right(uses[key], now)
        return uses[key][later] if later < len(uses[key]) else NEVER

    cache = ExpertCache(ExpertConfig(shape, budget_bytes, policy, EXACT_BYTES), next_use)
    for now, (layer, experts, decode) in enumerate(batches):  # noqa: B007 - next_use reads it
        yield cache, cache.load(layer, experts, decode=decode)
