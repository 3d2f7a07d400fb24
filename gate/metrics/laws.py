"""Which laws can a row cache's counters keep or break, and when is there no verdict?

The laws are those of the RowCache report, as far as counts between two scrapes can tell. The
report's server does not count refusals: they are inferred, misses - added - evictions, where added
is the growth of the resident rows, because nothing is ever removed.

After a reset nothing is known of an interval: every verdict is `unknown`, unless a single scrape
contradicts itself. A law whose series are missing is `skip`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gate.audit.findings import PASS, Finding, Judgement, judged, skipped, unknown
from gate.metrics.intervals import TOTAL, Interval
from gate.metrics.names import COUNTERS, GAUGES

IN_FLIGHT = "(or a request was under way at a scrape)"


class Law(NamedTuple):
    """A law on one table, or on the total, over one interval.

    needs: fields that must be in both scrapes, or in one of them if the law is on each scrape.
    each_scrape: it judges scrapes one by one, so that a reset between them does not excuse it.
    """

    sentence: str
    judge: Callable[[Interval], Judgement]
    needs: tuple[str, ...]
    each_scrape: bool = False


def added(interval: Interval) -> int:
    """Missed rows that filled a free slot: the growth of the resident rows."""
    return interval.ends.grown("resident_rows")


def refusals(interval: Interval) -> int:
    """Missed rows that were dropped, inferred: misses - added - evictions."""
    ends = interval.ends
    return ends.grown("misses") - added(interval) - ends.grown("evictions")


def judge_interval(interval: Interval) -> Iterator[Finding]:
    """The verdict on every law, in the order of LAWS; the law of the total on the total alone."""
    for name, law in LAWS.items():
        if name != TOTAL or interval.table == TOTAL:
            yield Finding(name, *_judgement(law, interval))


def _judgement(law: Law, interval: Interval) -> Judgement:
    if interval.reset and not law.each_scrape:
        return unknown(interval.reset)
    judgeable = interval.ends.having if law.each_scrape else interval.ends.has
    if not judgeable(*law.needs):
        return skipped("; ".join(interval.missing(*law.needs)))
    found = law.judge(interval)
    return unknown(interval.reset) if interval.reset and found.verdict == PASS else found


def _counters(interval: Interval) -> Judgement:
    # A fall is a reset, and then this is not reached: no counter can be caught falling otherwise.
    rises = [what for what in COUNTERS if interval.ends.has(what)]
    if not rises:
        return skipped("no counter is in both scrapes")
    return judged([], ", ".join(f"{what} +{interval.ends.grown(what)}" for what in rises))


def _conservation(interval: Interval) -> Judgement:
    misses, evictions = interval.ends.grown("misses"), interval.ends.grown("evictions")
    left = refusals(interval)
    sums = f"{misses} misses, {added(interval)} added + {evictions} evictions"
    faults = [f"{sums}: {-left} too many {IN_FLIGHT}"] if left < 0 else []
    return judged(faults, f"{sums}: {left} refusals")


def _since_start(interval: Interval) -> Judgement:
    """Rows in the cache that no miss brought were there before the counters, or break the law."""
    for where, counts in interval.ends.having("misses", "evictions", "resident_rows"):
        left = counts["misses"] - counts["evictions"] - counts["resident_rows"]
        if left < 0:
            return unknown(f"counted from later on: {-left} resident rows without a miss {where}")
    return judged([], f"{left} refusals since the counters began")


def _nothing_removed(interval: Interval) -> Judgement:
    before, after = interval.ends.before["resident_rows"], interval.ends.after["resident_rows"]
    faults = [f"resident_rows fell from {before} to {after}, no counter fell"]
    return judged(faults if after < before else [], f"{before} to {after} resident rows")


def _capacity(interval: Interval) -> Judgement:
    ends = interval.ends.having("resident_rows", "capacity_rows")
    faults = [
        f"{where}: {counts['resident_rows']} resident rows, capacity {counts['capacity_rows']}"
        for where, counts in ends
        if counts["resident_rows"] > counts["capacity_rows"]
    ]
    last = ends[-1][1]
    return judged(faults, f"{last['resident_rows']} of {last['capacity_rows']} slots")


def _same_capacity(interval: Interval) -> Judgement:
    before, after = interval.ends.before["capacity_rows"], interval.ends.after["capacity_rows"]
    faults = [f"capacity_rows went from {before} to {after}"]
    return judged(faults if before != after else [], f"{after} rows")


def _whole_sets(interval: Interval) -> Judgement:
    ends = interval.ends.having("capacity_rows")
    faults = [
        f"{where}: capacity {counts['capacity_rows']} is no multiple of {interval.ways} ways"
        for where, counts in ends
        if counts["capacity_rows"] % interval.ways
    ]
    return judged(faults, f"{ends[-1][1]['capacity_rows'] // interval.ways} sets")


def _full_set(interval: Interval) -> Judgement:
    if interval.parts:
        return skipped("judged table by table")
    ends = interval.ends
    evictions, dropped = ends.grown("evictions"), max(0, refusals(interval))
    resident = ends.after["resident_rows"]
    if not ends.after["capacity_rows"]:
        faults = [f"{evictions} evictions with a capacity of 0"] if evictions else []
        return judged(faults, f"{dropped} refusals with a capacity of 0")
    what = f"{evictions} evictions and {dropped} refusals with {resident} resident rows"
    faults = [f"{what}: no set of {interval.ways} ways can be full"]
    return judged(faults if evictions + dropped and resident < interval.ways else [], what)


def _hits(interval: Interval) -> Judgement:
    hits, resident = interval.ends.grown("hits"), interval.ends.after["resident_rows"]
    what = f"{hits} hits with {resident} resident rows"
    return judged([what] if hits and not resident else [], what)


def _lookups(interval: Interval) -> Judgement:
    ends = interval.ends
    expected = ends.grown("hits") + ends.grown("misses")
    return _equal("lookups", ends.grown("lookups"), expected, "hits + misses")


def _refusals(interval: Interval) -> Judgement:
    counted = interval.ends.grown("refusals")
    return _equal("refusals", counted, refusals(interval), "misses - added - evictions")


def _added(interval: Interval) -> Judgement:
    return _equal("added", interval.ends.grown("added"), added(interval), "growth of resident_rows")


def _equal(what: str, counted: int, expected: int, of: str) -> Judgement:
    faults = [f"{counted} {what} counted, {of} gives {expected} {IN_FLIGHT}"]
    return judged(faults if counted != expected else [], f"{counted} {what}, as {of} gives")


def _total(interval: Interval) -> Judgement:
    faults, compared = [], 0
    for (where, exposed), (_, sums) in zip(
        interval.exposed.both(), interval.ends.both(), strict=True
    ):
        for what in (*COUNTERS, *GAUGES):
            if what in exposed and what in sums:
                compared += 1
                if exposed[what] != sums[what]:
                    faults.append(f"{where}: {what} {exposed[what]}, its tables {sums[what]}")
    if not compared:
        return skipped("the server exposes no total beside its tables")
    return judged(faults, f"{compared} totals are the sums of {len(interval.parts)} tables")


LAWS = {
    "counters-rise": Law("no counter ever falls", _counters, ()),
    "conservation": Law(
        "misses are at least the rows added and evictions: refusals are not negative",
        _conservation,
        ("misses", "evictions", "resident_rows"),
    ),
    "since-start": Law(
        "the same holds from the first count on",
        _since_start,
        ("misses", "evictions", "resident_rows"),
        each_scrape=True,
    ),
    "nothing-removed": Law("resident rows never fall", _nothing_removed, ("resident_rows",)),
    "capacity": Law(
        "resident rows do not exceed the capacity", _capacity, GAUGES, each_scrape=True
    ),
    "same-capacity": Law("the capacity stays the same", _same_capacity, ("capacity_rows",)),
    "whole-sets": Law(
        "the capacity is a whole number of sets", _whole_sets, ("capacity_rows",), each_scrape=True
    ),
    "full-set": Law(
        "an eviction or a refusal needs a full set",
        _full_set,
        ("misses", "evictions", *GAUGES),
    ),
    "hit-needs-row": Law("a hit needs a resident row", _hits, ("hits", "resident_rows")),
    "lookups": Law("lookups = hits + misses", _lookups, ("lookups", "hits", "misses")),
    "refusals": Law(
        "counted refusals are those inferred",
        _refusals,
        ("refusals", "misses", "evictions", "resident_rows"),
    ),
    "added": Law("counted rows added are the growth", _added, ("added", "resident_rows")),
    TOTAL: Law("an exposed total is the sum of its tables", _total, (), each_scrape=True),
}
"""All laws, in the order they are shown."""
