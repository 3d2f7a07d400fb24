"""Which laws do the counters of a row cache keep, whatever its hash? Level 0.

Source: the RowCache report. Demand and read-ahead are counted apart (reference/row_counters.py); what an implementation
does not count is left out, so a server that counts no refusals is judged on the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from reference.laws import (
    NO_SETS,
    ROW,
    Case,
    Finding,
    Registry,
    all_of,
    any_of,
    at_most,
    columns,
    compare,
    grown,
    offered,
    one_column,
)
from reference.program import Answer, Insert, Pin
from reference.row_config import RowCacheConfig
from reference.row_timeline import Row, RowStep
from reference.usage_sketch import CELL_MAX

LAWS = Registry(ROW)
Findings = Iterable[Finding]

PLACED = ("added", "evictions", "refusals")
"""What can become of a missed row."""
DEMAND = ("lookups", "hits", "misses", *PLACED)
READAHEAD = ("readahead_inserts", "readahead_present", *(f"readahead_{name}" for name in PLACED))
EVICTIONS = ("evictions", "readahead_evictions")
TURNED_AWAY = (*EVICTIONS, "refusals", "readahead_refusals")
CUMULATIVE = (*DEMAND, *READAHEAD, "halvings")
KEPT = ("hits", "added", "evictions", *READAHEAD[1:-1])
"""What says that a row is, or was, resident."""


def config_of(case: Case) -> RowCacheConfig:
    assert isinstance(case.program.config, RowCacheConfig)
    return case.program.config


def pins(case: Case) -> bool:
    """May any row ever be pinned?"""
    held = config_of(case).readahead == "pin"
    kinds = Pin | Insert if held else Pin
    return any(isinstance(step.operation, kinds) for step in case.row_steps)


def with_slots(case: Case) -> Iterator[tuple[RowStep, Answer, Answer]]:
    """The gathers and read-aheads on tables that have a set, with the answers around them."""
    for step, before, after in case.around_rows():
        if (step.is_gather or step.is_insert) and config_of(case).sets[step.table]:
            yield step, before, after


def all_grown(before: Answer, after: Answer, *names: str) -> int:
    """How far these counters together rose, as far as they are offered."""
    return sum(grown(before, after, name) for name in names if offered(after, name))


# --- sums -----------------------------------------------------------------------------------------


@LAWS.law("row-counters/zero-at-start", 0, one_column(*CUMULATIVE, "resident_rows"))
def zero_at_start(case: Case) -> Findings:
    """Every counter, and the number of residents, can be read as 0 before the first operation."""
    for name in (*CUMULATIVE, "resident_rows"):
        if offered(case.outcome.opened, name):
            yield compare(0, name, 0, case.outcome.opened.counters[name])


@LAWS.law("row-counters/hits-and-misses", 0, all_of(*columns("lookups", "hits", "misses")))
def hits_and_misses(case: Case) -> Findings:
    """Every lookup is a hit or a miss."""
    for step, _, after in case.around_rows():
        if offered(after, "lookups", "hits", "misses"):
            both = after.counters["hits"] + after.counters["misses"]
            yield compare(step.number, "hits and misses", after.counters["lookups"], both)


@LAWS.law("row-counters/one-lookup-a-row", 0, any_of(columns("lookups"), columns("hits", "misses")))
def one_lookup_a_row(case: Case) -> Findings:
    """A gather looks each of its distinct rows up once, however often it names it; nothing else does."""
    for step, before, after in case.around_rows():
        names = ("lookups",) if offered(after, "lookups") else ("hits", "misses")
        if offered(after, *names):
            counted = all_grown(before, after, *names)
            yield compare(step.number, f"{' and '.join(names)} counted", step.lookups, counted)


@LAWS.law("row-counters/every-miss-is-placed", 0, all_of(*columns("misses", "added", "evictions")))
def every_miss_is_placed(case: Case) -> Findings:
    """Every missed row is inserted once: misses = added + evictions + refusals."""
    for step, before, after in case.around_rows():
        if offered(after, "misses", "added", "evictions"):
            missed, placed = grown(before, after, "misses"), all_grown(before, after, *PLACED)
            if offered(after, "refusals"):
                yield compare(step.number, "rows added, replacing and refused", missed, placed)
            else:
                yield at_most(step.number, "rows added and replacing", missed, placed)


@LAWS.law("row-counters/every-read-ahead-is-placed", 0, all_of("read-ahead", *columns(*READAHEAD)))
def every_readahead_is_placed(case: Case) -> Findings:
    """Every id read ahead is counted once, as present, added, replacing or refused."""
    for step, before, after in case.around_rows():
        if offered(after, *READAHEAD):
            asked = len(step.rows) * step.times if step.is_insert else 0
            yield compare(
                step.number, "read-ahead inserts", asked, grown(before, after, READAHEAD[0])
            )
            placed = all_grown(before, after, *READAHEAD[1:])
            yield compare(step.number, "read-ahead inserts placed", asked, placed)


@LAWS.law(
    "row-counters/residents-are-what-was-added",
    0,
    all_of(*columns("added", "readahead_added", "resident_rows")),
)
def residents_are_what_was_added(case: Case) -> Findings:
    """The residents are the rows that were added, by demand and by read-ahead."""
    for step, _, after in case.around_rows():
        if offered(after, "added", "readahead_added", "resident_rows"):
            added = after.counters["added"] + after.counters["readahead_added"]
            yield compare(step.number, "resident_rows", added, after.counters["resident_rows"])


@LAWS.law("row-counters/halvings", 0, all_of("halving", *columns("halvings")))
def halvings(case: Case) -> Findings:
    """Each table's estimates are halved once every `halve_every` lookups of its own, and never without a period."""
    for step, _, after in case.around_rows():
        if offered(after, "halvings"):
            yield compare(step.number, "halvings", step.halvings, after.counters["halvings"])


