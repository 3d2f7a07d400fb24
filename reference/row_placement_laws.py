"""Which laws of a row cache need to know where each row may sit?

They hold for an implementation that shares the program's hash or takes the injected placement; without either only the
laws of the other files can be judged. Source: the RowCache report and reference/row_placement.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from reference.laws import (
    ONE_CANDIDATE,
    ROW,
    SHARED_SETS,
    Case,
    Finding,
    Registry,
    all_of,
    at_most,
    columns,
    compare,
    offered,
    one_column,
)
from reference.program import Answer
from reference.row_counter_laws import TURNED_AWAY, all_grown, config_of, pins
from reference.row_timeline import Row, RowStep, Sites

LAWS = Registry(ROW)
Findings = Iterable[Finding]

SetOfTable = tuple[int, int]


class Population:
    """The rows that each set has met, with one candidate set a row."""

    def __init__(self, case: Case) -> None:
        self.sites = Sites(config_of(case))
        self.met: defaultdict[SetOfTable, set[Row]] = defaultdict(set)

    def take(self, step: RowStep) -> None:
        """Follow one step."""
        for number in step.rows if step.is_gather or step.is_insert else ():
            row = (step.table, number)
            for index in self.sites.of(row).sets:
                self.met[step.table, index].add(row)


# --- one candidate set ----------------------------------------------------------------------------


@LAWS.law(
    "row-placement/population-decides-the-fill",
    0,
    all_of(SHARED_SETS, ONE_CANDIDATE, *columns("resident_rows")),
)
def population_decides_the_fill(case: Case) -> Findings:
    """One candidate set: each set holds min(ways, rows it ever met), whatever admission says."""
    population, ways = Population(case), config_of(case).ways
    if config_of(case).candidate_sets != 1:
        return
    for step, _, after in case.around_rows():
        population.take(step)
        if offered(after, "resident_rows"):
            held = sum(min(ways, len(rows)) for rows in population.met.values())
            yield compare(step.number, "resident_rows", held, after.counters["resident_rows"])


@LAWS.law(
    "row-placement/latest-stay-without-admission",
    1,
    all_of(SHARED_SETS, ONE_CANDIDATE, "admission=no"),
)
def latest_stay_without_admission(case: Case) -> Findings:
    """One candidate set, single rows, neither admission, read-ahead nor pins: the latest `ways` rows of a set hit."""
    config, sites = config_of(case), Sites(config_of(case))
    plain = config.candidate_sets == 1 and not config.admission and not pins(case)
    if not plain or any(step.is_insert or len(step.distinct) > 1 for step in case.row_steps):
        return
    latest: defaultdict[SetOfTable, list[int]] = defaultdict(list)
    for step, _, after in case.around_rows():
        for row, index in _single(step, sites):
            queue = latest[step.table, index]
            hit = step.times > 1 or row in queue[-config.ways :]
            if after.hits is not None:
                yield compare(step.number, f"hit of {row}", (hit,), after.hits)
            latest[step.table, index] = [*(other for other in queue if other != row), row]


def _single(step: RowStep, sites: Sites) -> Iterator[tuple[int, int]]:
    """The row of a gather and its set, if its table has one."""
    for row in step.distinct:
        yield from ((row, index) for index in sites.of((step.table, row)).sets)


# --- one or two candidate sets --------------------------------------------------------------------


@LAWS.law("row-placement/residents-fit-their-sets", 2, all_of(SHARED_SETS))
def residents_fit_their_sets(case: Case) -> Findings:
    """A set, or two, hold at most `ways` rows each: no more residents can be confined to them."""
    sites, ways = Sites(config_of(case)), config_of(case).ways
    for step, _, after in case.around_rows():
        places = Counter((row[0], frozenset(sites.of(row).sets)) for row in after.resident or ())
        for (table, sets), _ in places.items():
            confined = sum(n for (t, within), n in places.items() if t == table and within <= sets)
            what = f"residents of table {table} that can only sit in sets {sorted(sets)}"
            yield at_most(step.number, what, ways * len(sets), confined)


@LAWS.law(
    "row-placement/a-free-slot-turns-nobody-away", 2, one_column(*TURNED_AWAY, also=(SHARED_SETS,))
)
def a_free_slot_turns_nobody_away(case: Case) -> Findings:
    """A row is refused, or replaces another, only where all its candidate sets are full."""
    sites = Sites(config_of(case))
    for step, before, after in case.around_rows():
        if not (step.is_gather or step.is_insert) or step.times > 1:
            continue
        if before.resident is None or after.resident is None:
            return
        # A row that is read ahead may have left and come back; one that was looked up has not.
        there = before.resident if step.is_gather else ()
        rows = [(step.table, row) for row in (step.distinct if step.is_gather else step.rows)]
        crowded = sum(_is_crowded(case, sites, row, after) for row in rows if row not in there)
        turned_away = all_grown(before, after, *TURNED_AWAY)
        yield at_most(step.number, "rows refused or replacing", crowded, turned_away)


def _is_crowded(case: Case, sites: Sites, row: Row, after: Answer) -> bool:
    """Can all candidate sets of a row be full, going by where the residents may sit?"""
    sets, ways = set(sites.of(row).sets), config_of(case).ways
    near = [
        held
        for other in after.resident or ()
        if other[0] == row[0] and (held := sets.intersection(sites.of(other).sets))
    ]
    each = Counter(index for held in near for index in held)
    return len(near) >= ways * len(sets) and all(each[index] >= ways for index in sets)
