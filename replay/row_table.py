"""How does one RowCache table run without the C kernel? A whole gather at a time, in numpy.

The twin of `RowTable` in the kernel: same constructor, same calls, same results to the bit. The
two phases of a gather (reference/row_table.py) make it possible: lookups change no slot, so all
are done at once, and inserts depend on each other only where they share a set, so all that are
the first still waiting at each of their sets are done at once, round after round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reference.row_placement import SECOND_SET_SALT
from replay.hashing import I64, U64, mix, sketch_cells, xxh3_64

HITS, MISSES, ADDED, EVICTIONS, REFUSALS, HALVINGS = range(6)
SETS_FILLED, SECOND_PROBES, ESTIMATES_READ = range(6, 9)

Mask: TypeAlias = NDArray[np.bool_]

_USAGE = np.uint64(1 << 56)
_NOBODY = np.uint64((1 << 64) - 1)


@dataclass
class Missed:
    """Rows on their way in, with all that decides where to: arrays of one length."""

    rows: U64
    hashes: U64
    ticks: U64
    first: I64
    second: I64

    def only(self, chosen: Mask) -> Missed:
        """Those marked, in the same order."""
        fields = (self.rows, self.hashes, self.ticks, self.first, self.second)
        return Missed(*(field[chosen] for field in fields))  # type: ignore[arg-type]


class Sketch:
    """The usage sketch over arrays of hashes; reference/usage_sketch.py."""

    def __init__(
        self, rows: int, width: int, *, read: bool, halve_every: int, after_gather: bool
    ) -> None:
        self.rows, self.width, self.read = rows, width, read
        self.halve_every, self.after_gather = halve_every, after_gather
        # Wider than 8 bits: a whole gather is added before the cells are cut back to 255.
        self.cells = np.zeros(rows * width, dtype=np.uint32)
        self.samples = 0

    def count(self, hashes: U64) -> int:
        """Count a gather's lookups; returns how many halvings they brought."""
        halvings = 0
        while self.halve_every and not self.after_gather and self._until_halving() <= len(hashes):
            due = self._until_halving()
            self._add(hashes[:due])
            hashes = hashes[due:]
            halvings += self.halve_if_due()
        self._add(hashes)
        return halvings

    def halve_if_due(self) -> int:
        """Halve all cells if the period is complete; returns how often, 0 or 1."""
        if not self.halve_every or self._until_halving() > 0:
            return 0
        self.cells >>= np.uint32(1)
        self.samples = 0
        return 1

    def estimates(self, hashes: U64) -> U64:
        """The lowest of each hash's cells, in the shape of `hashes`."""
        cells = sketch_cells(hashes.ravel(), self.rows, self.width)
        lowest: U64 = self.cells[cells].min(axis=1).astype(np.uint64)
        return lowest.reshape(hashes.shape)

    def _until_halving(self) -> int:
        return self.halve_every - self.samples

    def _add(self, hashes: U64) -> None:
        self.samples += len(hashes)
        if self.read:
            cells = sketch_cells(hashes, self.rows, self.width).ravel()
            np.add.at(self.cells, cells, np.uint32(1))
            self.cells[cells] = np.minimum(self.cells[cells], np.uint32(255))


