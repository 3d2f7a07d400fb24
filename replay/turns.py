"""How is a recorded trace cut into the turns of a session?

A recorded generation of many tokens is cut into turns of a few, so that a sizing rule has something to decide between
them: the first turn of a generation has its prefill, the others go on where the one before stopped. Cache and session
stay warm across all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from replay.traces import DECODE, Batch, RouteTrace


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """One turn of a session.

    Args:
        first, decode, last: its batches are `first` to `last - 1` of the trace; those from `decode` on are decode.
        tokens: decode tokens.
        first_token: decode tokens of the session before them.
    """

    first: int
    decode: int
    last: int
    tokens: int
    first_token: int

    @property
    def has_prefill(self) -> bool:
        """Does the turn begin with a prompt?"""
        return self.decode > self.first


def cut_into_turns(trace: RouteTrace, turn_tokens: int) -> list[TurnSpan]:
    """The turns of a trace, each of at most `turn_tokens` decode tokens; 0 leaves the recorded generations whole."""
    spans: list[TurnSpan] = []
    done = first = 0
    for _, group in groupby(trace.batches, key=lambda batch: batch.turn):
        batches = list(group)
        decode = first + sum(batch.phase != DECODE for batch in batches)
        starts = _token_starts(batches[decode - first :], decode)
        last_of_all = first + len(batches)
        for at in range(0, max(1, len(starts)), turn_tokens or max(1, len(starts))):
            mine = starts[at : at + (turn_tokens or len(starts))]
            after = at + len(mine)
            last = starts[after] if after < len(starts) else last_of_all
            spans.append(TurnSpan(first, mine[0] if mine else last, last, len(mine), done))
            done += len(mine)
            first = last
    return spans


def _token_starts(decode: list[Batch], offset: int) -> list[int]:
    """The batch with which each decode token begins: where the step changes, or the layer falls back."""
    return [
        offset + at
        for at, batch in enumerate(decode)
        if not at or batch.step != decode[at - 1].step or batch.layer <= decode[at - 1].layer
    ]
