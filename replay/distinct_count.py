"""How many different rows did a trace of any length ask for, in bounded memory?

Linear counting (Whang, Vander-Zanden and Taylor, "A linear-time probabilistic counting algorithm
for database applications", ACM TODS 1990): rows are hashed into cells, and the share of the cells
still empty tells how many there were. With 2^25 cells the standard error is below 0.03 % up to
100 million rows.
"""

from __future__ import annotations

from math import log

import numpy as np

from replay.hashing import U64, mix

CELLS = 1 << 25


class DistinctCount:
    """Counts the different ids among all that were added."""

    def __init__(self) -> None:
        self._hit = np.zeros(CELLS, dtype=bool)

    def add(self, ids: U64) -> None:
        """Take ids in, repeated or not."""
        self._hit[mix(ids) & np.uint64(CELLS - 1)] = True

    def estimate(self) -> float:
        """About how many different ids there were."""
        empty = CELLS - int(np.count_nonzero(self._hit))
        # With every cell taken there are at least so many that one is expected to be left.
        return CELLS * log(CELLS / max(empty, 1))
