"""The picture of a replay: what the cache holds after each operation, and how full it is, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from reference.expert_config import ExpertConfig
from reference.program import Answer, Outcome, Program
from reference.program_header import format_header
from reference.program_text import format_operation

ROW, CELL, TEXT = 26, 46, 330
MAX_STEPS = 400
MAX_HELD = 200
"""Residents that are drawn of a step, the next victims; what lies behind them is left out."""
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#e15759")
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; }
svg text { font: 12px ui-monospace, monospace; fill: currentColor; }
svg .in { fill: #fff; }
figure { margin: 1rem 0; overflow-x: auto; }
"""


def to_page(program: Program, outcomes: dict[str, Outcome], differs: dict[str, int | None]) -> str:
    """One section an implementation; the first step that differs from the reference is marked.

    Args:
        program: what was run.
        outcomes: name -> outcome.
        differs: name -> 1-based step of the first difference, 0 for the opening, None without one.
    """
    header = escape("\n".join(format_header(program.config)))
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>replay</title><style>{STYLE}</style></head><body>",
        f"<h1>Replay</h1><pre>{header}</pre>",
        "<p>One line an operation, the entries resident after it, the next victim to the left; "
        "the bar to the right is the bytes or rows held, the mark on it the budget or capacity.</p>",
    ]
    for name, outcome in outcomes.items():
        mark = differs.get(name)
        note = "" if mark is None else f" — differs from the reference at step {mark}"
        parts.append(f"<h2>{escape(name + note)}</h2>")
        parts.append(f"<figure>{_drawing(program, outcome, mark)}</figure>")
    return "\n".join([*parts, "</body></html>\n"])


def _drawing(program: Program, outcome: Outcome, mark: int | None) -> str:
    answers = (outcome.opened, *outcome.answers)[: MAX_STEPS + 1]
    labels = ["(open)", *map(format_operation, program.operations[:MAX_STEPS])]
    widest = max((len(_held(answer)) for answer in answers), default=0)
    bars = TEXT + CELL * max(widest, 1) + 20
    names = _fill_names(program)
    most = max((max(_fill(answer, names)) for answer in answers), default=1) or 1
    height = ROW * len(answers) + 4
    parts = [f'<svg width="{bars + 220}" height="{height}" role="img" aria-label="replay">']
    for step, (answer, label) in enumerate(zip(answers, labels, strict=False)):
        parts.append(_line(step, answer, label, step == mark))
        parts.append(_bar(step, _fill(answer, names), most, bars))
    return "".join([*parts, "</svg>"])


def _line(step: int, answer: Answer, label: str, marked: bool) -> str:
    y = ROW * step
    hits = "" if answer.hits is None else " " + "".join("H" if hit else "m" for hit in answer.hits)
    text = escape(
        f"{step:>3} {label}"[:34] + hits + (f" [{answer.refusal}]" if answer.refusal else "")
    )
    parts = [f'<text x="16" y="{y + 17}">{text}</text>']
    if marked:
        parts.append(f'<text x="0" y="{y + 17}" style="fill:#d33">&#9654;</text>')
    for at, (group, item) in enumerate(_held(answer)):
        colour = COLOURS[group % len(COLOURS)]
        x = TEXT + CELL * at
        parts.append(
            f'<rect x="{x}" y="{y + 3}" width="{CELL - 3}" height="{ROW - 6}" fill="{colour}"/>'
        )
        shown = escape(f"{group}:{item}"[-6:])
        parts.append(f'<text class="in" x="{x + 3}" y="{y + 17}">{shown}</text>')
    return "".join(parts)


def _bar(step: int, filled: tuple[int, int], most: int, x: int) -> str:
    held, limit = filled
    y = ROW * step + 6
    width = 200 * held / most
    at = x + 200 * min(limit, most) / most
    return (
        f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{ROW - 12}" fill="#888"/>'
        f'<path d="M{at:.1f},{y - 3}v{ROW - 6}" stroke="currentColor"/>'
        f"<title>{held} of {limit}</title>"
    )


def _held(answer: Answer) -> Sequence[tuple[int, int]]:
    """What is resident, in victim order where it is known, up to MAX_HELD."""
    held = answer.order if answer.order is not None else sorted(answer.resident or ())
    return held[:MAX_HELD]


def _fill_names(program: Program) -> tuple[str, str]:
    if isinstance(program.config, ExpertConfig):
        return "resident_bytes", "budget_bytes"
    return "resident_rows", "capacity_rows"


def _fill(answer: Answer, names: tuple[str, str]) -> tuple[int, int]:
    held, limit = (answer.counters.get(name, 0) for name in names)
    return held, limit
