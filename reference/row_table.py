"""How does one table of a RowCache treat a gather: the two phases, admission, the victim?

Rules and names follow the RowCache report; where it is silent, the field of
reference/row_config.py that is read at the place decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from reference.backing_store import row_key, value
from reference.row_config import RowCacheConfig
from reference.row_counters import RowCounters
from reference.row_placement import RowPlacement, RowSite
from reference.row_slots import Entry, Place, Resident, RowSlots
from reference.usage_sketch import UsageSketch

InsertOutcome = Literal["present", "added", "replaced", "refused"]

_COUNTED_AS = {
    "present": "present",
    "added": "added",
    "replaced": "evictions",
    "refused": "refusals",
}


def each_once(rows: Sequence[int], order: str) -> list[int]:
    """The distinct rows of a gather in one of the orders of RowCacheConfig.gather_order."""
    if order == "sorted":
        return sorted(set(rows))
    if order == "last_occurrence":
        return list(dict.fromkeys(reversed(rows)))[::-1]
    return list(dict.fromkeys(rows))


class Clock:
    """Counts ticks; whatever is used now has `now` as its last access."""

    def __init__(self) -> None:
        self.now = 0

    def tick(self) -> None:
        """One step on."""
        self.now += 1


class Lookup(NamedTuple):
    """What the lookup of one row found: the value delivered, hit or miss, and when."""

    site: RowSite
    value: int
    hit: bool
    tick: int


class RowTable:
    """One table: `config.sets[table]` sets of `config.ways` slots, a sketch and a clock.

    Args:
        config: geometry and choices of the whole cache.
        table: which of its tables this is.
        clock: gives the ticks; tables may share one.
    """

    def __init__(self, config: RowCacheConfig, table: int, clock: Clock) -> None:
        self.config = config
        self.table = table
        self.clock = clock
        self.placement = RowPlacement(config, config.sets[table])
        self.sketch = UsageSketch(config.sketch_rows, config.sketch_width, config.halve_every)
        self.slots = RowSlots(config.ways)
        self.tally: Counter[str] = Counter()

    # One gather, in two phases: all lookups, then the inserts of all that missed.

    def gather(self, rows: Sequence[int]) -> list[Lookup]:
        """Deliver every distinct row of `rows`; returns the lookups in the order of processing."""
        if self.config.clock_tick == "gather":
            self.clock.tick()
        lookups = [self.look_up(self.placement.site(row)) for row in self.distinct(rows)]
        for lookup in lookups:
            if not lookup.hit:
                self.insert_missed(lookup)
        if self.config.halve_when == "after_gather":
            self.sketch.halve_if_due()
        return lookups

    def distinct(self, rows: Sequence[int]) -> list[int]:
        """Each row once, in the order in which the gather works through them."""
        return each_once(rows, self.config.gather_order)

    def look_up(self, site: RowSite) -> Lookup:
        """Phase 1 for one row: count its use, then probe for it."""
        if self.config.clock_tick == "lookup":
            self.clock.tick()
        self.count_use(site)
        self.tally["lookups"] += 1
        resident = self.slots.find(site)
        if resident is None:
            self.tally["misses"] += 1
            return Lookup(site, self.stored_value(site), False, self.clock.now)
        self.tally["hits"] += 1
        resident.entry.last_access = self.clock.now
        resident.entry.release_hold()
        return Lookup(site, resident.entry.value, True, self.clock.now)

    def count_use(self, site: RowSite) -> None:
        """One more use in the sketch. Misses count: a row earns its place before it has one."""
        self.sketch.count(site.columns)
        if self.config.halve_when == "at_once":
            self.sketch.halve_if_due()

    def insert_missed(self, lookup: Lookup) -> None:
        """Phase 2 for one row. Its own lookup stands in its estimate already."""
        tick = lookup.tick
        if self.config.insert_age == "insert":
            self.clock.tick()
            tick = self.clock.now
        outcome = self.place(Entry(lookup.site, lookup.value, tick))
        self.tally[_COUNTED_AS[outcome]] += 1

    # Where a row goes, and who leaves.

    def place(self, newcomer: Entry, bypass_admission: bool = False) -> InsertOutcome:
        """Fill a free slot, or replace the victim, or drop the newcomer."""
        free = self.free_place(newcomer.site)
        if free is not None:
            self.slots.put(free, newcomer)
            return "added"
        victims = self.victims(newcomer.site.sets)
        if victims and (bypass_admission or self.admits(newcomer, victims[0].entry)):
            self.slots.put(victims[0].place, newcomer)
            return "replaced"
        return "refused"

    def free_place(self, site: RowSite) -> Place | None:
        """The slot to fill: in the candidate set with more free ways, if any has one."""
        sets = site.sets if self.config.second_set_tie == "first" else site.sets[::-1]
        free = {set_index: self.slots.free_ways(set_index) for set_index in sets}
        # Of equally roomy sets, max() keeps the one that comes first.
        roomiest = max(free, key=lambda set_index: len(free[set_index]), default=None)
        if roomiest is None or not free[roomiest]:
            return None
        ways = free[roomiest]
        return Place(roomiest, ways[0] if self.config.free_way == "lowest" else ways[-1])

    def victims(self, sets: Iterable[int]) -> list[Resident]:
        """The rows of `sets` that may leave, the first to go first. Pinned ones may not."""
        unpinned = [held for held in self.slots.residents(sets) if not held.entry.pins]
        if self.config.victim_tie == "highest":
            unpinned.reverse()
        # A stable sort: equal ranks stay in the order of the ways.
        return sorted(unpinned, key=lambda held: self.rank(held.entry))

    def rank(self, entry: Entry) -> tuple[int, int]:
        """Lowest goes first: least used as of now, then least recently used."""
        usage = self.estimate(entry.site) if self.config.admission else 0
        return usage, entry.last_access

    def admits(self, newcomer: Entry, victim: Entry) -> bool:
        """The admission rule: at least as used as the one that would leave."""
        if not self.config.admission:
            return True
        return self.estimate(newcomer.site) >= self.estimate(victim.site)

    # Read-ahead and pins.

    def insert(self, row: int) -> InsertOutcome:
        """Read-ahead: bring `row` in without a lookup, at the clock's present tick."""
        site = self.placement.site(row)
        resident = self.slots.find(site)
        outcome = self.read_ahead(site) if resident is None else "present"
        if resident is not None and self.config.insert_resident == "touch":
            resident.entry.last_access = self.clock.now
        self.tally["readahead_inserts"] += 1
        self.tally["readahead_" + _COUNTED_AS[outcome]] += 1
        return outcome

    def read_ahead(self, site: RowSite) -> InsertOutcome:
        """Place an absent row by the admission rule, or past it and held until its lookup."""
        newcomer = Entry(site, self.stored_value(site), self.clock.now)
        if self.config.readahead == "admission":
            return self.place(newcomer)
        newcomer.pins, newcomer.held = 1, True
        return self.place(newcomer, bypass_admission=True)

    def pin(self, row: int) -> bool:
        """Protect a resident row from eviction, once more; False if it is not resident."""
        resident = self.find(row)
        if resident is None:
            return False
        resident.entry.pins += 1
        return True

    def unpin(self, row: int) -> bool:
        """Give one pin of a row back; False if the row is not resident or has none."""
        resident = self.find(row)
        if resident is None or not resident.entry.pins:
            return False
        resident.entry.unpin()
        return True

    # Views.

    def find(self, row: int) -> Resident | None:
        """The slot that holds `row`, if one does."""
        return self.slots.find(self.placement.site(row))

    def estimate(self, site: RowSite) -> int:
        """The sketch's present estimate of a row, resident or not."""
        return self.sketch.estimate(site.columns)

    def stored_value(self, site: RowSite) -> int:
        """What the backing store holds for a row of this table."""
        return value(row_key(self.table, site.row))

    def counters(self) -> RowCounters:
        """This table's counters as of now."""
        return RowCounters(
            **self.tally,
            halvings=self.sketch.halvings,
            resident_rows=self.tally["added"] + self.tally["readahead_added"],
            capacity_rows=self.config.sets[self.table] * self.config.ways,
        )
