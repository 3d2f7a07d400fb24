"""What does a row cache meet while it works that no answer tells? Who comes for which slot, and what a halving cuts.

The parts of the reference note the situations themselves and then do as they always do.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.power.situations import Holds, names
from reference.row_cache import RowCache
from reference.row_config import RowCacheConfig
from reference.row_placement import RowSite
from reference.row_slots import Entry, Resident
from reference.row_table import Clock, InsertOutcome, RowTable
from reference.usage_sketch import UsageSketch


class Watched(RowCache):
    """A cache that notes situations while it works."""

    def __init__(self, config: RowCacheConfig) -> None:
        super().__init__(config)
        self.notes: list[str] = []
        self._tables = [
            _WatchedTable(config, at, table.clock, self.notes)
            for at, table in enumerate(self._tables)
        ]


class _WatchedTable(RowTable):
    def __init__(self, config: RowCacheConfig, at: int, clock: Clock, notes: list[str]) -> None:
        super().__init__(config, at, clock)
        self.notes = notes
        self.sketch = _WatchedSketch(config, notes)

    def place(self, newcomer: Entry, bypass_admission: bool = False) -> InsertOutcome:
        free = [len(self.slots.free_ways(at)) for at in newcomer.site.sets]
        self.notes += names(_of_two_sets(free))
        if any(free):
            return super().place(newcomer, bypass_admission)
        there, victims = self.slots.residents(newcomer.site.sets), self.victims(newcomer.site.sets)
        uses = [self.estimate(held.entry.site) for held in victims]
        outcome = super().place(newcomer, bypass_admission)
        self.notes += names(_of_pinned(there, outcome))
        if outcome == "replaced":
            self.notes += names(_of_a_victim(newcomer.site, victims))
        if victims and self.config.admission and not bypass_admission:
            self.notes += names(_of_admission(self.estimate(newcomer.site), uses, outcome))
        return outcome


class _WatchedSketch(UsageSketch):
    def __init__(self, config: RowCacheConfig, notes: list[str]) -> None:
        super().__init__(config.sketch_rows, config.sketch_width, config.halve_every)
        self.notes = notes

    def halve(self) -> None:
        if any(cell & 1 for cells in self.cells for cell in cells):
            self.notes.append("halved-odd")
        super().halve()


def _of_two_sets(free: Sequence[int]) -> Holds:
    """Of the free ways in each candidate set of a row that is to be placed."""
    return {
        "equally-roomy": len(free) == 2 and free[0] == free[1] > 0,
        "one-set-full": len(free) == 2 and min(free) == 0 < max(free),
        "both-sets-full": len(free) == 2 and max(free) == 0,
    }


def _of_pinned(there: Sequence[Resident], outcome: InsertOutcome) -> Holds:
    pinned = [held for held in there if held.entry.pins]
    return {
        "pinned-pushed": pinned,
        "all-pinned": pinned and len(pinned) == len(there) and outcome == "refused",
    }


def _of_a_victim(site: RowSite, victims: Sequence[Resident]) -> Holds:
    """Of the rows that could leave for another, the first of which did."""
    oldest = min(held.entry.last_access for held in victims)
    return {
        "second-set-replaces": victims[0].place.set_index != site.sets[0],
        "victim-not-oldest": victims[0].entry.last_access > oldest,
    }


def _of_admission(own: int, uses: Sequence[int], outcome: InsertOutcome) -> Holds:
    """Of the estimates of a newcomer and of those that could leave for it, the first of which would."""
    return {
        "replaced-at-a-tie": own == uses[0],
        "equal-estimates": outcome == "replaced" and uses.count(uses[0]) > 1,
        "refused-by-one": own == uses[0] - 1,
    }
