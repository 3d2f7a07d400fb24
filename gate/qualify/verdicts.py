"""Was the measurement a clean one, does the server keep the laws, and is its layout the declared one?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gate.audit.findings import FAIL, Finding, Judgement, judged, unknown
from gate.qualify.prediction import FILL, REREAD, Prediction, judge_layout
from gate.qualify.session import Asked
from gate.rows.inputs import Tokens
from reference.errors import InputError

SENTENCES = {
    "whole-prompt": "the server read every token of each prompt",
    "no-prefix": "no token came from a cache of prefixes",
    "counters": "the counters keep every law of cachegate metrics",
    "layout": "the counters are those of the declared layout, and of no other",
}


def findings(
    asked: Sequence[Asked],
    inputs: Tokens,
    declared: str,
    predictions: Sequence[Prediction],
    tables: int,
) -> list[Finding]:
    """The verdict on each of SENTENCES.

    Args:
        asked: the five requests.
        inputs: the rows they need.
        declared: name of the layout the server is said to have.
        predictions: of all layouts tried; none for a cache that was not empty at the start.
        tables: of the server.
    """
    found = {
        "whole-prompt": _whole_prompt(asked),
        "no-prefix": _no_prefix(asked, inputs, tables),
        "counters": _counters(asked),
        "layout": judge_layout(declared, predictions, measured_figures(asked))
        if predictions
        else unknown("warm: the cache was not empty at the start"),
    }
    return [Finding(law, *judgement) for law, judgement in found.items()]


def measured_figures(asked: Sequence[Asked]) -> dict[str, float]:
    """What layouts are told apart by, as it was measured.

    Raises:
        InputError: the server does not expose what is needed.
    """
    by_name = {one.request.name: one.total.hit_pct for one in asked}
    figures = {**{name: by_name[name] for name in REREAD}, FILL: asked[-1].total.fill_pct}
    known = {name: value for name, value in figures.items() if value is not None}
    if len(known) < len(figures):
        missing = ", ".join(sorted(set(figures) - set(known)))
        raise InputError(f"the counters do not give {missing}", source=asked[-1].total.after)
    return known


def _whole_prompt(asked: Sequence[Asked]) -> Judgement:
    if any(one.reply.prompt_tokens is None for one in asked):
        return unknown("usage: the server does not say how many tokens it read")
    faults = [
        f"{one.request.name}: {one.reply.prompt_tokens} tokens read, {len(one.request.tokens)} sent"
        for one in asked
        if one.reply.prompt_tokens != len(one.request.tokens)
    ]
    return judged(faults, f"{sum(len(one.request.tokens) for one in asked)} tokens")


def _no_prefix(asked: Sequence[Asked], inputs: Tokens, tables: int) -> Judgement:
    """By what the server says, and where it does not, by lookups: every distinct row needs one."""
    if all(one.reply.cached_tokens is not None for one in asked):
        faults = [
            f"{one.request.name}: {one.reply.cached_tokens} tokens came from a cached prefix"
            for one in asked
            if one.reply.cached_tokens
        ]
        return judged(faults, "as the server says in usage")
    least = least_lookups(inputs, tables)
    faults = [
        f"{one.request.name}: {one.total.lookups} lookups, but its prompt has {needed} distinct rows"
        for one, needed in zip(asked, least, strict=True)
        if one.total.lookups is not None and one.total.lookups < needed
    ]
    return judged(faults, "by the lookups alone: at least one for each distinct row of a prompt")


def least_lookups(inputs: Tokens, tables: int) -> list[int]:
    """How many distinct rows each request needs from all tables, were it a single gather."""
    ids: dict[tuple[int, int], list[np.ndarray]] = {}
    for part in inputs:
        ids.setdefault((part.request, part.table), []).append(part.gathers.ids)
    least = [0] * len(inputs.requests)
    for (request, _), gathered in ids.items():
        least[request] += len(np.unique(np.concatenate(gathered))) * tables // inputs.tables
    return least


def _counters(asked: Sequence[Asked]) -> Judgement:
    rows = [(one.request.name, row) for one in asked for row in (*one.tables, one.total)]
    faults = [
        f"{request}, table {row.table}: {finding.law}: {finding.detail}"
        for request, row in rows
        for finding in row.laws
        if finding.verdict == FAIL
    ]
    return judged(faults, f"{len(rows)} intervals of tables and totals")
