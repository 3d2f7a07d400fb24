"""The picture of a replay: what the cache holds after each operation, and how full it is, as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from reference.expert_config import ExpertConfig
from reference.program import Answer, Outcome, Program
from reference.program_header import format_header
from reference.program_text import format_operation
from reference.row_timeline import Sites

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


@dataclass(frozen=True, slots=True)
class Shown:
    """One implementation's run of the program.

    Args:
        program: as it was run.
        outcome: what came out.
        differs: 1-based step of the first difference from the reference, 0 for the opening, None without one.
        places_known: of a row cache: the gate knows where each row may sit.
    """

    program: Program
    outcome: Outcome
    differs: int | None = None
    places_known: bool = True


Key = tuple[int, int]
Groups = Callable[[Key], tuple[int, ...]]
"""An entry -> the numbers of what it is coloured by; several where it may be in one of several."""


def to_page(program: Program, runs: Mapping[str, Shown]) -> str:
    """One section an implementation; the first step that differs from the reference is marked."""
    header = escape("\n".join(format_header(program.config)))
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>replay</title><style>{STYLE}</style></head><body>",
        f"<h1>Replay</h1><pre>{header}</pre>",
        "<p>One line an operation, the entries resident after it, the next victim to the left; "
        "the bar to the right is the bytes or rows held, the mark on it the budget or capacity.</p>",
    ]
    for name, shown in runs.items():
        note = (
            ""
            if shown.differs is None
            else f" — differs from the reference at step {shown.differs}"
        )
        what, groups = _colouring(shown)
        parts.append(f"<h2>{escape(name + note)}</h2><p>Coloured by {what}.</p>")
        parts.append(f"<figure>{_drawing(shown, groups)}</figure>")
    return "\n".join([*parts, "</body></html>\n"])


def _colouring(shown: Shown) -> tuple[str, Groups]:
    """What the colours stand for: the set where it is known, else the layer or table."""
    config = shown.program.config
    if isinstance(config, ExpertConfig):
        return "layer", lambda key: (key[0],)
    if not shown.places_known:
        return "table, as its hash is not known", lambda key: (key[0],)
    sites = Sites(config)
    first = [0, *accumulate(config.sets)]
    either = ", in two colours where it may sit in either of two" * (config.candidate_sets == 2)
    return f"set{either}", lambda key: tuple(first[key[0]] + at for at in sites.of(key).sets)


def _drawing(shown: Shown, groups: Groups) -> str:
    program, outcome = shown.program, shown.outcome
    answers = (outcome.opened, *outcome.answers)[: MAX_STEPS + 1]
    labels = ["(open)", *map(format_operation, program.operations[:MAX_STEPS])]
    widest = max((len(_held(answer)) for answer in answers), default=0)
    bars = TEXT + CELL * max(widest, 1) + 20
    names = _fill_names(program)
    most = max((max(_fill(answer, names)) for answer in answers), default=1) or 1
    height = ROW * len(answers) + 4
    parts = [f'<svg width="{bars + 220}" height="{height}" role="img" aria-label="replay">']
    for step, (answer, label) in enumerate(zip(answers, labels, strict=False)):
        parts.append(_line(step, answer, label, step == shown.differs))
        parts += (_entry(at, step, key, groups(key)) for at, key in enumerate(_held(answer)))
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
    return "".join(parts)


def _entry(at: int, step: int, key: Key, groups: tuple[int, ...]) -> str:
    """One resident entry; as many colours beside each other as it has groups."""
    x, y = TEXT + CELL * at, ROW * step
    width = (CELL - 3) / max(1, len(groups))
    colours = [COLOURS[group % len(COLOURS)] for group in groups]
    parts = [
        f'<rect x="{x + width * n:g}" y="{y + 3}" width="{width:g}" height="{ROW - 6}" fill="{colour}"/>'
        for n, colour in enumerate(colours)
    ]
    name = f"{key[0]}:{key[1]}"
    parts.append(f"<title>{name}</title>")
    parts.append(f'<text class="in" x="{x + 3}" y="{y + 17}">{escape(name[-6:])}</text>')
    return f"<g>{''.join(parts)}</g>"


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


def _held(answer: Answer) -> Sequence[Key]:
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
