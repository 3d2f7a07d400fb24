"""Which situations does a program put the row cache in? Named, so that it can be told whether they were reached.

Told from the reference's answers; what only the cache sees while it works is noted by watched_rows.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gate.power.situations import MANY_TIMES, Holds, names
from gate.power.watched_rows import Watched
from reference.laws import Case, grown
from reference.program import Answer, AskRows, Pin, Program, Unpin
from reference.row_config import RowCacheConfig
from reference.row_session import NO_SUCH_TABLE, RowSession
from reference.row_timeline import Row, RowStep, Sites
from reference.run import run, run_on
from reference.usage_sketch import CELL_MAX

SITUATIONS: dict[str, str] = {
    # the cache and its rows
    "sets-no-power-of-two": "a set count that is no power of two",
    "below-one-set": "a table without a set is used",
    "several-tables": "more than one table is used",
    "injected-sets": "rows are placed by the program",
    "injected-columns": "sketch columns are given by the program",
    "equal-candidates": "both candidate sets of a row are the same",
    "row-zero": "row 0",
    "wide-id": "a row id beyond 2^32",
    "last-id": "the row id with all bits set",
    "alike-in-16-bits": "two residents that differ only above bit 15",
    "alike-in-32-bits": "two residents that differ only above bit 31",
    # gathers
    "empty-gather": "a gather of nothing",
    "repeats-in-a-gather": "a row stands twice in a gather",
    "larger-than-a-set": "a gather larger than a set",
    "hits-and-misses": "a gather of hits and misses",
    "long-repeat": "the same gather 200 times or more",
    # who gets a slot
    "equally-roomy": "a row meets two sets with as many free ways",
    "one-set-full": "a row meets a full and a roomy candidate set",
    "both-sets-full": "a row meets two candidate sets that are full",
    "second-set-replaces": "a row replaces one of its second candidate set",
    "replaced": "a row replaces another",
    "replaced-at-a-tie": "a row replaces one that is used as much",
    "victim-not-oldest": "the row that leaves is less used, and not the oldest",
    "equal-estimates": "the least used of full sets are several: the oldest leaves",
    "plain-lru-replaces": "a row replaces another without admission",
    "refused": "a row is refused",
    "refused-by-one": "a row is refused by a difference of one",
    "several-refused": "more than one row of a gather is refused",
    # the sketch
    "saturated": "an estimate of 255",
    "collision": "an estimate above the row's own lookups",
    "halving": "a halving",
    "several-halvings": "more than one halving in one step",
    "halved-odd": "an odd cell is halved",
    # read-ahead and pins
    "read-ahead-added": "a read-ahead fills a free way",
    "read-ahead-replaces": "a read-ahead replaces a row",
    "read-ahead-refused": "a read-ahead is refused",
    "read-ahead-present": "a read-ahead of a resident row",
    "held-then-used": "a row held by read-ahead is looked up",
    "pinned-pushed": "a row is refused or replaces another while one of its sets holds a pinned row",
    "all-pinned": "a row is refused since all rows of its sets are pinned",
    "pinned-twice": "a row is pinned twice",
    "unpinned-too-often": "an unpin of a resident row without pins",
    "asked": "residency is asked for",
    "refused-table": "a table that does not exist",
}


def situations(program: Program) -> Iterator[str]:
    """The situations of a program, each as often as it is reached."""
    config = program.config
    assert isinstance(config, RowCacheConfig)
    cache = Watched(config)
    case = Case.of(program, run_on(RowSession(config, lambda _: cache), program), run)
    yield from cache.notes
    yield from names(_of_the_cache(config))
    history = History(config)
    for around in case.around_rows():
        moment = Moment(config, *around)
        for holds in (_of_a_step(moment), history.take(moment)):
            yield from names(holds)
        if moment.step.is_gather:
            for holds in (_of_a_gather(moment), _of_residents(moment)):
                yield from names(holds)


# --- what the answers tell ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a program and the answers around it."""

    config: RowCacheConfig
    step: RowStep
    before: Answer
    after: Answer

    @property
    def there(self) -> frozenset[Row]:
        """What is resident after it."""
        return self.after.resident or frozenset()

    @property
    def keys(self) -> frozenset[Row]:
        """The rows it names."""
        return frozenset((self.step.table, row) for row in self.step.rows)

    def grew(self, counter: str) -> int:
        """How far a counter rose."""
        return grown(self.before, self.after, counter)


