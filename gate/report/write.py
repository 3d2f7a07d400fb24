"""Writes a report in the form its file name asks for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gate.golden.whole_files import replace_files
from gate.report.html import Curves, to_html
from gate.report.junit import to_junit
from gate.report.markdown import to_markdown
from gate.report.model import Report, to_json
from reference.errors import InputError, printable
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
    """Can reports be written under these names? Asked before the run that they are to tell.

    Raises:
        InputError: an ending names no form, or a folder cannot be written in.
    """
    for name in names:
        if Path(name).suffix not in FORMS:
            raise InputError(
                f"no report is written as {printable(name)}",
                source="--report",
                expected=", ".join(FORMS),
            )
        folder = Path(name).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as fault:
            problem = f"cannot write in {printable(str(folder))}: {fault.strerror}"
            raise InputError(problem, source="--report") from None


def write_report(report: Report, name: str) -> None:
    """Write the file whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    target = Path(name)
    # A connect string may hold bytes that are no UTF-8; Python keeps them as what UTF-8 cannot write.
    text = FORMS[target.suffix](report).encode("utf-8", "backslashreplace").decode()
    replace_files({target: text})


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
