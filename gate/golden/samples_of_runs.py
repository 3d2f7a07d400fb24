"""Which figures do recorded runs of the engine give, and which runs are repeats of one another?

Runs are repeats if they were started alike and hit and read alike at every token: timing must not steer
the cache. A row is named after the first of its runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath

from gate.audit.runs import RecordedRun, collect
from gate.golden.samples import Figure, Samples, Value
from reference.errors import InputError
from replay.recordings import INTEGER, REAL, TurnRows

FIGURES = {
    "tokens": ("tokens", Figure("tokens")),
    "n_prompt": ("prompt_tokens", Figure("tokens")),
    "cache_hit_pct": ("hit_pct", Figure("%", 1)),
    "read_MiB": ("read_mib", Figure("MiB", 1)),
    "cache_budget_MiB": ("budget_mib", Figure("MiB", 1)),
    "cache_resident_MiB": ("resident_mib", Figure("MiB", 1)),
    "token_demand_MiB": ("token_demand_mib", Figure("MiB", 1)),
    "evictions": ("evictions", Figure("entries")),
    "rereads": ("rereads", Figure("lookups")),
    "tok/s": ("tok_s", Figure("tokens/s", 3)),
    "s/tok": ("s_tok", Figure("s/token", 3)),
    "prefill_s": ("prefill_s", Figure("s", 3)),
    "io_s/tok": ("io_s_tok", Figure("s/token", 3)),
    "compute_s/tok": ("compute_s_tok", Figure("s/token", 3)),
    "stall_s/tok": ("stall_s_tok", Figure("s/token", 3)),
    "mgmt_s/tok": ("mgmt_s_tok", Figure("s/token", 3)),
    "majflt/tok": ("faults_tok", Figure("faults/token", 2)),
}
"""Key of the engine's summary to column and what it is: the figures that are more than a setting."""

STEERED = ("cache_hit_pct", "read_bytes")
"""Columns that no timing may change."""


def samples_of_runs(folder: Path) -> Samples:
    """The figures of every completed turn of every recorded run below a folder.

    Raises:
        InputError: a file cannot be read, or there is no run with a summary.
    """
    samples = Samples(keys=("run", "turn"))
    named: dict[Hashable, str] = {}
    versions = set()
    for run in collect([str(folder)]).runs:
        if run.metrics is None:
            continue
        for turn in run.metrics.turns:
            if turn.summary:
                name = named.setdefault(_started_alike(run, turn), run.name)
                samples.add((name, turn.turn), dict(_figures(turn)))
        versions.add(run.preamble.get("engine", ""))
        samples.names.append(Path(run.metrics.source).relative_to(folder).as_posix())
    if not samples.rows:
        raise InputError("no completed recorded run", source=str(folder), expected="--csv files")
    present = {name for row in samples.rows.values() for name in row}
    samples.figures = {name: figure for name, figure in FIGURES.values() if name in present}
    samples.version = ", ".join(sorted(versions - {""}))
    return samples


def _started_alike(run: RecordedRun, turn: TurnRows) -> Hashable:
    """Equal for repeats: settings, what was asked, and what no timing may change."""
    said = {**run.preamble, "model": PurePosixPath(run.preamble.get("model", "")).name}
    steered = tuple(tuple(turn.columns.get(name, ())) for name in STEERED)
    return turn.turn, frozenset(said.items()), turn.total("n_prompt"), steered


def _figures(turn: TurnRows) -> Iterator[tuple[str, Value]]:
    for key, (name, figure) in FIGURES.items():
        text = turn.total(key) or ""
        if figure.digits is None and INTEGER.fullmatch(text):
            yield name, int(text)
        elif figure.digits is not None and REAL.fullmatch(text) and "e" not in text:
            yield name, Decimal(text).quantize(Decimal(1).scaleb(-figure.digits))