def _of_the_cache(config: RowCacheConfig) -> Holds:
    return {
        "sets-no-power-of-two": any(count & (count - 1) for count in config.sets),
        "injected-sets": config.injected_sets,
        "injected-columns": config.injected_columns,
    }


def _of_a_step(at: Moment) -> Holds:
    halved = at.grew("halvings")
    return {
        "halving": halved,
        "several-halvings": halved > 1,
        "read-ahead-added": at.grew("readahead_added"),
        "read-ahead-replaces": at.grew("readahead_evictions"),
        "read-ahead-refused": at.grew("readahead_refusals"),
        "read-ahead-present": at.grew("readahead_present"),
        "asked": isinstance(at.step.operation, AskRows) and not at.after.refusal,
        "refused-table": at.after.refusal == NO_SUCH_TABLE,
    }


def _of_a_gather(at: Moment) -> Holds:
    step, hits, refused, replaced = (
        at.step,
        at.after.hits or (),
        at.grew("refusals"),
        at.grew("evictions"),
    )
    return {
        "below-one-set": step.rows and not at.config.sets[step.table],
        "several-tables": step.table > 0,
        "row-zero": 0 in step.rows,
        "wide-id": any(row > 1 << 32 for row in step.rows),
        "last-id": (1 << 64) - 1 in step.rows,
        "empty-gather": not step.rows,
        "repeats-in-a-gather": len(step.rows) > len(step.distinct),
        "larger-than-a-set": len(step.distinct) > at.config.ways,
        "hits-and-misses": 0 < sum(hits) < len(hits),
        "long-repeat": step.times >= MANY_TIMES,
        "replaced": replaced,
        "plain-lru-replaces": replaced and not at.config.admission,
        "refused": refused,
        "several-refused": step.times == 1 and refused > 1,
    }


def _of_residents(at: Moment) -> Holds:
    return {
        "saturated": CELL_MAX in (at.after.estimates or {}).values(),
        "alike-in-16-bits": _alike(at.there, 16),
        "alike-in-32-bits": _alike(at.there, 32),
    }


def _alike(residents: Iterable[Row], bits: int) -> bool:
    """Are there two of one table with the same low bits?"""
    low = [(table, row % (1 << bits)) for table, row in residents]
    return len(set(low)) < len(low)


@dataclass(slots=True)
class History:
    """What rows went through up to now.

    Attributes:
        lookups: by row.
        held: rows that a read-ahead protects until their first lookup.
        pinned: by row, the pins it was given and did not give back.
    """

    config: RowCacheConfig
    sites: Sites = field(init=False)
    lookups: Counter[Row] = field(default_factory=Counter)
    held: frozenset[Row] = frozenset()
    pinned: Counter[Row] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.sites = Sites(self.config)

    def take(self, at: Moment) -> Holds:
        """Follow one step."""
        if at.step.is_gather:
            return self._gathered(at)
        if at.step.is_insert and self.config.readahead == "pin":
            self.held |= at.keys & at.there - (at.before.resident or frozenset())
        if isinstance(at.step.operation, Pin):
            return self._pinned(at)
        return self._unpinned(at) if isinstance(at.step.operation, Unpin) else {}

    def _gathered(self, at: Moment) -> Holds:
        self.lookups.update(dict.fromkeys(at.keys, at.step.times))
        used = self.held & at.keys
        self.held -= used
        estimates = (at.after.estimates or {}).items()
        return {
            "held-then-used": used,
            "collision": any(count > self.lookups[row] for row, count in estimates),
            "equal-candidates": self.config.candidate_sets == 2
            and any(len(self.sites.of(row).sets) == 1 for row in at.keys),
        }

    def _pinned(self, at: Moment) -> Holds:
        given = at.keys & at.there
        self.pinned.update({row: at.step.times * at.step.rows.count(row[1]) for row in given})
        return {"pinned-twice": any(self.pinned[row] > 1 for row in given)}

    def _unpinned(self, at: Moment) -> Holds:
        asked = {row: at.step.times * at.step.rows.count(row[1]) for row in at.keys & at.there}
        known = {row: self.pinned[row] + (row in self.held) for row in asked}
        self.pinned.subtract({row: min(count, self.pinned[row]) for row, count in asked.items()})
        return {"unpinned-too-often": any(count > known[row] for row, count in asked.items())}