class RowTable:
    """One table of a RowCache; arguments and methods as in replay/_kernel.pyi."""

    def __init__(
        self,
        *,
        sets: int,
        ways: int,
        candidate_sets: int,
        sketch_rows: int,
        sketch_width: int,
        halve_every: int,
        hash_seed: int,
        admission: bool,
        second_set_tie_second: bool,
        halve_after_gather: bool,
        tick_per_gather: bool,
        age_of_insert: bool,
        free_way_highest: bool,
        victim_tie_highest: bool,
    ) -> None:
        self.sets, self.ways, self.candidate_sets = sets, ways, candidate_sets
        self.hash_seed, self.admission = hash_seed, admission
        self.second_set_tie_second = second_set_tie_second
        self.tick_per_gather, self.age_of_insert = tick_per_gather, age_of_insert
        self.free_way_highest, self.victim_tie_highest = free_way_highest, victim_tie_highest
        self.sketch = Sketch(
            sketch_rows,
            sketch_width,
            read=admission,  # without admission no estimate is ever read
            halve_every=halve_every,
            after_gather=halve_after_gather,
        )
        self.clock = 0
        self.rows = np.zeros((sets, ways), dtype=np.uint64)
        self.ages = np.zeros((sets, ways), dtype=np.uint64)  # 0: a free way
        self._waiting = np.zeros(sets, dtype=np.int64)

    def replay(self, rows: U64, offsets: I64, counts: I64) -> None:
        """Run gathers of distinct rows; `counts` gets one line a gather."""
        lines = counts.reshape(len(offsets) - 1, ESTIMATES_READ + 1)
        lines[:] = 0
        for gather, line in enumerate(lines):
            self._gather(rows[offsets[gather] : offsets[gather + 1]], line)

    def read_slots(self, rows: U64, ages: U64) -> None:
        """The row and last access of each slot, set after set, ways in order; age 0 is free."""
        rows[:], ages[:] = self.rows.ravel(), self.ages.ravel()

    # The two phases

    def _gather(self, rows: U64, counts: I64) -> None:
        hashes = xxh3_64(rows, self.hash_seed)
        counts[HALVINGS] += self.sketch.count(hashes)
        missed = self._look_up(rows, hashes, counts)
        self._insert(missed, counts)
        if self.sketch.after_gather:
            counts[HALVINGS] += self.sketch.halve_if_due()

    def _look_up(self, rows: U64, hashes: U64, counts: I64) -> Missed:
        """Probe for every row and renew the age of those found; the others are returned."""
        looked_up = Missed(rows, hashes, self._ticks(len(rows)), *self._places(hashes))
        if not self.sets:
            counts[MISSES] += len(rows)
            return looked_up
        here = self._found(looked_up, looked_up.first)
        other = ~here & (looked_up.second != looked_up.first)
        there = np.zeros(len(rows), dtype=bool)
        there[other] = self._found(looked_up.only(other), looked_up.second[other])
        counts[SECOND_PROBES] += other.sum()
        counts[HITS] += here.sum() + there.sum()
        missed = looked_up.only(~here & ~there)
        counts[MISSES] += len(missed.rows)
        return missed

    def _ticks(self, count: int) -> U64:
        if self.tick_per_gather:
            self.clock += 1
            return np.full(count, self.clock, dtype=np.uint64)
        self.clock += count
        return np.arange(self.clock - count + 1, self.clock + 1, dtype=np.uint64)

    def _places(self, hashes: U64) -> tuple[I64, I64]:
        """The first and second candidate set of every row; equal where there is but one."""
        sets = np.uint64(max(self.sets, 1))
        first = (hashes % sets).astype(np.int64)
        if self.candidate_sets == 1:
            return first, first
        return first, (mix(hashes ^ np.uint64(SECOND_SET_SALT)) % sets).astype(np.int64)

    def _found(self, looked_up: Missed, sets: I64) -> Mask:
        same = (self.rows[sets] == looked_up.rows[:, None]) & (self.ages[sets] > 0)
        row, way = np.nonzero(same)
        self.ages[sets[row], way] = looked_up.ticks[row]
        found: Mask = same.any(axis=1)
        return found

    def _insert(self, missed: Missed, counts: I64) -> None:
        if self.age_of_insert:
            missed.ticks = np.arange(len(missed.rows), dtype=np.uint64) + np.uint64(self.clock + 1)
            self.clock += len(missed.rows)
        if not self.sets:
            counts[REFUSALS] += len(missed.rows)
            return
        while len(missed.rows):
            first_at_its_sets = self._independent(missed)
            self._insert_round(missed.only(first_at_its_sets), counts)
            missed = missed.only(~first_at_its_sets)

    def _independent(self, missed: Missed) -> Mask:
        """Rows that no row before them can affect: first still waiting at each of their sets."""
        number = np.arange(len(missed.rows))
        both = np.column_stack((missed.first, missed.second)).ravel()
        # Of several values for one item the last one stays, so the order is turned round.
        self._waiting[both[::-1]] = np.repeat(number, 2)[::-1]
        first: Mask = self._waiting[missed.first] == number
        second: Mask = self._waiting[missed.second] == number
        return first & second

    def _insert_round(self, missed: Missed, counts: I64) -> None:
        free = self._fill_free_slots(missed, counts)
        full = missed.only(~free)
        sets, ways, rank = self._victims(full, counts)
        admitted = np.ones(len(full.rows), dtype=bool)
        if self.admission:
            admitted = self.sketch.estimates(full.hashes) >= rank // _USAGE
            counts[ESTIMATES_READ] += len(full.rows)
        self._put(full.only(admitted), sets[admitted], ways[admitted])
        counts[EVICTIONS] += admitted.sum()
        counts[REFUSALS] += len(admitted) - admitted.sum()

    def _fill_free_slots(self, missed: Missed, counts: I64) -> Mask:
        """Put rows where a candidate set has a free way; returns which rows that were."""
        room = (self.ages[missed.first] == 0).sum(axis=1)
        more = (self.ages[missed.second] == 0).sum(axis=1)
        other = more >= room if self.second_set_tie_second else more > room
        sets, room = np.where(other, missed.second, missed.first), np.where(other, more, room)
        free: Mask = room > 0
        ways = self._extreme(self.ages[sets[free]] == 0, self.free_way_highest)
        self._put(missed.only(free), sets[free], ways)
        counts[ADDED] += free.sum()
        counts[SETS_FILLED] += (room == 1).sum()
        return free

    def _victims(self, full: Missed, counts: I64) -> tuple[I64, I64, U64]:
        """Set, way and rank of the lowest (estimate, last access), rank being both in one number.

        Estimates take 8 bits above a clock that stays below 2^56.
        """
        places = np.column_stack((full.first, full.second))[:, : self.candidate_sets]
        rank = self.ages[places]
        if self.admission:
            usage = self.sketch.estimates(xxh3_64(self.rows[places].ravel(), self.hash_seed))
            rank = rank + usage.reshape(rank.shape) * _USAGE
        twice = (full.first == full.second) & (self.candidate_sets == 2)
        rank[twice, 1:] = _NOBODY
        counts[ESTIMATES_READ] += (rank != _NOBODY).sum() if self.admission else 0
        rank = rank.reshape(len(places), self.candidate_sets * self.ways)
        lowest = rank.min(axis=1, initial=_NOBODY)
        slot = self._extreme(rank == lowest[:, None], self.victim_tie_highest)
        sets = places[np.arange(len(places)), slot // self.ways]
        return sets, slot % self.ways, lowest

    def _put(self, newcomers: Missed, sets: I64, ways: I64) -> None:
        self.rows[sets, ways] = newcomers.rows
        self.ages[sets, ways] = newcomers.ticks

    @staticmethod
    def _extreme(marked: Mask, highest: bool) -> I64:
        """The first marked column of each line, or the last one."""
        column: I64 = marked[:, ::-1].argmax(axis=1) if highest else marked.argmax(axis=1)
        return marked.shape[1] - 1 - column if highest else column
