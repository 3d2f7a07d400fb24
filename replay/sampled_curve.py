"""What does a sizing rule learn from the routing: how many lookups would have hit at each legal budget?

Two samples are possible after each turn: `prefill`, the turn's prompt alone on a cold cache, its tokens replayed one
by one, as BigMoeOnEdge#103 proposes; and `seen`, everything routed so far. A turn without a prompt leaves the sample of
the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from reference.growth_events import Sample
from reference.sizing import legal_budgets
from replay.lookups import Lookups, lookups_of, shape_of
from replay.prompts import token_by_token
from replay.thresholds import NEVER, thresholds
from replay.traces import Batch, RouteTrace
from replay.turns import TurnSpan

PREFILL, SEEN = "prefill", "seen"
SAMPLES = (PREFILL, SEEN)


def sample_of(theta: Sequence[int], legal: range) -> Sample:
    """The sample of lookups whose thresholds are known; see replay/thresholds.py."""
    return Sample(len(theta), tuple(accumulate(hits_by_cycles(theta, legal))))


def hits_by_cycles(theta: Sequence[int], legal: range) -> list[int]:
    """How many of these lookups first hit at each number of cycles; a budget of 0 is off and hits nothing."""
    counts = [0] * len(legal)
    for threshold in theta:
        if threshold != NEVER:
            counts[max(1, -(-threshold // legal.step))] += 1
    return counts


def samples_of(trace: RouteTrace, spans: Sequence[TurnSpan], kind: str) -> list[Sample | None]:
    """The sample known at the end of each turn's prefill (`prefill`) or of the turn (`seen`).

    None as long as nothing has been sampled.
    """
    legal = legal_budgets(shape_of(trace))
    if kind == PREFILL:
        return list(_of_prompts(trace, spans, legal))
    return list(_of_everything(trace, spans, legal))


def _of_prompts(
    trace: RouteTrace, spans: Sequence[TurnSpan], legal: range
) -> Iterator[Sample | None]:
    latest = None
    for span in spans:
        if span.has_prefill:
            prompt = _apart(trace, trace.batches[span.first : span.decode])
            latest = sample_of(thresholds(prompt), legal)
        yield latest


def _of_everything(
    trace: RouteTrace, spans: Sequence[TurnSpan], legal: range
) -> Iterator[Sample | None]:
    parts = [token_by_token(trace.batches[s.first : s.last], trace.expert_used) for s in spans]
    everything = _apart(trace, [batch for part in parts for batch in part])
    theta, counts, taken = thresholds(everything), [0] * len(legal), 0
    for batches in accumulate(map(len, parts)):
        end = everything.offsets[batches]
        fresh = hits_by_cycles(theta[taken:end], legal)
        counts = [old + new for old, new in zip(counts, fresh, strict=True)]
        taken = end
        yield Sample(end, tuple(accumulate(counts))) if end else None


def _apart(trace: RouteTrace, batches: Sequence[Batch]) -> Lookups:
    return lookups_of(replace(trace, batches=token_by_token(batches, trace.expert_used)))
