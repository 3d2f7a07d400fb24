"""What can be chosen about a RowCache, and what is assumed where its report says nothing?

The RowCache report states the rules of the cache; where it is silent, its measured table may still
force a rule (those are not options here), or be blind to it. Each choice of the last kind is a
field below with the default that all figures of this project use; an implementation that differs
declares its own. At 4 ways every one of them moves the measured hit rates by 0.1 point at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

from reference.errors import printable

MAX_TABLES = 256
MAX_WAYS = 1 << 16
MAX_SKETCH_ROWS = 256
MAX_SKETCH_CELLS = 1 << 28
"""Bounds that no real cache meets and that keep a hostile configuration from eating the memory."""


@dataclass(frozen=True)
class RowCacheConfig:
    """Geometry, policy and open choices of one RowCache.

    Raises ValueError when a field cannot be used. A capacity of 0 is legal: nothing is kept.
    """

    # Geometry and policy: what the report compares.

    sets: tuple[int, ...]
    """Sets of each table, 0 or more each, not only powers of two. One entry a table."""
    ways: int = 4
    """Slots of a set."""
    candidate_sets: int = 1
    """1: a row has one set. 2: a row may sit in either of two sets; same slots, same bytes."""
    admission: bool = True
    """False: plain LRU in the set, and every missed row is admitted."""

    # The usage sketch, one a table. 4 x 262,144 cells of 8 bits are the 1 MiB the report states.

    sketch_rows: int = 4
    sketch_width: int = 262_144
    halve_every: int | None = None
    """Lookups between two halvings of all cells; None never halves (the report's runs did not)."""
    halve_when: Literal["at_once", "after_gather"] = "at_once"
    """A halving falls right after the lookup that completes the period, or when the gather ends."""

    # Placement: see reference/row_placement.py.

    hash_seed: int = 0
    """Seed of XXH3-64 over the row id; sets and sketch columns all derive from that hash."""
    injected_sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Row id -> its candidate sets (1 up to `candidate_sets` of them), in place of the hash."""
    injected_columns: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Row id -> its column in each of the `sketch_rows` arrays, in place of the hash."""
    second_set_tie: Literal["first", "second"] = "first"
    """Which candidate set a missed row fills when both have equally many free slots."""

    # Time and order.

    clock_scope: Literal["table", "cache"] = "table"
    """One clock a table, or one for all: told by last accesses, and by a read-ahead, as old as the clock."""
    clock_tick: Literal["lookup", "gather"] = "lookup"
    """The clock moves once a looked-up row, or once a gather (whose rows are then of one age)."""
    insert_age: Literal["lookup", "insert"] = "lookup"
    """A missed row enters with the time of its own lookup, or with a tick of its own on insert."""
    gather_order: Literal["first_occurrence", "last_occurrence", "sorted"] = "first_occurrence"
    """In which order the distinct rows of a gather are looked up, and the missed ones inserted."""
    free_way: Literal["lowest", "highest"] = "lowest"
    """Which of several free ways of a set is filled."""
    victim_tie: Literal["lowest", "highest"] = "lowest"
    """Which way leaves when estimate and last access are equal; set by set, ways in order."""

    # Read-ahead: `insert` without a lookup.

    readahead: Literal["admission", "pin"] = "admission"
    """A read-ahead row passes the admission rule; or bypasses it, pinned until its first lookup."""
    insert_resident: Literal["nothing", "touch"] = "nothing"
    """A read-ahead insert of a resident row does nothing, or makes it as recent as the clock."""

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_choices()
        for row, sets in self.injected_sets.items():
            self._check_sets_of(row, sets)
        for row, columns in self.injected_columns.items():
            self._check_columns_of(row, columns)

    @property
    def tables(self) -> int:
        """How many tables the cache serves."""
        return len(self.sets)

    @property
    def capacity_rows(self) -> int:
        """Slots of all tables together."""
        return sum(self.sets) * self.ways

    def _check_numbers(self) -> None:
        _require(0 < self.tables <= MAX_TABLES, "sets", f"1 to {MAX_TABLES} tables", self.sets)
        _require(min(self.sets) >= 0, "sets", "0 or more sets a table", self.sets)
        _require(1 <= self.ways <= MAX_WAYS, "ways", f"1 to {MAX_WAYS}", self.ways)
        _require(self.candidate_sets in (1, 2), "candidate_sets", "1 or 2", self.candidate_sets)
        _require(self.sketch_rows >= 1, "sketch_rows", "1 or more", self.sketch_rows)
        most = f"at most {MAX_SKETCH_ROWS}"
        _require(self.sketch_rows <= MAX_SKETCH_ROWS, "sketch_rows", most, self.sketch_rows)
        _require(self.sketch_width >= 1, "sketch_width", "1 or more", self.sketch_width)
        cells = self.tables * self.sketch_rows * self.sketch_width
        _require(cells <= MAX_SKETCH_CELLS, "sketch cells of all tables", "at most 2^28", cells)
        period = self.halve_every
        _require(period is None or period >= 1, "halve_every", "1 or more, or None", period)
        _require(0 <= self.hash_seed < 1 << 64, "hash_seed", "0 to 2^64-1", self.hash_seed)

    def _check_choices(self) -> None:
        for name, known in _choices().items():
            chosen = getattr(self, name)
            _require(chosen in known, name, " or ".join(map(repr, known)), chosen)

    def _check_sets_of(self, row: int, sets: tuple[int, ...]) -> None:
        name = f"injected_sets[{row}]"
        _require(0 < len(sets) <= self.candidate_sets, name, "one entry a candidate set", sets)
        # A table without sets keeps nothing wherever a row is said to sit.
        limit = min((count for count in self.sets if count), default=1)
        _require(all(0 <= s < limit for s in sets), name, f"sets from 0 to {limit - 1}", sets)

    def _check_columns_of(self, row: int, columns: tuple[int, ...]) -> None:
        name = f"injected_columns[{row}]"
        _require(len(columns) == self.sketch_rows, name, f"{self.sketch_rows} columns", columns)
        inside = all(0 <= column < self.sketch_width for column in columns)
        _require(inside, name, f"columns from 0 to {self.sketch_width - 1}", columns)


@cache
def _choices() -> dict[str, tuple[object, ...]]:
    """The fields that are a choice of words, with the words; worked out once, as it is slow."""
    hints = get_type_hints(RowCacheConfig)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def _require(holds: bool, name: str, expected: str, got: object) -> None:
    if not holds:
        raise ValueError(f"{name}: expected {expected}, got {printable(repr(got))}")
