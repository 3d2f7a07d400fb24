"""What should the engine have counted on this trace, at this budget?

One pass gives the threshold of every lookup (replay/thresholds.py), so a budget is a comparison:
no cache is simulated twice, and which budgets explain a recorded residency is read off at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from reference.expert_counters import DemandMeter
from replay.lookups import Lookups, lookups_of
from replay.thresholds import NEVER, resident_thresholds, thresholds
from replay.traces import DECODE, Batch, RouteTrace


@dataclass(slots=True)
class TokenCount:
    """One decode token: session totals of hits and lookups behind it, and what it read itself."""

    hits: int
    lookups: int
    misses: int
    read_bytes: int


@dataclass(slots=True)
class TurnCount:
    """One turn. Attributes but `decode_read_bytes` and `tokens` are totals of the session so far.

    `token_demand_bytes` and `layer_demand_bytes` are what the engine publishes at the end of the
    turn: the pass before the last one. `bad_rows` are the rows whose recorded residency or bytes
    are not those of the replay.
    """

    turn: int
    hits: int = 0
    lookups: int = 0
    misses: int = 0
    evictions: int = 0
    rereads: int = 0
    resident_bytes: int = 0
    decode_read_bytes: int = 0
    last_batch_bytes: int = 0
    token_demand_bytes: int = 0
    layer_demand_bytes: int = 0
    tokens: list[TokenCount] = field(default_factory=list)
    bad_rows: list[int] = field(default_factory=list)


def recorded_reads(trace: RouteTrace) -> dict[int, list[tuple[int, int]]]:
    """By turn: (logical bytes, experts) that each decode token read, as the trace itself says."""
    reads: dict[int, list[tuple[int, int]]] = {}
    for (turn, phase, _), group in groupby(trace.batches, key=lambda b: (b.turn, *_token_key(b))):
        if phase == DECODE:
            cells = [size for batch in group for size in _rows_of(trace.row_expert_bytes, batch)]
            reads.setdefault(turn, []).append((sum(cells), sum(map(bool, cells))))
    return reads


class Replay:
    """The replay of one trace, for any budget.

    Raises:
        InputError: the graphs of a prefill cannot be told apart.
    """

    def __init__(self, trace: RouteTrace) -> None:
        self.trace = trace
        self.lookups: Lookups = lookups_of(trace)
        self.thresholds = thresholds(self.lookups)

    @cached_property
    def explained_by(self) -> dict[int, tuple[int, int]]:
        """By turn: the lowest and highest budget in bytes that give the recorded residency so far.

        Empty where the first exceeds the second.
        """
        low, high = 1, NEVER
        found: dict[int, tuple[int, int]] = {}
        for number, batch in enumerate(self.trace.batches):
            for row, threshold in self._first_rows(number, batch):
                if self.trace.residency[row]:
                    low = max(low, threshold)
                else:
                    high = min(high, threshold - 1)
            found[batch.turn] = (low, high)
        return found

    def _first_rows(self, number: int, batch: Batch) -> Iterator[tuple[int, int]]:
        """(first row, threshold) of every expert of a batch."""
        at = self.lookups.offsets[number]
        seen: set[int] = set()
        for row in range(batch.first_row, batch.first_row + batch.row_count):
            expert = self.trace.expert[row]
            if expert not in seen:
                seen.add(expert)
                yield row, self.thresholds[at]
                at += 1

    def turns_at(self, budget_bytes: int) -> dict[int, TurnCount]:
        """What every turn counts at a budget; 0 is off: reads are counted, nothing else."""
        counted = _Counted(self, budget_bytes)
        numbered = enumerate(self.trace.batches)
        for turn, batches in groupby(numbered, key=lambda pair: pair[1].turn):
            counted.take_turn(turn, list(batches))
        return counted.turns


class _Counted:
    """The counters of one replay at one budget."""

    def __init__(self, replay: Replay, budget_bytes: int) -> None:
        self.replay, self.budget = replay, min(budget_bytes, NEVER - 1)
        self.demand = DemandMeter()
        self.hits = self.lookups = self.misses = self.first_touches = 0
        self.turns: dict[int, TurnCount] = {}

    def take_turn(self, turn: int, batches: list[tuple[int, Batch]]) -> None:
        """Count all batches of a turn; decode batches of one step are one token."""
        count = self.turns[turn] = TurnCount(turn)
        for (phase, _), group in groupby(batches, key=lambda pair: _token_key(pair[1])):
            token = TokenCount(0, 0, 0, 0)
            for number, batch in group:
                self._take_batch(number, batch, token, count)
            if phase == DECODE:
                token.hits, token.lookups = self.hits, self.lookups
                count.tokens.append(token)
                count.decode_read_bytes += token.read_bytes
        self._close(count, batches[-1][0])

    def _take_batch(self, number: int, batch: Batch, token: TokenCount, count: TurnCount) -> None:
        replay, size = self.replay, self.replay.trace.entry_bytes[batch.layer]
        start, end = replay.lookups.offsets[number : number + 2]
        found = replay.thresholds[start:end]
        hits = sum(threshold <= self.budget for threshold in found) if self.budget else 0
        self.demand.add(batch.layer, size * (end - start))
        token.misses += end - start - hits
        token.read_bytes += size * (end - start - hits)
        if self.budget:
            self.hits += hits
            self.lookups += end - start
            self.misses += end - start - hits
            self.first_touches += sum(threshold == NEVER for threshold in found)
        self._compare_rows(number, batch, size, count.bad_rows)

    def _compare_rows(self, number: int, batch: Batch, size: int, bad_rows: list[int]) -> None:
        """Every row of an expert shows its residency before the load; a miss is read once."""
        trace = self.replay.trace
        first = dict(self.replay._first_rows(number, batch))
        resident: dict[int, int] = {}
        for row in range(batch.first_row, batch.first_row + batch.row_count):
            expert, read = trace.expert[row], 0
            if row in first:
                resident[expert] = int(self.budget > 0 and first[row] <= self.budget)
                read = 0 if resident[expert] else size
            if trace.residency[row] != resident[expert] or trace.row_expert_bytes[row] != read:
                bad_rows.append(row)

    def _close(self, count: TurnCount, last_batch: int) -> None:
        """Totals at the end of a turn. What is resident is the most recent that fits the budget."""
        count.hits, count.lookups, count.misses = self.hits, self.lookups, self.misses
        count.token_demand_bytes = self.demand.token_demand_bytes
        count.layer_demand_bytes = self.demand.layer_demand_bytes
        lookups = self.replay.lookups
        start, end = lookups.offsets[last_batch : last_batch + 2]
        count.last_batch_bytes = sum(lookups.key_bytes[key] for key in lookups.key[start:end])
        if self.budget:
            recent = resident_thresholds(lookups, range(last_batch + 1))
            held = [threshold for threshold in recent if threshold <= self.budget]
            count.evictions = self.misses - len(held)
            count.rereads = self.misses - self.first_touches
            # A threshold is the bytes up to and including its expert, most recent first.
            count.resident_bytes = max(count.last_batch_bytes, *held)


def _rows_of(column: list[int], batch: Batch) -> list[int]:
    return column[batch.first_row : batch.first_row + batch.row_count]


def _token_key(batch: Batch) -> tuple[int, int]:
    return batch.phase, batch.step if batch.phase == DECODE else -1