# --- capacity -------------------------------------------------------------------------------------


@LAWS.law("row-capacity/as-configured", 0, all_of(*columns("capacity_rows")))
def as_configured(case: Case) -> Findings:
    """The capacity is sets * ways of all tables at any time, with one candidate set or two."""
    answers = (case.outcome.opened, *case.outcome.answers)
    for number, answer in enumerate(answers):
        if offered(answer, "capacity_rows"):
            capacity = config_of(case).capacity_rows
            yield compare(number, "capacity_rows", capacity, answer.counters["capacity_rows"])


@LAWS.law("row-capacity/never-above", 0, all_of(*columns("resident_rows")))
def never_above(case: Case) -> Findings:
    """There are never more residents than slots."""
    for step, _, after in case.around_rows():
        if offered(after, "resident_rows"):
            capacity = config_of(case).capacity_rows
            yield at_most(step.number, "resident_rows", capacity, after.counters["resident_rows"])


@LAWS.law("row-capacity/nothing-without-slots", 0, one_column(*KEPT, "refusals", also=(NO_SETS,)))
def nothing_without_slots(case: Case) -> Findings:
    """A table without a set keeps nothing and refuses every row."""
    for step, before, after in case.around_rows():
        if (step.is_gather or step.is_insert) and not config_of(case).sets[step.table]:
            yield compare(step.number, "rows kept", 0, all_grown(before, after, *KEPT))
            refused = "refusals" if step.is_gather else "readahead_refusals"
            if offered(after, refused):
                expected = len(step.distinct if step.is_gather else step.rows) * step.times
                yield compare(
                    step.number, f"{refused} counted", expected, grown(before, after, refused)
                )


@LAWS.law("row-capacity/few-rows-all-stay", 0, one_column("hits", *TURNED_AWAY))
def few_rows_all_stay(case: Case) -> Findings:
    """While a table has met no more rows than a set has ways, all stay: what was seen hits, nothing is turned away."""
    for step, before, after in with_slots(case):
        if step.met > config_of(case).ways:
            continue
        turned_away = all_grown(before, after, *TURNED_AWAY)
        yield compare(step.number, "rows turned away", 0, turned_away)
        if step.is_gather and offered(after, "hits"):
            again = step.lookups - step.new
            yield compare(step.number, "hits counted", again, grown(before, after, "hits"))


@LAWS.law("row-capacity/no-hit-at-first-sight", 0, all_of(*columns("hits")))
def no_hit_at_first_sight(case: Case) -> Findings:
    """A row that its table never met before misses."""
    for step, before, after in case.around_rows():
        if step.is_gather and offered(after, "hits"):
            most = step.lookups - step.new
            yield at_most(step.number, "hits counted", most, grown(before, after, "hits"))


# --- admission ------------------------------------------------------------------------------------


@LAWS.law(
    "row-admission/off-admits-all",
    0,
    one_column("refusals", also=("admission=no",))
    + one_column("readahead_refusals", also=("admission=no", "read-ahead")),
)
def off_admits_all(case: Case) -> Findings:
    """Without admission, and with nothing pinned, a table that has a set refuses no row."""
    if config_of(case).admission or pins(case):
        return
    for step, before, after in with_slots(case):
        refused = all_grown(before, after, "refusals", "readahead_refusals")
        yield compare(step.number, "refusals counted", 0, refused)


@LAWS.law("row-admission/saturated-row-enters", 0, all_of("halve_every=none", *columns("refusals")))
def saturated_row_enters(case: Case) -> Findings:
    """Without halving, a row used 255 times is never refused: misses count as use, and no estimate is higher."""
    if pins(case) or config_of(case).halve_every is not None:
        return
    uses: Counter[Row] = Counter()
    for step, before, after in with_slots(case):
        refusable = 0
        for row in step.distinct:
            refusable += min(step.times, max(CELL_MAX - 1 - uses[step.table, row], 0))
            uses[step.table, row] += step.times
        if step.is_gather and offered(after, "refusals"):
            refused = grown(before, after, "refusals")
            yield at_most(step.number, "refusals counted", refusable, refused)
