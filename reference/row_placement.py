"""Where may a row sit, and which sketch cells are its own? By hash, or as injected.

With h = XXH3-64 of the id's 8 little-endian bytes under the configured seed, and mix = the
finaliser of splitmix64:

    first set        h mod sets
    second set       mix(h XOR 0xA0761D6478BD642F) mod sets
    sketch column j  mix(h XOR (j + 1) * 0x9E3779B97F4A7C15) mod width

The modulo is a true one: sets need not be a power of two. The report does not name its hash; any
good one gives the same rates, so a lockstep needs this one shared or the placement injected.
"""

from __future__ import annotations

from typing import NamedTuple

from reference.hashing import GOLDEN_GAMMA, MASK64, mix, xxh3_64
from reference.row_config import RowCacheConfig

SECOND_SET_SALT = 0xA0761D6478BD642F
MOST_REMEMBERED = 1 << 16
"""Sites that are kept, so that a row looked up again is not hashed again."""


class RowSite(NamedTuple):
    """A row of one table with all that follows from its id."""

    row: int
    sets: tuple[int, ...]
    """The sets that may hold it, first candidate first, each once; none in a table without."""
    columns: tuple[int, ...]
    """Its column in each array of the sketch."""


class RowPlacement:
    """The sites of the rows of one table of `sets` sets."""

    def __init__(self, config: RowCacheConfig, sets: int) -> None:
        self._config = config
        self._sets = sets
        self._salts = [(j + 1) * GOLDEN_GAMMA & MASK64 for j in range(config.sketch_rows)]
        self._remembered: dict[int, RowSite] = {}

    def site(self, row: int) -> RowSite:
        """Everything that the id of `row` decides."""
        known = self._remembered.get(row)
        if known is None:
            known = self._placed(row)
            if len(self._remembered) < MOST_REMEMBERED:
                self._remembered[row] = known
        return known

    def _placed(self, row: int) -> RowSite:
        h = xxh3_64(row, self._config.hash_seed)
        sets = self._config.injected_sets.get(row) or self._hashed_sets(h)
        columns = self._config.injected_columns.get(row) or self._hashed_columns(h)
        return RowSite(row, tuple(dict.fromkeys(sets)) if self._sets else (), columns)

    def _hashed_sets(self, h: int) -> tuple[int, ...]:
        if not self._sets:
            return ()
        first = h % self._sets
        if self._config.candidate_sets == 1:
            return (first,)
        return first, mix(h ^ SECOND_SET_SALT) % self._sets

    def _hashed_columns(self, h: int) -> tuple[int, ...]:
        return tuple([mix(h ^ salt) % self._config.sketch_width for salt in self._salts])
