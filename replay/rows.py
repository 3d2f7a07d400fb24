"""What does a RowCache do with a run of gathers, fast? The engine behind the emulation.

    replay = RowReplay(RowCacheConfig(sets=(451_729,), ways=4))
    per_gather = replay.gathers(Gathers.of([[7, 7, 9], [7]]))
    replay.counters()           # what reference.row_cache.RowCache counts, number by number

The C kernel runs it where it was built, numpy otherwise (replay/kernel.py). All choices of
RowCacheConfig are served but injected placement, which is for small programs: the reference runs
those. Read-ahead and pins are the reference's too: their fields have no effect here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add

import numpy as np

from reference.row_cache import RowCacheConfig, RowCounters
from replay import kernel
from replay.gathers import Gathers
from replay.hashing import I64, U64
from replay.row_table import RowTable

COLUMNS = (
    "hits",
    "misses",
    "added",
    "evictions",
    "refusals",
    "halvings",
    "sets_filled",
    "second_probes",
    "estimates_read",
)
"""What is counted a gather. Beyond RowCounters: sets that lost their last free way; lookups that
had to probe a second set; usage estimates read to choose victims and to admit."""


class RowReplay:
    """A RowCache that replays gathers.

    Args:
        config: geometry and choices.
        engine: `c` or `python`; by default what replay.kernel.engine_name() says.

    Raises:
        ValueError: the configuration injects sets or sketch columns.
        MemoryError: there is no room for the slots.
    """

    plain_table: type[RowTable] = RowTable
    """What replays a table where the kernel does not."""

    def __init__(self, config: RowCacheConfig, engine: kernel.EngineName | None = None) -> None:
        if config.injected_sets or config.injected_columns:
            raise ValueError("injected placement: run it on reference.row_cache.RowCache")
        self.config = config
        self.engine = engine or kernel.engine_name()
        self._tables = [self._new_table(sets) for sets in config.sets]
        self._totals = np.zeros((config.tables, len(COLUMNS)), dtype=np.int64)

    def gathers(self, gathers: Gathers, table: int = 0) -> I64:
        """Run gathers in order, after all that ran before. Repeated ids count once per gather.

        Returns one line a gather, one column a name in COLUMNS.
        """
        return self.distinct_gathers(gathers.distinct(self.config.gather_order, self.engine), table)

    def distinct_gathers(self, gathers: Gathers, table: int = 0) -> I64:
        """The same for gathers without repeated ids, which several replays may share."""
        counts = np.zeros((len(gathers), len(COLUMNS)), dtype=np.int64)
        self._tables[table].replay(gathers.ids, gathers.offsets, counts.reshape(-1))
        self._totals[table] += counts.sum(axis=0)
        return counts

    def counters(self) -> RowCounters:
        """The counters of all tables together."""
        return reduce(add, (self.table_counters(t) for t in range(self.config.tables)))

    def table_counters(self, table: int) -> RowCounters:
        """The counters of one table."""
        counted = dict(zip(COLUMNS, self._totals[table].tolist(), strict=True))
        return RowCounters(
            lookups=counted["hits"] + counted["misses"],
            **{name: counted[name] for name in COLUMNS[: COLUMNS.index("sets_filled")]},
            resident_rows=counted["added"],
            capacity_rows=self.config.sets[table] * self.config.ways,
        )

    def full_sets(self, table: int = 0) -> int:
        """How many sets of one table have no free way."""
        return int(self._totals[table, COLUMNS.index("sets_filled")])

    def slots(self, table: int = 0) -> tuple[U64, U64]:
        """Row and last access of every slot, both of shape (sets, ways); age 0 is a free way."""
        shape = self.config.sets[table], self.config.ways
        rows, ages = np.empty((2, shape[0] * shape[1]), dtype=np.uint64)
        self._tables[table].read_slots(rows, ages)
        return rows.reshape(shape), ages.reshape(shape)

    def _new_table(self, sets: int) -> RowTable:
        config, module = self.config, kernel.built()
        make = module.RowTable if self.engine == "c" and module else self.plain_table
        table: RowTable = make(
            sets=sets,
            ways=config.ways,
            candidate_sets=config.candidate_sets,
            sketch_rows=config.sketch_rows,
            sketch_width=config.sketch_width,
            halve_every=config.halve_every or 0,
            hash_seed=config.hash_seed,
            admission=config.admission,
            second_set_tie_second=config.second_set_tie == "second",
            halve_after_gather=config.halve_when == "after_gather",
            tick_per_gather=config.clock_tick == "gather",
            age_of_insert=config.insert_age == "insert",
            free_way_highest=config.free_way == "highest",
            victim_tie_highest=config.victim_tie == "highest",
        )
        return table


def replay_rows(config: RowCacheConfig, gathers: Iterable[Sequence[int]]) -> RowCounters:
    """The counters of a one-table cache after `gathers`, each a sequence of row ids."""
    replay = RowReplay(config)
    replay.gathers(Gathers.of(gathers))
    return replay.counters()
