"""What was counted over a stretch of lookups? Sums of one phase of one turn, and how they add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replay.lookups import Lookups, Segment


@dataclass(slots=True)
class Tally:
    """Counters of one segment: lookups and hits, logical bytes read, entries evicted, misses of evicted entries."""

    turn: int
    decode: bool
    lookups: int
    hits: int
    read_bytes: int
    evictions: int
    rereads: int = 0

    @classmethod
    def empty(cls, lookups: Lookups, segment: Segment) -> Tally:
        """The tally of `segment` with its lookups and nothing else counted yet."""
        count = lookups.offsets[segment.last] - lookups.offsets[segment.first]
        return cls(segment.turn, segment.decode, count, 0, 0, 0)

    @classmethod
    def of_uncached(cls, lookups: Lookups, segment: Segment) -> Tally:
        """The tally of `segment` with the cache off: everything is read and nothing is counted."""
        start, end = lookups.offsets[segment.first], lookups.offsets[segment.last]
        read_bytes = sum(lookups.key_bytes[expert] for expert in lookups.key[start:end])
        return cls(segment.turn, segment.decode, 0, 0, read_bytes, 0)


def added(tallies: Iterable[Tally]) -> tuple[int, int, int, int, int]:
    """lookups, hits, read_bytes, evictions and rereads of several tallies together."""
    lookups = hits = read_bytes = evictions = rereads = 0
    for tally in tallies:
        lookups += tally.lookups
        hits += tally.hits
        read_bytes += tally.read_bytes
        evictions += tally.evictions
        rereads += tally.rereads
    return lookups, hits, read_bytes, evictions, rereads
