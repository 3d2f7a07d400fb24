"""The hit curve: what would each policy have counted at each budget?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from replay.lookups import Lookups
from replay.policies import PolicyReplay
from replay.tally import Tally
from replay.thresholds import NEVER, one_pass, resident_thresholds, thresholds

ONE_PASS = ("lru", "layer")
"""Policies whose whole curve comes out of one pass."""


class Curve:
    """The counters of one policy at any budget, over one sequence of lookups.

    Args:
        lookups: what is replayed, all turns on one warm cache.
        policy: one of reference.expert_config.POLICIES.
    """

    def __init__(self, lookups: Lookups, policy: str) -> None:
        self.lookups = lookups
        self.policy = policy
        self._slices = lookups.slices if policy == "layer" else 1
        self._stacks = _stacks(lookups, policy) if policy in ONE_PASS else []
        self._replay = None if policy in ONE_PASS else PolicyReplay(lookups, policy)

    def at(self, budget_bytes: int) -> list[Tally]:
        """What each segment counts at a budget, kept to the byte; 0 is off."""
        segments = self.lookups.segments
        if budget_bytes == 0:
            return [Tally.of_uncached(self.lookups, segment) for segment in segments]
        if self._replay is not None:
            return self._replay.at(budget_bytes)
        tallies = [Tally.empty(self.lookups, segment) for segment in segments]
        for stack in self._stacks:
            stack.add_to(tallies, budget_bytes // self._slices)
        return tallies

    def breakpoints(self) -> list[int]:
        """Every budget at which hits of a one-pass curve change, ascending, in bytes; first 1: the cache is on."""
        found = {max(1, theta * self._slices) for stack in self._stacks for theta in stack.finite()}
        return sorted(found | {1})


class _Stack:
    """One recency list: all layers of `lru`, or one layer of `layer`."""

    def __init__(self, lookups: Lookups, batches: Sequence[int], theta: Sequence[int]) -> None:
        """`theta` holds the thresholds of the lookups of `batches`, in that order."""
        self.segments: list[_SegmentCurve] = []
        at = start = 0
        for segment in lookups.segments:
            first = at
            lookup_start = start
            while at < len(batches) and batches[at] < segment.last:
                start += lookups.offsets[batches[at] + 1] - lookups.offsets[batches[at]]
                at += 1
            mine = batches[first:at]
            experts = (
                expert
                for number in mine
                for expert in lookups.key[lookups.offsets[number] : lookups.offsets[number + 1]]
            )
            self.segments.append(
                _SegmentCurve(
                    theta[lookup_start:start], [lookups.key_bytes[expert] for expert in experts]
                )
            )
        self.residents = list(self._resident_counts(lookups, batches))

    def _resident_counts(self, lookups: Lookups, batches: Sequence[int]) -> Iterator[list[int]]:
        """At the end of each segment: the sorted thresholds of what is resident."""
        taken = 0
        for segment in lookups.segments:
            while taken < len(batches) and batches[taken] < segment.last:
                taken += 1
            yield sorted(resident_thresholds(lookups, batches[:taken]))

    def finite(self) -> Iterator[int]:
        """Every threshold some lookup has."""
        for segment in self.segments:
            yield from (theta for theta in segment.theta if theta != NEVER)

    def add_to(self, tallies: list[Tally], budget_bytes: int) -> None:
        """Add what this stack counts at `budget_bytes` to the tallies of the segments."""
        budget_bytes = min(budget_bytes, NEVER - 1)
        before = 0
        for tally, segment, residents in zip(tallies, self.segments, self.residents, strict=True):
            hits = bisect_right(segment.theta, budget_bytes)
            misses = len(segment.theta) - hits
            resident = bisect_right(residents, budget_bytes)
            tally.hits += hits
            tally.read_bytes += segment.bytes_above[hits]
            tally.evictions += misses - (resident - before)
            tally.rereads += misses - segment.first_touches
            before = resident


class _SegmentCurve:
    """Sorted thresholds of one segment, and the bytes above each."""

    def __init__(self, theta: Sequence[int], size_bytes: Sequence[int]) -> None:
        pairs = sorted(zip(theta, size_bytes, strict=True))
        self.theta = [threshold for threshold, _ in pairs]
        from_the_end = accumulate((size for _, size in reversed(pairs)), initial=0)
        self.bytes_above = list(from_the_end)[::-1]
        self.first_touches = len(self.theta) - bisect_right(self.theta, NEVER - 1)


def _stacks(lookups: Lookups, policy: str) -> list[_Stack]:
    if policy == "lru":
        return [_Stack(lookups, range(len(lookups.layer)), thresholds(lookups))]
    by_layer: dict[int, list[int]] = {layer: [] for layer in lookups.layers()}
    for number, layer in enumerate(lookups.layer):
        by_layer[layer].append(number)
    return [_Stack(lookups, batches, _of_layer(lookups, batches)) for batches in by_layer.values()]


def _of_layer(lookups: Lookups, batches: Sequence[int]) -> list[int]:
    bounds = [(lookups.offsets[number], lookups.offsets[number + 1]) for number in batches]
    return one_pass(lookups, bounds, sum(end - start for start, end in bounds))
