"""When must a run not be judged? Modes that the model does not cover, and requests that broke off."""

from __future__ import annotations

from gate.audit.runs import RecordedRun
from reference.errors import printable
from replay.stdout import Request

MODES = {
    "load_all": ("0", "load-all"),
    "prefetch": ("0", "prefetch"),
    "predict_prefetch": ("0", "predict-prefetch"),
    "route_ahead": ("0", "route-ahead"),
    "drop_cold_frac": ("0", "drop"),
    "spec": ("off", "speculation"),
    "cache_policy": ("lru", "policy"),
}
"""Preamble key: the value under which the model covers the run, and the name of the mode else."""

TRACKS = {
    "spec_experts": "prefetch",
    "spec_read_MiB": "prefetch",
    "experts_dropped": "drop",
    "mtp_drafted": "speculation",
    "ra_committed": "route-ahead",
}
"""Summary key: the mode that a value above 0 shows, where no preamble names it."""


def unmodelled(run: RecordedRun) -> str:
    """The mode that the model does not cover, by name and value; empty if it covers the run."""
    for key, (covered, name) in MODES.items():
        value = run.preamble.get(key, covered)
        if value != covered:
            return f"{name}: {key}={printable(value)} is not modelled"
    for rows in run.metrics.turns if run.metrics else ():
        for key, name in TRACKS.items():
            if rows.total_number(key):
                return f"{name}: the summary has {key}={rows.total(key)}, which is not modelled"
    if run.stdout and "prefetch_mib" in run.stdout.figures:
        return "prefetch: the output tells of speculative reads, which are not modelled"
    if run.trace and 2 in run.trace.residency:
        return "prefetch: the trace has entries that came by prefetch, which is not modelled"
    if run.trace and run.trace.dropped and any(run.trace.dropped):
        return "drop: the trace has dropped experts, which are not modelled"
    return ""


def broken_from(run: RecordedRun) -> tuple[int | None, str]:
    """(first turn that cannot be judged, why); None if all can.

    From a request on that was cancelled or failed, the cache holds what no artefact shows. The
    request's own figures count too: they were taken with part of a graph loaded.
    """
    out, turn = run.stdout, 0
    for request in out.requests if out and out.is_session else []:
        if request.cancelled:
            why = "cancelled request: what its aborted graph loaded is in no artefact"
            return turn, f"{why}, from request {_id(request)} on"
        if request.done is None:
            return turn, f"failed request: what it loaded is not known, from {_id(request)} on"
        turn += request.counts_as_turn
    for rows in run.metrics.turns if run.metrics else ():
        if rows.summary is None:
            return rows.turn, "failed request: the turn has no summary"
    return None, ""


def short_turn(run: RecordedRun) -> int | None:
    """The first turn that may have been cancelled: fewer tokens than asked for, and no output.

    The output of a session tells a cancel from an end. Without it, what the turn's summary counts,
    and everything behind it, may hold the loads of an aborted graph.
    """
    if run.stdout is not None or run.metrics is None:
        return None
    for rows in run.metrics.turns:
        if rows.row_count < max(rows.integers("steps"), default=0):
            return rows.turn
    return None


def _id(request: Request) -> str:
    return printable(str(request.id))
