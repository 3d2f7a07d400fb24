"""Writes a report in the form its file name asks for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gate.report.html import Curves, to_html
from gate.report.junit import to_junit
from gate.report.markdown import to_markdown
from gate.report.model import Report, to_json
from reference.errors import InputError
from reference.sizing import token_demand_bytes
from replay.curve import Curve
from replay.lookups import lookups_of, shape_of
from replay.tally import added
from replay.traces import read_route_trace

FORMS: dict[str, Callable[[Report], str]] = {
    ".json": to_json,
    ".md": to_markdown,
    ".xml": to_junit,
    ".html": lambda report: to_html(report, curves_of(trace_files())),
}
RUNS = Path(__file__).resolve().parents[2] / "fixtures" / "runs"
ROUTE_TRACES = "2026-07-15-route-trace"
MAX_POINTS = 400


def check_names(names: list[str]) -> None:
    """Raises InputError for a file name whose ending names no form."""
    for name in names:
        if Path(name).suffix not in FORMS:
            raise InputError(
                f"no report is written as {name}", source="--report", expected=", ".join(FORMS)
            )


def write_report(report: Report, name: str) -> None:
    """Write the file whole or not at all."""
    target = Path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=".report-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(FORMS[target.suffix](report))
    Path(made).replace(target)


def trace_files() -> list[Path]:
    """The routing traces a report draws: the recorded ones where they are given, else the committed ones."""
    given = os.environ.get("CACHEGATE_BENCH_DATA")
    recorded = sorted((Path(given) / ROUTE_TRACES).glob("*.route.csv")) if given else []
    return recorded or sorted(RUNS.glob("session-*.route.csv"))


def curves_of(files: list[Path]) -> Curves:
    """The lru curve of each trace, thinned to what a picture can show."""
    curves: Curves = {}
    for file in files:
        trace = read_route_trace(file)
        demand = token_demand_bytes(shape_of(trace))
        curve = Curve(lookups_of(trace), "lru")
        budgets = curve.breakpoints()
        shown = budgets[:: max(1, len(budgets) // MAX_POINTS)] + budgets[-1:]
        points = []
        for budget in shown:
            lookups, hits, _, _, _ = added(t for t in curve.at(budget) if t.decode)
            points.append((budget / demand, 100 * hits / lookups if lookups else 0.0))
        curves[file.name] = points
    return curves
