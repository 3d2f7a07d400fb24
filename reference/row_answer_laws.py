"""Which laws do the answers of a row cache keep, whatever its hash: refusals, hits, delivered bytes, residents, pins?

Levels 1 and 2. Source: the RowCache report; what it leaves open is named in reference/row_config.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from reference.backing_store import digest, row_key, value
from reference.laws import (
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
    hexadecimal,
    offered,
)
from reference.program import Answer, AskRows, Pin, Unpin
from reference.row_counter_laws import EVICTIONS, READAHEAD, all_grown, config_of
from reference.row_pins import Pins
from reference.row_session import NOT_RESIDENT
from reference.row_timeline import RowStep

LAWS = Registry(ROW)
Findings = Iterable[Finding]

CARRIED_OUT = "nothing, carried out"


# --- results of operations ------------------------------------------------------------------------


@LAWS.law("row-answers/refusals", 1)
def refusals(case: Case) -> Findings:
    """What cannot be done is refused by its name; what can is carried out."""
    for step, _, after in case.around_rows():
        if step.refusal is not None:
            got = after.refusal or CARRIED_OUT
            yield compare(step.number, "refused as", step.refusal or CARRIED_OUT, got)


@LAWS.law("row-answers/hits-add-up", 1)
def hits_add_up(case: Case) -> Findings:
    """The hit flags of a gather are one a distinct row, and add up to the hits counted."""
    for step, before, after in case.around_rows():
        if step.is_gather and after.hits is not None:
            yield compare(step.number, "hit flags", len(step.distinct), len(after.hits))
            if step.times == 1 and offered(after, "hits"):
                counted = grown(before, after, "hits")
                yield compare(step.number, "hits counted", sum(after.hits), counted)


@LAWS.law("row-answers/delivered-bytes", 1)
def delivered_bytes(case: Case) -> Findings:
    """Every gather delivers each distinct row's own bytes, hit or miss, in the order of first occurrence."""
    for step, _, after in case.around_rows():
        if step.is_gather and after.hits is not None:
            own = digest(value(row_key(step.table, row)) for row in step.distinct)
            yield compare(step.number, "digest", hexadecimal(own), hexadecimal(after.digest))


@LAWS.law("row-answers/found-until-one-leaves", 1, all_of(*columns("added", *EVICTIONS)))
def found_until_one_leaves(case: Case) -> Findings:
    """A row that hit, or came in when all that missed were added, is found again until an eviction is counted."""
    known: defaultdict[int, set[int]] = defaultdict(set)
    for step, before, after in case.around_rows():
        if not offered(after, "added", *EVICTIONS):
            return
        left = all_grown(before, after, *EVICTIONS)
        if after.hits is not None and not (step.times > 1 and left):
            asked = step.rows if isinstance(step.operation, AskRows) else step.distinct
            missed = {row for row, hit in zip(asked, after.hits, strict=False) if not hit}
            lost = sorted(missed & known[step.table])
            yield compare(step.number, "resident rows not found", [], lost)
        if left:
            known[step.table].clear()
        elif step.is_gather and step.times == 1:
            known[step.table].update(_surely_in(step, before, after))


def _surely_in(step: RowStep, before: Answer, after: Answer) -> list[int]:
    """Of a gather that replaced nothing: its hits, and all its rows when every miss was added."""
    hits = after.hits or ()
    all_added = grown(before, after, "added") == len(hits) - sum(hits)
    return [row for row, hit in zip(step.distinct, hits, strict=False) if hit or all_added]


# --- what is resident -----------------------------------------------------------------------------


@LAWS.law("row-residency/hit-iff-resident", 2)
def hit_iff_resident(case: Case) -> Findings:
    """A gather hits the rows that were resident before it, as all its lookups precede its inserts; so does an ask."""
    for step, before, after in case.around_rows():
        if after.hits is None or before.resident is None:
            continue
        is_ask = isinstance(step.operation, AskRows)
        if is_ask or (step.is_gather and step.times == 1):
            rows = step.rows if is_ask else step.distinct
            resident = tuple((step.table, row) in before.resident for row in rows)
            yield compare(step.number, f"hits of {list(rows)}", resident, after.hits)


@LAWS.law("row-residency/who-left-was-counted", 2, all_of(*columns("evictions")))
def who_left_was_counted(case: Case) -> Findings:
    """At most one row leaves for each insert that replaces, and none for any other reason."""
    for step, before, after in case.around_rows():
        if after.resident is not None and before.resident is not None:
            counted = all_grown(before, after, *EVICTIONS)
            if offered(after, "evictions"):
                left = len(before.resident - after.resident)
                yield at_most(step.number, "rows that left", counted, left)


@LAWS.law("row-residency/present-changes-nothing", 2, all_of("read-ahead", *columns(*READAHEAD)))
def present_changes_nothing(case: Case) -> Findings:
    """Reading resident rows ahead counts them as present and adds, replaces and refuses nothing."""
    for step, before, after in case.around_rows():
        if not step.is_insert or before.resident is None or not offered(after, *READAHEAD):
            continue
        if all((step.table, row) in before.resident for row in step.rows):
            counted = grown(before, after, "readahead_present")
            yield compare(
                step.number, "readahead_present counted", len(step.rows) * step.times, counted
            )


# --- pins -----------------------------------------------------------------------------------------


@LAWS.law("row-pins/pinned-stays", 2, any_of(("pins",), ("read-ahead", "readahead=pin")))
def pinned_stays(case: Case) -> Findings:
    """A pinned row stays resident until its last pin is given back."""
    ledger = Pins(config_of(case))
    for step, before, after in case.around_rows():
        if before.resident is None or after.resident is None:
            return
        if protected := ledger.take(step, before, after):
            gone = sorted(protected - after.resident)
            yield compare(step.number, "pinned rows that left", [], gone)


@LAWS.law("row-pins/refusals", 2, all_of("pins"))
def pin_refusals(case: Case) -> Findings:
    """A pin is refused iff none of its rows is resident, an unpin iff none of them is pinned."""
    ledger = Pins(config_of(case))
    for step, before, after in case.around_rows():
        if before.resident is None or after.resident is None:
            return
        if isinstance(step.operation, Pin | Unpin) and step.refusal is None:
            rows = {(step.table, row) for row in step.rows}
            is_pin = isinstance(step.operation, Pin)
            holds = rows & (before.resident if is_pin else ledger.pinned)
            if is_pin or (step.times == 1 and not rows & ledger.unsure):
                expected = CARRIED_OUT if holds else NOT_RESIDENT
                yield compare(step.number, "refused as", expected, after.refusal or CARRIED_OUT)
        ledger.take(step, before, after)
