"""The picture of `cachegate grow`: budget and time a token by turn, of the loops, `auto` and the best fixed budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fixtures.devices import at_token, wall_ms
from gate.growth.comparison import Arena, Comparison
from gate.plotting import MARKERS, STYLES, new_figure, save_figure
from reference.errors import MIB
from reference.sizing import token_demand_bytes
from replay.closed_loop import LoopTurn


def plot_turns(arena: Arena, comparison: Comparison, file_name: str) -> None:
    """Two panels over the turns: the budget in cycles with what the device concedes, and milliseconds a token.

    Loops that ran alike are drawn once. Lines differ in dash and marker.

    Raises:
        InputError: the file name has another ending, or matplotlib is not installed.
    """
    figure, axes = new_figure(file_name, 2, 1, (7, 6.5))
    budget, time = axes[:, 0]
    lines = _lines(arena, comparison)
    for (name, turns), style, marker in zip(lines, STYLES * 2, MARKERS * 2, strict=False):
        drawn = {
            "linestyle": style,
            "marker": marker,
            "markersize": 3,
            "color": "black",
            "label": name,
        }
        budget.plot(_cycles(arena, turns), drawstyle="steps-mid", **drawn)
        time.plot([wall_ms(turn.measured) / turn.measured.tokens for turn in turns], **drawn)
    _draw_conceded(budget, arena)
    budget.set_title(f"{Path(arena.turns.trace.source).name} on {arena.device.name}")
    budget.set_ylabel(f"budget in cycles of {token_demand_bytes(arena.turns.shape) / MIB:.0f} MiB")
    time.set_ylabel("ms a token")
    for panel in (budget, time):
        panel.set_ylim(bottom=0)
        panel.set_xlabel("turn")
        panel.legend(fontsize="small")
    save_figure(figure, file_name)


def _lines(arena: Arena, comparison: Comparison) -> list[tuple[str, Sequence[LoopTurn]]]:
    """Names and turns; loops with the same budgets share a line."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for row in comparison.rows:
        if row.what in comparison.loops:
            alike.setdefault(row.budgets_bytes, []).append(row.what)
    loops = [(_joined(names), comparison.loops[names[0]]) for names in alike.values()]
    return [
        ("auto as shipped", arena.fixed(arena.auto_bytes)),
        ("best fixed, in hindsight", arena.fixed(arena.best_bytes)),
        *loops,
    ]


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} alike"


def _cycles(arena: Arena, turns: Sequence[LoopTurn]) -> list[float]:
    demand = token_demand_bytes(arena.turns.shape)
    return [turn.done.budget_bytes / demand for turn in turns]


def _draw_conceded(panel: Any, arena: Arena) -> None:
    """What the device concedes, turn by turn, where it concedes less than everything."""
    if not arena.device.conceded:
        return
    demand_mib = token_demand_bytes(arena.turns.shape) / MIB
    conceded = [
        at_token(arena.device.conceded, span.first_token, 0.0) / demand_mib
        for span in arena.turns.spans
    ]
    panel.plot(
        conceded, color="0.5", linewidth=4, alpha=0.5, drawstyle="steps-mid", label="conceded"
    )
