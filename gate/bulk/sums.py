"""What must add up when a small run is over, whatever the cache did?

These are laws of reference/row_counter_laws.py and reference/expert_counter_laws.py, told of the counters at the end of
runs that only gather or load, of very many runs in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.hashing import I64

Mask: TypeAlias = NDArray[np.bool_]
Counted: TypeAlias = dict[str, I64]
"""Counter -> its value at the end of each run."""
Facts: TypeAlias = Mapping[str, I64]
"""What is known of each run without any cache, by name."""


@dataclass(frozen=True, slots=True)
class Sum:
    """One thing that must add up.

    Args:
        sentence: what it says.
        counters: those it is told of.
        holds: for each run, from what was counted and what is known.
    """

    sentence: str
    counters: tuple[str, ...]
    holds: Callable[[Counted, Facts], Mask]


def broken(sums: tuple[Sum, ...], counted: Counted, facts: Facts) -> Iterator[tuple[str, I64]]:
    """The sentences that do not hold, and the numbers of the runs; a sum of what is not counted is left out."""
    for one in sums:
        if all(name in counted for name in one.counters):
            wrong = np.flatnonzero(~one.holds(counted, facts))
            if len(wrong):
                yield one.sentence, wrong


def _total(counted: Counted, names: tuple[str, ...]) -> I64:
    total: I64 = np.sum([counted[name] for name in names], axis=0)
    return total


def _implies(when: Mask, then: Mask) -> Mask:
    return ~when | then


def distinct(ids: NDArray[np.uint64] | I64, group: I64) -> I64:
    """The groups of the different ids of each group, one item an id; `ids` and `group` have one length."""
    order = np.lexsort((ids, group))
    ids, group = ids[order], group[order]
    new = np.ones(len(ids), dtype=bool)
    new[1:] = (ids[1:] != ids[:-1]) | (group[1:] != group[:-1])
    return group[new]


PLACED = ("added", "evictions", "refusals")
READAHEAD = tuple(f"readahead_{name}" for name in ("inserts", "present", *PLACED))

ROW_SUMS = (
    Sum(
        "each distinct row of a gather is looked up once",
        ("lookups",),
        lambda c, f: c["lookups"] == f["lookups"],
    ),
    Sum(
        "every lookup is a hit or a miss",
        ("hits", "misses"),
        lambda c, f: c["hits"] + c["misses"] == f["lookups"],
    ),
    Sum(
        "every missed row is added, replaces another or is refused",
        ("misses", *PLACED),
        lambda c, f: c["misses"] == _total(c, PLACED),
    ),
    Sum(
        "the residents are the rows that were added",
        ("resident_rows", "added"),
        lambda c, f: c["resident_rows"] == c["added"],
    ),
    Sum(
        "no more rows are resident than there are slots, or rows",
        ("resident_rows",),
        lambda c, f: c["resident_rows"] <= np.minimum(f["capacity_rows"], f["met"]),
    ),
    Sum(
        "a set that rows were asked of fills up before anything leaves",
        ("resident_rows",),
        lambda c, f: _implies(f["sets"] > 0, c["resident_rows"] >= np.minimum(f["ways"], f["met"])),
    ),
    Sum(
        "the capacity is sets * ways",
        ("capacity_rows",),
        lambda c, f: c["capacity_rows"] == f["capacity_rows"],
    ),
    Sum("a row misses at first sight", ("misses",), lambda c, f: c["misses"] >= f["met"]),
    Sum(
        "while there are no more rows than ways, all that were seen hit",
        ("hits",),
        lambda c, f: _implies(
            (f["sets"] > 0) & (f["met"] <= f["ways"]), c["hits"] == f["lookups"] - f["met"]
        ),
    ),
    Sum(
        "a row is replaced or refused only where a set is full",
        ("added", "evictions", "refusals"),
        lambda c, f: _implies(
            (f["sets"] > 0) & (c["evictions"] + c["refusals"] > 0), c["added"] >= f["ways"]
        ),
    ),
    Sum(
        "without admission a table that has a set refuses no row",
        ("refusals",),
        lambda c, f: _implies((f["sets"] > 0) & (f["admission"] == 0), c["refusals"] == 0),
    ),
    Sum(
        "a table without sets keeps nothing",
        ("hits", "added", "evictions"),
        lambda c, f: _implies(f["sets"] == 0, c["hits"] + c["added"] + c["evictions"] == 0),
    ),
    Sum(
        "estimates are halved once a period, and never without one",
        ("halvings",),
        lambda c, f: np.where(
            f["at_once"] > 0,
            c["halvings"] == f["periods"],
            (c["halvings"] <= f["periods"]) & _implies(f["periods"] > 0, c["halvings"] > 0),
        ),
    ),
    Sum(
        "what no read-ahead asked for is not counted as one",
        READAHEAD,
        lambda c, f: _total(c, READAHEAD) == 0,
    ),
)
"""Of a row cache of one table that is only gathered from."""


EXPERT_SUMS = (
    Sum(
        "each distinct expert of a batch is looked up once, none while the cache is off",
        ("lookups",),
        lambda c, f: c["lookups"] == np.where(f["on"] > 0, f["lookups"], 0),
    ),
    Sum(
        "the lookups of decode are those of its batches",
        ("decode_lookups",),
        lambda c, f: c["decode_lookups"] == np.where(f["on"] > 0, f["decode_lookups"], 0),
    ),
    Sum("hits are at most lookups", ("hits", "lookups"), lambda c, f: c["hits"] <= c["lookups"]),
    Sum(
        "hits of decode are hits, and lookups of decode",
        ("hits", "decode_hits", "decode_lookups"),
        lambda c, f: c["decode_hits"] <= np.minimum(c["hits"], c["decode_lookups"]),
    ),
    Sum(
        "an expert misses at first sight",
        ("hits",),
        lambda c, f: c["hits"] <= f["lookups"] - f["met"],
    ),
    Sum(
        "what the batch just before loaded is still there",
        ("hits",),
        lambda c, f: c["hits"] >= np.where(f["on"] > 0, f["stayed"], 0),
    ),
    Sum(
        "what is asked for is read or hit",
        ("hits", "read_bytes"),
        lambda c, f: _between(
            f["asked_bytes"] - c["read_bytes"], c["hits"] * f["smallest"], c["hits"] * f["largest"]
        ),
    ),
    Sum(
        "what decode asks for is read or hit",
        ("decode_hits", "decode_read_bytes"),
        lambda c, f: _between(
            f["decode_asked_bytes"] - c["decode_read_bytes"],
            c["decode_hits"] * f["smallest"],
            c["decode_hits"] * f["largest"],
        ),
    ),
    Sum(
        "the residents are the misses less the evictions",
        ("lookups", "hits", "evictions", "resident_entries"),
        lambda c, f: c["lookups"] - c["hits"] - c["evictions"] == c["resident_entries"],
    ),
    Sum(
        "the last batch is resident, and nothing that was not asked for",
        ("resident_entries",),
        lambda c, f: _between(
            c["resident_entries"],
            np.where(f["on"] > 0, f["last_entries"], 0),
            np.where(f["on"] > 0, f["met"], 0),
        ),
    ),
    Sum(
        "no more is resident than the budget or the last batch",
        ("resident_bytes",),
        lambda c, f: c["resident_bytes"] <= np.where(f["on"] > 0, f["most_bytes"], 0),
    ),
    Sum(
        "every miss is a first sight or a re-read",
        ("lookups", "hits", "rereads"),
        lambda c, f: c["rereads"] == c["lookups"] - c["hits"] - np.where(f["on"] > 0, f["met"], 0),
    ),
    Sum(
        "what is read again was evicted",
        ("rereads", "evictions"),
        lambda c, f: c["rereads"] <= c["evictions"],
    ),
    Sum(
        "a budget that holds all that is asked for evicts nothing",
        ("evictions", "hits"),
        lambda c, f: _implies(
            f["holds_all"] > 0, (c["evictions"] == 0) & (c["hits"] == f["lookups"] - f["met"])
        ),
    ),
    Sum(
        "the budget is the request under the declared rule",
        ("budget_bytes",),
        lambda c, f: c["budget_bytes"] == f["granted"],
    ),
    Sum(
        "a larger budget hits at least as often",
        ("hits",),
        lambda c, f: _rises(c["hits"], f),
    ),
)
"""Of an expert cache under policy lru or layer whose batches are loaded in one generation."""


def _between(value: I64, least: I64, most: I64) -> Mask:
    return (least <= value) & (value <= most)


def _rises(hits: I64, facts: Facts) -> Mask:
    """Is a run's number at least that of each run of the same sequence with a smaller budget?"""
    order = np.lexsort((hits, facts["granted"], facts["sequence"]))
    same = np.diff(facts["sequence"][order]) == 0
    holds = np.ones(len(hits), dtype=bool)
    holds[order[1:]] = ~same | (np.diff(hits[order]) >= 0)
    return holds
