"""From which budget on does each lookup hit? One pass answers it for every budget.

For a fixed budget B the resident set is always a prefix of the recency order, because a touch makes most recent whether
it hits or misses, a miss is always inserted and eviction takes the least recent. So a lookup hits iff B is at least its
threshold: 0 if the expert was in the batch just before (that batch was protected), else the bytes of all experts at
least as recent as it at the end of the batch just before, its own included; a first touch never hits. A budget of 0
is off and never hits. Exact for `lru`, and for `layer` with each layer's batches and slice of the budget taken alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from replay.lookups import Lookups

NEVER = (1 << 64) - 1
"""Threshold of a first touch. Every other one is less (replay/lookups.py): compare with at most NEVER - 1."""

KERNEL_FROM = 200_000
"""Lookups from which starting the compiled engine pays."""

KERNEL_BYTES = 1 << 63
"""Bytes of all experts together from which sums no longer fit the compiled engine's numbers."""


def thresholds(lookups: Lookups) -> Sequence[int]:
    """The threshold of each lookup in bytes, under one recency list over all layers."""
    if len(lookups.key) >= KERNEL_FROM and sum(lookups.key_bytes) < KERNEL_BYTES:
        from replay import kernel  # noqa: PLC0415 - short traces need not pay for loading it

        if kernel.engine_name() == "c":
            columns = (lookups.key, lookups.touched, lookups.offsets, lookups.key_bytes)
            return kernel.thresholds(*(array("q", column) for column in columns))
    batches = zip(lookups.offsets, lookups.offsets[1:], strict=False)
    return one_pass(lookups, batches, len(lookups.key))


def one_pass(lookups: Lookups, batches: Iterable[tuple[int, int]], lookup_count: int) -> list[int]:
    """The thresholds of the lookups of `batches`, given as (start, end) pairs, in that order.

    A Fenwick tree over recency positions holds the bytes of the expert last touched there. Two phases a batch: first
    all its thresholds, then its touches; counting the batch's own experts as more recent would be wrong.
    """
    key, touched, key_bytes = lookups.key, lookups.touched, lookups.key_bytes
    tree = [0] * (lookup_count + 1)
    position = [0] * len(key_bytes)
    last_batch = [-2] * len(key_bytes)
    found: list[int] = []
    now = total = 0
    for number, (start, end) in enumerate(batches):
        for expert in key[start:end]:
            at = position[expert]
            if not at:
                found.append(NEVER)
            elif last_batch[expert] == number - 1:
                found.append(0)
            else:
                at -= 1
                older = 0
                while at:
                    older += tree[at]
                    at &= at - 1
                found.append(total - older)
        for expert in touched[start:end]:
            size = key_bytes[expert]
            at = position[expert]
            if at:
                while at <= lookup_count:
                    tree[at] -= size
                    at += at & -at
            else:
                total += size
            now += 1
            at = position[expert] = now
            last_batch[expert] = number
            while at <= lookup_count:
                tree[at] += size
                at += at & -at
    return found


def resident_thresholds(lookups: Lookups, batches: Sequence[int]) -> list[int]:
    """From which budget on each expert touched by `batches` is resident after the last of them, unordered.

    The experts of the last batch are protected, so they are resident at every budget that is on: threshold 0.
    """
    seen: set[int] = set()
    found: list[int] = []
    recent_bytes = 0
    for at in range(len(batches) - 1, -1, -1):
        start, end = lookups.offsets[batches[at]], lookups.offsets[batches[at] + 1]
        for expert in reversed(lookups.touched[start:end]):
            if expert not in seen:
                seen.add(expert)
                recent_bytes += lookups.key_bytes[expert]
                found.append(0 if at == len(batches) - 1 else recent_bytes)
    return found
