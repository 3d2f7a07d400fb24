"""Which row of a damaged routing trace is at fault, and why? Asked when the fast path refuses."""

from __future__ import annotations

import re

from reference.errors import InputError, printable
from replay.trace_values import MAX_EXPERTS, MAX_NUMBER, MAX_USED, RouteTrace

NUMBER = re.compile(r"-?\d{1,16}", re.ASCII)
REAL_CHARACTERS = frozenset("0123456789+-.einfaEINFA")


def explain(trace: RouteTrace, names: list[str], rows: list[str]) -> InputError:
    """The error that names the first bad row among `rows`, the rows that follow the trace's own."""
    bounds = _bounds(trace)
    turn = trace.batches[-1].turn if trace.batches else 0
    for i, row in enumerate(rows):
        cells = row.split(",")
        problem, expected = _problem(trace, bounds, names, cells, turn)
        if problem:
            line = trace.line_of(trace.row_count + i)
            return InputError(problem, source=trace.source, line=line, expected=expected)
        turn = int(cells[names.index("turn")])
    raise AssertionError("the fast path refused a block that has no bad row")


def _bounds(trace: RouteTrace) -> dict[str, tuple[int, int]]:
    """Lowest and highest legal value of every integer column."""
    bounds = {
        "turn": (0, MAX_NUMBER),
        "phase": (0, 1),
        "step": (-1, MAX_NUMBER),
        "layer": (0, trace.layer_count - 1),
        "slot": (0, (trace.expert_used or MAX_USED) - 1),
        "expert": (0, (trace.expert_count or MAX_EXPERTS) - 1),
        "residency": (0, 2),
        "expert_bytes": (0, MAX_NUMBER),
    }
    return bounds if trace.dropped is None else {**bounds, "dropped": (0, 1)}


def _problem(
    trace: RouteTrace,
    bounds: dict[str, tuple[int, int]],
    names: list[str],
    cells: list[str],
    turn: int,
) -> tuple[str, str]:
    """(what is wrong with one row, what was expected); empty when nothing is."""
    if len(cells) != len(names):
        return f"a row of {len(cells)} fields", f"{len(names)} fields: {','.join(names)}"
    row = dict(zip(names, cells, strict=True))
    for name, (low, high) in bounds.items():
        if not NUMBER.fullmatch(row[name]) or not low <= int(row[name]) <= high:
            return f"{name} is `{printable(row[name])}`", f"a number from {low} to {high}"
    if trace.weight is not None and not _is_real(row["weight"]):
        return f"weight is `{printable(row['weight'])}`", "a decimal number, or nan"
    if int(row["layer"]) not in trace.entry_bytes:
        expected = "a preamble line `# layer=L expert_bytes=N` with N > 0 for every routed layer"
        return f"layer {row['layer']} is routed but has no recorded entry bytes", expected
    if int(row["turn"]) < turn:
        return f"turn falls from {turn} to {row['turn']}", "turns that follow one another"
    return "", ""


def _is_real(text: str) -> bool:
    try:
        return REAL_CHARACTERS.issuperset(text) and float(text) is not None
    except ValueError:
        return False
