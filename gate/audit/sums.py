"""Are a run's sums right, and does its output say the same? Law I4.

Printed numbers are compared within half a unit of their last digit: both sides are roundings of
one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from gate.audit.facts import Facts, Turn
from gate.audit.findings import Judgement, judged, skipped
from reference.errors import MIB
from replay.recordings import TurnRows

HALF_MS = 0.0005
"""Half a unit of the last digit of a printed millisecond or second."""

RATE_PRINTS = 0.05 + 0.005 + 1e-9
"""How far two prints of one hit rate may lie apart, one with one decimal and one with two."""

CLOSING_FIGURES = {
    "tokens": "tokens",
    "n_prompt": "n_prompt",
    "read_mib": "read_MiB",
    "hit_pct": "cache_hit_pct",
    "resident_mib": "cache_resident_MiB",
    "evictions": "evictions",
    "rereads": "rereads",
}
"""Figures of a one-shot run's output, and the summary key that each repeats to the digit."""

DONE_FIGURES = {
    "tokens": "tokens",
    "n_prompt": "n_prompt",
    "cache_hit_pct": "cache_hit_pct",
    "read_mib": "read_MiB",
    "token_demand_mib": "token_demand_MiB",
}
"""Figures of a session's DONE record, and the summary key that each repeats."""


def sums(facts: Facts, turn: Turn) -> Judgement:
    """I4: the summary is the sum or mean of its rows; a row's parts are its whole; the output agrees."""
    rows = turn.rows
    if rows is None or rows.summary is None:
        return skipped("no summary")
    faults = [*_sum_faults(rows), *_wall_faults(rows, facts.overlaps), *_output_faults(facts, turn)]
    return judged(faults, f"{rows.row_count} rows")


def _sum_faults(rows: TurnRows) -> Iterator[str]:
    count = rows.row_count
    if rows.total_integer("tokens") not in (None, count):
        yield f"summary: tokens {rows.total('tokens')}, {count} rows"
    read = sum(rows.integers("read_bytes")) / MIB
    if rows.total("read_MiB") not in (None, f"{read:.1f}"):
        yield f"summary: read_MiB {rows.total('read_MiB')}, the rows sum to {read:.1f}"
    if not count:
        return
    wall = sum(rows.numbers("wall_ms"))
    mean = rows.total_number("s/tok")
    if mean is not None and _apart(wall / count / 1000, mean, HALF_MS * 1.001 + 1e-9):
        yield f"summary: s/tok {rows.total('s/tok')}, the rows' mean is {wall / count / 1000:.6f}"
    if rows.has("cache_hit_pct") and rows.total_number("cache_hit_pct") is not None:
        last, total = float(rows.columns["cache_hit_pct"][-1]), rows.total_number("cache_hit_pct")
        if _apart(last, total or 0.0, RATE_PRINTS):
            yield f"summary: cache_hit_pct {total}, the last row has {last}"


def _wall_faults(rows: TurnRows, overlaps: bool | None) -> Iterator[str]:
    """wall = compute + mgmt + (stall if reads overlap compute, else io), unless compute is clamped."""
    if overlaps is None or not rows.has("stall_ms", "mgmt_ms"):
        return
    waiting = "stall_ms" if overlaps else "io_ms"
    parts = [rows.numbers(name) for name in ("wall_ms", "compute_ms", "mgmt_ms", waiting)]
    others = [n for n in ("mtp_draft_ms", "drain_ms", "adopt_ms", "ra_issue_ms") if rows.has(n)]
    busy = [sum(cells) for cells in zip(*(rows.numbers(name) for name in others), strict=True)]
    for at, (wall, compute, mgmt, wait) in enumerate(zip(*parts, strict=True)):
        gap = wall - (compute + mgmt + wait)
        if busy and busy[at]:
            continue  # how these overlap the other parts is not specified
        if _apart(gap, 0.0, 4 * HALF_MS + 1e-9) and not (compute == 0 and gap < 0):
            yield f"line {rows.lines[at]}: wall_ms {wall} is not compute + mgmt + {waiting} by {gap:.3f}"


def _output_faults(facts: Facts, turn: Turn) -> Iterator[str]:
    """What was printed is what the CSV says."""
    out, rows = facts.run.stdout, turn.rows
    if out is None or rows is None:
        return
    if out.is_session:
        turns = [request for request in out.requests if request.counts_as_turn]
        request = turns[turn.number] if turn.number < len(turns) else None
    else:
        request = out.requests[0] if len(out.requests) == 1 and not turn.number else None
        for name, key in CLOSING_FIGURES.items():
            said, total = out.figures.get(name), rows.total(key)
            if None not in (said, total) and said != total:
                yield f"output: {name} {said}, the summary has {total}"
    if request is not None:
        yield from _request_faults(rows, request.progress, request.done)


def _request_faults(
    rows: TurnRows, progress: list[dict[str, object]], done: dict[str, object] | None
) -> Iterator[str]:
    """The line protocol: one PROGRESS a row, and the figures of DONE."""
    if progress and len(progress) != rows.row_count:
        yield f"output: {len(progress)} PROGRESS lines, {rows.row_count} rows"
    elif progress and rows.has("cache_hit_pct"):
        for line, cell, record in zip(
            rows.lines, rows.columns["cache_hit_pct"], progress, strict=True
        ):
            said = record.get("cache_hit_pct")
            if isinstance(said, int | float) and _apart(said, float(cell), RATE_PRINTS):
                yield f"line {line}: cache_hit_pct {cell}, PROGRESS has {said}"
    for name, key in DONE_FIGURES.items():
        said, total = (done or {}).get(name), rows.total_number(key)
        if isinstance(said, int | float) and total is not None and said != total:
            yield f"output: DONE has {name} {said}, the summary has {rows.total(key)}"


def _apart(one: float, other: float, most: float) -> bool:
    """Do two numbers lie further apart than `most`? One that is none (nan) is only like itself."""
    try:
        if isnan(one) and isnan(other):
            return False
        return not abs(one - other) <= most
    except OverflowError:  # an integer of JSON that no float holds
        return True
