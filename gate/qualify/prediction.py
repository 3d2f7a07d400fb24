"""What would each layout have made of the same five requests, and whose counters are the measured ones?

The layouts differ in two figures that a server cannot hide: how full the cache gets from the same rows, and
what of them it still has at the second and third reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from gate.audit.findings import FAIL, PASS, UNKNOWN, Judgement
from gate.rows.emulation import RowsRow, emulate
from gate.rows.inputs import Tokens
from gate.rows.layouts import Layout

TOLERANCE_POINTS = {False: (0.5, 0.15, 1.0, 0.3), True: (0.8, 0.25, 1.5, 0.4)}
"""By how many points a hit rate of a layout with admission, of two candidate sets, of LRU, and a fill may differ
from the emulation; True is below full scale. With these the RowCache report's table is reproduced, and every rule
that its measurements exclude is told from the right one."""

REREAD = ("A2", "B2", "A3")
"""The requests whose hit rates the layouts differ in."""

FILL = "fill"


@dataclass(frozen=True, slots=True)
class Predicted:
    """One request under one layout, the mean over the hash seeds, for all tables of the server."""

    hit_pct: float
    added: float
    evictions: float
    refusals: float
    fill_pct: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A layout's figures by request."""

    layout: Layout
    scaled: bool
    requests: Mapping[str, Predicted]

    @property
    def figures(self) -> dict[str, float]:
        """What layouts are told apart by, in percent."""
        last = list(self.requests.values())[-1]
        return {**{name: self.requests[name].hit_pct for name in REREAD}, FILL: last.fill_pct}

    def tolerance(self, figure: str) -> float:
        """How far a measurement of this layout may lie from the figure, in points."""
        admission, two_sets, lru, fill = TOLERANCE_POINTS[self.scaled]
        if figure == FILL:
            return fill
        if not self.layout.admission:
            return lru
        return two_sets if self.layout.candidate_sets == 2 else admission

    def misses(self, figures: Mapping[str, float]) -> list[str]:
        """The figures that are not this layout's, told in words."""
        return [
            f"{name} {figures[name]:.2f} %, not {expected:.2f} ± {self.tolerance(name):g}"
            for name, expected in self.figures.items()
            if abs(figures[name] - expected) > self.tolerance(name)
        ]


def predict(
    inputs: Tokens,
    layouts: Sequence[Layout],
    capacity_rows: Sequence[int],
    *,
    tables: int,
    scale: int,
    seeds: int,
) -> list[Prediction]:
    """Emulate the requests under each layout.

    Args:
        inputs: the same tokens that the server gets.
        layouts: what to try.
        capacity_rows: slots of each table that is emulated: one for each of the inputs' tables.
        tables: how many tables the server has; counts of one emulated table stand for each of them.
        scale: 8 where the server holds an eighth of sketch and heads.
        seeds: hash seeds 0 to `seeds` - 1.
    """
    rows = [
        row
        for run in emulate(inputs, layouts, capacity_rows, scale, seeds)
        for row in run.rows(inputs.requests, scale)
    ]
    of_each = tables / inputs.tables
    return [
        Prediction(layout, scale > 1, _by_request([r for r in rows if r.policy == name], of_each))
        for name, layout in {layout.name: layout for layout in layouts}.items()
    ]


def _by_request(rows: Sequence[RowsRow], of_each: float) -> dict[str, Predicted]:
    found: dict[str, list[RowsRow]] = {}
    for row in rows:
        found.setdefault(row.request, []).append(row)
    return {
        request: Predicted(
            hit_pct=mean(row.hit_pct or 0.0 for row in seeds),
            added=of_each * mean(row.added for row in seeds),
            evictions=of_each * mean(row.evictions for row in seeds),
            refusals=of_each * mean(row.refusals for row in seeds),
            fill_pct=mean(row.fill_pct or 0.0 for row in seeds),
        )
        for request, seeds in found.items()
    }


def judge_layout(
    declared: str, predictions: Sequence[Prediction], figures: Mapping[str, float]
) -> Judgement:
    """Are the measured figures those of the declared layout, and of no other?"""
    misses = {prediction.layout.name: prediction.misses(figures) for prediction in predictions}
    fitting = [name for name, missed in misses.items() if not missed]
    others = [name for name in fitting if name != declared]
    if declared not in fitting:
        whose = f"they are those of {' or '.join(others)}" if others else "nor are they another's"
        return Judgement(
            FAIL, f"the counters are not those of {declared}: {misses[declared][0]}; {whose}"
        )
    if others:
        return Judgement(
            UNKNOWN, f"layout: the figures fit {declared}, but {', '.join(others)} as well"
        )
    return Judgement(PASS, f"the figures are those of {declared} and of no other layout tried")
