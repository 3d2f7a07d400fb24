"""What does a RowCache answer to a sequence of gathers? The executable specification.

A RowCache keeps rows of large embedding tables that live on disk. Each table is set-associative:
a row may sit only in the ways of its set (or of two sets). When the set is full, a usage sketch
decides whether a missed row may replace the least used resident:

    cache = RowCache(RowCacheConfig(sets=(1,), ways=1))
    cache.gather([7, 7, 9])     # looks 7 and 9 up once each, both miss; then inserts both
    cache.counters              # lookups 2, misses 2, added 1, evictions 1: 9 replaced 7 at a tie

Source of all rules: the RowCache report. The parts: what is left open (row_config.py), where a
row may sit (row_placement.py), the slots (row_slots.py), the sketch (usage_sketch.py), and the
rules of one table (row_table.py). This file joins the tables and checks what comes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from reference.backing_store import digest
from reference.row_config import RowCacheConfig
from reference.row_counters import RowCounters
from reference.row_table import Clock, InsertOutcome, RowTable

__all__ = [
    "GatherAnswer",
    "InsertOutcome",
    "Residency",
    "RowCache",
    "RowCacheConfig",
    "RowCounters",
]

ID_LIMIT = 1 << 64


@dataclass(frozen=True)
class GatherAnswer:
    """What a gather delivered, per distinct row in the order of first occurrence."""

    hits: tuple[bool, ...]
    digest: int
    """Digest of the rows' values (reference/backing_store.py), 0 for an empty gather."""


@dataclass(frozen=True)
class Residency:
    """Where a resident row sits and in which state."""

    set_index: int
    way: int
    last_access: int
    pins: int


class RowCache:
    """A RowCache of one or more tables.

    Every operation is legal in every state. A row id that is no integer from 0 to 2^64-1, or a
    table that does not exist, raises ValueError before anything has changed.
    """

    def __init__(self, config: RowCacheConfig) -> None:
        self.config = config
        shared = Clock()
        one_clock = config.clock_scope == "cache"
        self._tables = [
            RowTable(config, table, shared if one_clock else Clock())
            for table in range(config.tables)
        ]

    # Operations

    def gather(self, ids: Iterable[int], table: int = 0) -> GatherAnswer:
        """Deliver the rows of one step from one table. Repeated ids count once."""
        rows = [checked_id(row) for row in ids]
        found = {lookup.site.row: lookup for lookup in self._table(table).gather(rows)}
        in_order = [found[row] for row in dict.fromkeys(rows)]
        return GatherAnswer(
            hits=tuple(lookup.hit for lookup in in_order),
            digest=digest(lookup.value for lookup in in_order),
        )

    def insert(self, row: int, table: int = 0) -> InsertOutcome:
        """Read-ahead: bring a row in without looking it up. Counted apart from demand.

        Returns "present" (was resident), "added" (free slot), "replaced" (a victim) or "refused".
        """
        return self._table(table).insert(checked_id(row))

    def pin(self, row: int, table: int = 0) -> bool:
        """Protect a resident row from eviction, once more; False if it is not resident."""
        return self._table(table).pin(checked_id(row))

    def unpin(self, row: int, table: int = 0) -> bool:
        """Give one pin of a row back; False if the row is not resident or not pinned."""
        return self._table(table).unpin(checked_id(row))

    # Observation: counters (L0), residency (L2), victim order and estimates (L3)

    @property
    def counters(self) -> RowCounters:
        """The counters of all tables together."""
        return reduce(add, (table.counters() for table in self._tables))

    def table_counters(self, table: int) -> RowCounters:
        """The counters of one table."""
        return self._table(table).counters()

    def resident_rows(self, table: int = 0) -> tuple[int, ...]:
        """The ids in the slots of one table, ascending; one entry an occupied slot."""
        slots = self._table(table).slots
        return tuple(sorted(held.entry.site.row for held in slots.residents(slots.in_use())))

    def residency(self, row: int, table: int = 0) -> Residency | None:
        """Where `row` sits, or None. Not a lookup: nothing is counted, no age changes."""
        resident = self._table(table).find(checked_id(row))
        if resident is None:
            return None
        entry = resident.entry
        return Residency(*resident.place, entry.last_access, entry.pins)

    def estimate(self, row: int, table: int = 0) -> int:
        """The usage estimate of `row`, resident or not, 0 to 255."""
        target = self._table(table)
        return target.estimate(target.placement.site(checked_id(row)))

    def resident_estimates(self, table: int = 0) -> dict[int, int]:
        """The usage estimate of every resident row."""
        target = self._table(table)
        residents = target.slots.residents(target.slots.in_use())
        return {held.entry.site.row: target.estimate(held.entry.site) for held in residents}

    def victim_order(self, sets: Sequence[int], table: int = 0) -> tuple[int, ...]:
        """The unpinned rows of `sets` taken together, in the order in which they would leave."""
        return tuple(held.entry.site.row for held in self._table(table).victims(sets))

    def sets_in_use(self, table: int = 0) -> list[int]:
        """The sets of one table that hold a row, ascending."""
        return self._table(table).slots.in_use()

    def full_sets(self, table: int = 0) -> int:
        """How many sets of one table have no free way."""
        slots = self._table(table).slots
        return sum(not slots.free_ways(s) for s in slots.in_use())

    def _table(self, table: int) -> RowTable:
        if not 0 <= table < len(self._tables):
            raise ValueError(
                f"no table {table}: this cache has tables 0 to {len(self._tables) - 1}"
            )
        return self._tables[table]


def checked_id(row: int) -> int:
    """`row` if it can be a row id; raises ValueError if not."""
    if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < ID_LIMIT:
        raise ValueError(f"a row id is an integer from 0 to 2^64-1, got {row!r}")
    return row
