"""What does a RowCache count, and which counters come from demand, which from read-ahead?

Demand:      lookups = hits + misses,  misses = added + evictions + refusals.
Read-ahead:  inserts = present + added + evictions + refusals, counted apart, so that the law of
             the demand side holds whatever was read ahead.
Together:    resident_rows = added + readahead_added, since nothing is removed without being
             replaced.

The server of the RowCache report counts no refusals; they are what the identity leaves.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowCounters:
    """Totals since the start; `resident_rows` and `capacity_rows` are the present state."""

    lookups: int = 0
    """Distinct rows of each gather, summed."""
    hits: int = 0
    misses: int = 0
    added: int = 0
    """Missed rows that filled a free slot."""
    evictions: int = 0
    """Missed rows that replaced a resident row."""
    refusals: int = 0
    """Missed rows that were dropped: admission, pins, or no set to sit in."""
    readahead_inserts: int = 0
    readahead_present: int = 0
    """Read-ahead inserts of a row that was resident already."""
    readahead_added: int = 0
    readahead_evictions: int = 0
    readahead_refusals: int = 0
    halvings: int = 0
    """Halvings of the usage sketches."""
    resident_rows: int = 0
    """Occupied slots."""
    capacity_rows: int = 0
    """All slots."""

    def __add__(self, other: RowCounters) -> RowCounters:
        """Both tables' counters together."""
        mine, theirs = vars(self), vars(other)
        return RowCounters(**{name: count + theirs[name] for name, count in mine.items()})
