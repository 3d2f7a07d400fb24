"""The picture of `cachegate curve`: hit rate against cycles held, with the cliff, the gap and the operating point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gate.curve.row import CurveRow
from gate.plotting import MARKERS, STYLES, as_text, new_figure, save_figure
from reference.errors import MIB, InputError
from reference.sizing import cliff_bytes, token_demand_bytes
from replay.lookups import shape_of
from replay.recordings import read_metrics
from replay.traces import RouteTrace

MARKED_UP_TO = 32
"""Points from which a curve is drawn without a marker on each."""


def plot_curves(
    traces: Sequence[RouteTrace],
    policies: Sequence[str],
    rows: Sequence[CurveRow],
    file_name: str,
) -> None:
    """Draw one panel a trace. Lines differ in dash and marker, so the picture reads in black and white.

    Raises:
        InputError: the file name has another ending, or matplotlib is not installed.
    """
    figure, axes = new_figure(file_name, len(traces), 1, (9, 3.4 * len(traces)))
    for trace, panel in zip(traces, axes[:, 0], strict=True):
        _draw(panel, trace, policies, [row for row in rows if row.trace == trace.source])
    save_figure(figure, file_name)


def _draw(panel: Any, trace: RouteTrace, policies: Sequence[str], rows: Sequence[CurveRow]) -> None:
    shape = shape_of(trace)
    demand = token_demand_bytes(shape)
    for policy, style, marker in zip(policies, STYLES, MARKERS, strict=False):
        points = sorted(
            (row.cycles, row.decode_hit_pct or 0.0) for row in rows if row.policy == policy
        )
        shown = marker if len(points) <= MARKED_UP_TO else None
        panel.plot(
            *zip(*points, strict=True),
            linestyle=style,
            marker=shown,
            markersize=4,
            color="black",
            label=policy,
            drawstyle="default" if shown else "steps-post",
        )
    cliff = cliff_bytes(shape) / demand
    if cliff:  # with one MoE layer there is none
        panel.axvline(cliff, color="0.4", linewidth=0.8)
        panel.axvspan(cliff, 1, color="0.85", label=f"gap: cliff at {cliff:.3f} cycles, below one")
    operating = _operating_budget_bytes(trace)
    if operating:
        panel.axvline(
            operating / demand,
            color="black",
            linewidth=1.5,
            linestyle=(0, (1, 1)),
            label=f"recorded run: {operating / MIB:.0f} MiB",
        )
    panel.set_xlim(left=0)
    panel.set_ylim(0, 100)
    panel.set_xlabel(f"budget in cycles (one cycle = {demand / MIB:.1f} MiB)")
    panel.set_ylabel("decode hit rate, %")
    panel.set_title(as_text(Path(trace.source).name))
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small", frameon=False)


def _operating_budget_bytes(trace: RouteTrace) -> float | None:
    """The budget the recorded run had, from the per-token CSV beside the trace; None if there is none."""
    stem = Path(trace.source.removesuffix(".csv").removesuffix(".route"))
    for suffix in (".csv", ".metrics"):
        beside = stem.with_name(stem.name + suffix)
        if not beside.is_file():
            continue
        try:
            turns = read_metrics(beside).turns
        except InputError:
            continue  # another file of that name: only the mark is left out
        budgets = [turn.total_number("cache_budget_MiB") for turn in turns]
        return next((budget * MIB for budget in budgets if budget), None)
    return None
