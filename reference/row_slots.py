"""What sits in which way of which set? The slots of one table, without any policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reference.row_placement import RowSite


class Place(NamedTuple):
    """One slot's address."""

    set_index: int
    way: int


@dataclass
class Entry:
    """A resident row: what it is, the bytes it was filled with, its last access, its pins."""

    site: RowSite
    value: int
    last_access: int
    pins: int = 0
    held: bool = False
    """One of the pins is a read-ahead's, to be given back by the first lookup."""

    def unpin(self) -> None:
        """Give one pin back; the last one takes a read-ahead's hold with it."""
        self.pins -= 1
        self.held = self.held and self.pins > 0

    def release_hold(self) -> None:
        """A lookup ends the protection that a read-ahead gave the row."""
        if self.held:
            self.unpin()
            self.held = False


class Resident(NamedTuple):
    """An occupied slot."""

    place: Place
    entry: Entry


class RowSlots:
    """Sets of `ways` slots each. A set comes into being when its first row arrives.

    So a table of any number of sets costs the memory of the rows it holds.
    """

    def __init__(self, ways: int) -> None:
        self._empty: list[Entry | None] = [None] * ways
        self._sets: dict[int, list[Entry | None]] = {}

    def in_use(self) -> list[int]:
        """The sets that hold a row, ascending."""
        return sorted(self._sets)

    def of_set(self, set_index: int) -> list[Entry | None]:
        """The ways of a set in order, None for a free one. To read, not to write."""
        return self._sets.get(set_index, self._empty)

    def put(self, place: Place, entry: Entry) -> None:
        """Fill a free slot, or replace the row that sits there."""
        self._sets.setdefault(place.set_index, self._empty.copy())[place.way] = entry

    def free_ways(self, set_index: int) -> list[int]:
        """The free ways of a set, in order."""
        return [way for way, entry in enumerate(self.of_set(set_index)) if entry is None]

    def residents(self, sets: Iterable[int]) -> list[Resident]:
        """The occupied slots of `sets`: set after set, ways in order."""
        return [
            Resident(Place(set_index, way), entry)
            for set_index in sets
            for way, entry in enumerate(self.of_set(set_index))
            if entry is not None
        ]

    def find(self, site: RowSite) -> Resident | None:
        """The slot that holds the row. Only its own candidate sets are probed."""
        for set_index in site.sets:
            for way, entry in enumerate(self.of_set(set_index)):
                if entry is not None and entry.site.row == site.row:
                    return Resident(Place(set_index, way), entry)
        return None
