"""How does a routing trace run as a session of turns through an LRU cache, budget by budget?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from reference.growth_events import Sample
from reference.sizing import legal_budgets
from replay.closed_loop import TurnDone, Work
from replay.lookups import lookups_of, shape_of
from replay.sampled_curve import samples_of
from replay.scheduled_lru import Played, ScheduledLru
from replay.thresholds import resident_thresholds, thresholds
from replay.traces import RouteTrace
from replay.turns import TurnSpan, cut_into_turns


class TraceTurns:
    """A trace cut into turns, and what every session over it shares.

    Args:
        trace: the trace.
        turn_tokens: decode tokens a turn; 0 leaves the recorded generations whole.
    """

    def __init__(self, trace: RouteTrace, turn_tokens: int) -> None:
        self.trace = trace
        self.shape = shape_of(trace)
        self.legal = legal_budgets(self.shape)
        self.spans = cut_into_turns(trace, turn_tokens)
        self.lookups = lookups_of(trace)
        self._theta: Sequence[int] = ()
        self._samples: dict[str, list[Sample | None]] = {}

    def samples(self, kind: str) -> list[Sample | None]:
        """By turn; see replay/sampled_curve.py."""
        if kind not in self._samples:
            self._samples[kind] = samples_of(self.trace, self.spans, kind)
        return self._samples[kind]

    @property
    def theta(self) -> Sequence[int]:
        """From which budget on each lookup hits, if it never changes."""
        if not len(self._theta):
            self._theta = thresholds(self.lookups)
        return self._theta


class TraceSession:
    """One session over a trace: a cache that stays warm, turn after turn."""

    def __init__(self, turns: TraceTurns, sample: str) -> None:
        self.turns = turns
        self.cache = ScheduledLru(turns.lookups)
        self._samples = turns.samples(sample)

    @property
    def turn_count(self) -> int:
        """How many turns there are."""
        return len(self.turns.spans)

    def sample(self, turn: int) -> Sample | None:
        """What the rule is told to have been routed by the end of a turn."""
        return self._samples[turn]

    def play(self, turn: int, budget_bytes: int) -> TurnDone:
        """Run a turn at a budget."""
        span = self.turns.spans[turn]
        self.cache.set_budget(budget_bytes)
        self.cache.play(span.first, span.decode)
        decode = self.cache.play(span.decode, span.last)
        return _done(span, turn, budget_bytes, decode, self.cache.resident_bytes)


class FixedBudgets:
    """The turns of a trace under budgets that never change, all of them out of one pass."""

    def __init__(self, turns: TraceTurns) -> None:
        self.turns = turns
        lookups = turns.lookups
        self._decode = [self._sorted(span.decode, span.last) for span in turns.spans]
        self._resident = [
            sorted(resident_thresholds(lookups, range(span.last))) for span in turns.spans
        ]

    def _sorted(self, first: int, last: int) -> tuple[list[int], list[int]]:
        """Ascending thresholds of the lookups of some batches, and the bytes up to each."""
        lookups = self.turns.lookups
        start, end = lookups.offsets[first], lookups.offsets[last]
        sizes = [lookups.key_bytes[expert] for expert in lookups.key[start:end]]
        pairs = sorted(zip(self.turns.theta[start:end], sizes, strict=True))
        return [theta for theta, _ in pairs], list(accumulate((s for _, s in pairs), initial=0))

    def at(self, budget_bytes: int) -> list[TurnDone]:
        """Every turn at that budget."""
        return [self._turn(number, budget_bytes) for number in range(len(self.turns.spans))]

    def _turn(self, number: int, budget_bytes: int) -> TurnDone:
        span, (theta, bytes_up_to) = self.turns.spans[number], self._decode[number]
        if budget_bytes == 0:
            return _done(span, number, 0, Played(read_bytes=bytes_up_to[-1]), 0)
        hits = bisect_right(theta, budget_bytes)
        read_bytes = bytes_up_to[-1] - bytes_up_to[hits]
        resident_bytes = self._held(number, budget_bytes)
        return _done(
            span, number, budget_bytes, Played(len(theta), hits, read_bytes), resident_bytes
        )

    def _held(self, number: int, budget_bytes: int) -> int:
        """What is resident after a turn: the last batch, and before it all that still fits."""
        lookups, last = self.turns.lookups, self.turns.spans[number].last
        found = self._resident[number]
        start, end = lookups.offsets[last - 1], lookups.offsets[last]
        protected = sum(lookups.key_bytes[expert] for expert in lookups.key[start:end])
        return max(protected, found[bisect_right(found, budget_bytes) - 1])


def _done(
    span: TurnSpan, turn: int, budget_bytes: int, decode: Played, resident_bytes: int
) -> TurnDone:
    work = Work(
        turn, span.tokens, span.first_token, decode.read_bytes, resident_bytes, budget_bytes > 0
    )
    return TurnDone(budget_bytes, decode, work)
