"""The report as one HTML file that works offline: verdict matrix and hit curves as pictures, failures as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from gate.report.model import NOT_EXERCISED, PASS, SKIP, Judged, Report, Verdict
from gate.report.text import closing_lines, closing_verdict

CELL, COLUMN, LABEL, HEAD = 16, 28, 260, 110
LOOKS = {
    PASS: ("#2d7d46", "✓"),
    SKIP: ("#d9d9d9", "–"),
    NOT_EXERCISED: ("#f2c94c", "?"),
}
FAILED = ("#b3261e", "✗")

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: 6px; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
figure { margin: 1rem 0; overflow-x: auto; }
td, th { padding: .1rem .8rem .1rem 0; text-align: left; }
"""

Curves = dict[str, list[tuple[float, float]]]
"""Trace name -> points (cycles held, decode hit rate in percent)."""


def to_html(report: Report, curves: Curves) -> str:
    """The page."""
    verdict = closing_verdict(report)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>cachegate: {escape(verdict)}</title><style>{STYLE}</style></head><body>",
        f"<h1>cachegate: {escape(verdict)}</h1>",
        *_failures(report),
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in closing_lines(report))}</ul>",
        *_matrices(report),
        *_curve_figures(curves),
        *_settings(report.settings),
        "<footer><p>The report is complete.</p></footer>" if report.complete else "",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _failures(report: Report) -> Iterable[str]:
    if report.failures or report.failed_tests:
        yield "<h2>Failures</h2>"
    for failure in report.smallest_failures:
        yield f"<pre>{escape(failure.text)}</pre>"
        yield f"<details><summary>the whole program</summary><pre>{escape(failure.program)}</pre></details>"
    for test, text in report.untold_tests.items():
        yield f"<h3>{escape(test)}</h3><pre>{escape(text[-20000:])}</pre>"


# --- the verdict matrix ---------------------------------------------------------------------------


def _matrices(report: Report) -> Iterable[str]:
    for cache in dict.fromkeys(one.cache for one in report.implementations):
        tested = [one for one in report.implementations if one.cache == cache]
        yield f"<h2>{escape(cache)}: verdict by law</h2><figure>{_matrix(report, tested)}</figure>"


def _matrix(report: Report, tested: Sequence[Judged]) -> str:
    """Laws down, implementations across; colour and sign both tell the verdict."""
    mine = {(v.law, v.connect): v for v in report.verdicts if v.cache == tested[0].cache}
    laws = list(dict.fromkeys(law for law, _ in mine))
    width, height = LABEL + COLUMN * len(tested) + HEAD, HEAD + CELL * len(laws)
    parts = [f'<svg width="{width}" height="{height}" role="img" aria-label="verdict by law">']
    for column, one in enumerate(tested):
        x = LABEL + COLUMN * column + CELL // 2
        parts.append(
            f'<text transform="translate({x},{HEAD - 6}) rotate(-50)">{escape(one.connect)}</text>'
        )
    for at, law in enumerate(laws):
        y = HEAD + CELL * at
        parts.append(f'<text x="0" y="{y + 12}">{escape(law)}</text>')
        for column, one in enumerate(tested):
            verdict = mine.get((law, one.connect))
            if verdict is not None:
                parts.append(_cell(verdict, LABEL + COLUMN * column, y))
    return "".join([*parts, "</svg>"])


def _cell(verdict: Verdict, x: int, y: int) -> str:
    colour, sign = LOOKS.get(verdict.verdict, FAILED)
    why = verdict.reason or f"{verdict.checks} checks"
    told = escape(f"{verdict.law} on {verdict.connect}: {verdict.verdict}, {why}")
    return (
        f"<g><title>{told}</title>"
        f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" fill="{colour}"/>'
        f'<text x="{x + CELL / 2}" y="{y + 12}" text-anchor="middle" style="fill:#fff">{sign}</text></g>'
    )


# --- the hit curves -------------------------------------------------------------------------------


def _curve_figures(curves: Curves) -> Iterable[str]:
    if curves:
        yield "<h2>Hit curves of the recorded traces</h2>"
    for name, points in curves.items():
        yield f"<figure>{_curve(points)}<figcaption>{escape(name)}</figcaption></figure>"


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Decode hit rate against cycles held, as steps."""
    width, height, left, base = 560, 220, 44, 190
    right = max(cycles for cycles, _ in points) or 1.0

    def at(cycles: float, pct: float) -> str:
        return f"{left + cycles / right * (width - left - 10):.1f},{base - pct / 100 * 170:.1f}"

    steps = [at(0, 0)]
    last = 0.0
    for cycles, pct in points:
        steps += [at(cycles, last), at(cycles, pct)]
        last = pct
    grid = "".join(
        f'<path d="M{at(0, pct)}L{at(right, pct)}" stroke="currentColor" opacity=".2"/>'
        f'<text x="0" y="{base - pct / 100 * 170 + 4:.0f}">{pct} %</text>'
        for pct in (0, 50, 100)
    )
    one = at(1, 0).split(",")[0]
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="hit rate against cycles held">'
        f'{grid}<path d="M{one},20V{base}" stroke="currentColor" stroke-dasharray="3 3"/>'
        f'<text x="{one}" y="{base + 16}">one cycle</text>'
        f'<text x="{width - 130}" y="{base + 16}">{right:.1f} cycles held</text>'
        f'<polyline points="{" ".join(steps)}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def _settings(settings: dict[str, str]) -> Iterable[str]:
    yield "<details><summary>settings</summary><table>"
    for name, value in sorted(settings.items()):
        yield f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
    yield "</table></details>"
