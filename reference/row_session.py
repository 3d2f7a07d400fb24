"""The answer of a RowCache to each operation of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reference.program import Answer, AskRows, Gather, Insert, Operation, Pin, Repeat, Unpin, plain
from reference.row_cache import RowCache
from reference.row_config import RowCacheConfig

NO_SUCH_TABLE = "no-such-table"
NOT_RESIDENT = "not-resident"
NOT_AN_OPERATION = "not-an-operation-of-this-cache"
REFUSALS = (NO_SUCH_TABLE, NOT_RESIDENT, NOT_AN_OPERATION)


class RowSession:
    """Runs operations one by one on a RowCache opened with `config`; `make_cache` makes that cache."""

    def __init__(
        self, config: RowCacheConfig, make_cache: Callable[[RowCacheConfig], RowCache] = RowCache
    ) -> None:
        self.cache = make_cache(config)

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation and answer it; a repeat answers with its last application."""
        answer = Answer()
        for _ in range(operation.count if isinstance(operation, Repeat) else 1):
            answer = self._apply(operation)
        return self.observe(answer)

    def observe(self, done: Answer = Answer()) -> Answer:  # noqa: B008 - an Answer is a frozen value
        """The state as every observation level sees it."""
        tables = range(self.cache.config.tables)
        order = tuple(
            (table, row)
            for table in tables
            for index in self.cache.sets_in_use(table)
            for row in self.cache.victim_order((index,), table)
        )
        resident = frozenset((t, row) for t in tables for row in self.cache.resident_rows(t))
        estimates = {
            (t, row): count
            for t in tables
            for row, count in self.cache.resident_estimates(t).items()
        }
        return replace(
            done,
            counters=dict(vars(self.cache.counters)),
            resident=resident,
            order=order,
            estimates=estimates,
        )

    def _apply(self, operation: Operation) -> Answer:
        act = plain(operation)
        if not isinstance(act, Gather | Insert | Pin | Unpin | AskRows):
            return Answer(refusal=NOT_AN_OPERATION)
        if act.table >= self.cache.config.tables:
            return Answer(refusal=NO_SUCH_TABLE)
        match act:
            case Gather():
                gathered = self.cache.gather(act.rows, act.table)
                return Answer(hits=gathered.hits, digest=gathered.digest)
            case Insert():
                for row in act.rows:
                    self.cache.insert(row, act.table)
                return Answer()
            case Pin():
                return self._each(act, self.cache.pin)
            case Unpin():
                return self._each(act, self.cache.unpin)
            case AskRows():
                residency = [self.cache.residency(row, act.table) for row in act.rows]
                return Answer(hits=tuple(found is not None for found in residency))

    def _each(self, act: Pin | Unpin, change: Callable[[int, int], bool]) -> Answer:
        """Every row is tried; refused only when it held for none."""
        done = [change(row, act.table) for row in act.rows]
        return Answer(refusal="" if any(done) else NOT_RESIDENT)
