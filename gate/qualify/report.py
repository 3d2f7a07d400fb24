"""How does a qualification read? The measured table, the prediction beside it, the layouts, the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from gate.audit.findings import Finding
from gate.qualify.prediction import Prediction
from gate.qualify.session import Asked
from gate.qualify.verdicts import SENTENCES, measured_figures
from gate.show import print_table

MEASURED = ["request", "tokens", "s", "lookups", "hits", "misses", "hit %", "added", "evictions"]
MEASURED += ["refusals", "resident", "fill %"]
PREDICTED = ["request", "hit %", "predicted", "added", "predicted", "evictions", "predicted"]
PREDICTED += ["refusals", "predicted", "fill %", "predicted"]


def print_report(
    asked: Sequence[Asked],
    declared: str,
    predictions: Sequence[Prediction],
    found: Sequence[Finding],
    checks: Sequence[str],
) -> None:
    """All of it, as tables. Refusals are inferred: misses - added - evictions."""
    print_table(MEASURED, [_measured(one) for one in asked])
    print("refusals are inferred: misses - added - evictions; these hold, by more than chance:")
    for check in checks:
        print(f"  {check}")
    for prediction in predictions:
        if prediction.layout.name == declared:
            print(f"\nemulated as {declared}:")
            print_table(PREDICTED, [_predicted(one, prediction) for one in asked])
    if predictions:
        print("\nwhat tells layouts apart, in percent:")
        _print_layouts(asked, predictions)
    print()
    rows = [(one.law, one.verdict, SENTENCES[one.law], one.detail) for one in found]
    print_table(("law", "verdict", "states that", "detail"), rows)


def _measured(one: Asked) -> tuple[str, ...]:
    row = one.total
    return (
        one.request.name,
        str(len(one.request.tokens)),
        f"{one.reply.seconds:.2f}",
        _whole(row.lookups),
        _whole(row.hits),
        _whole(row.misses),
        _real(row.hit_pct),
        _whole(row.added),
        _whole(row.evictions),
        _whole(row.refusals),
        _whole(row.resident_rows),
        _real(row.fill_pct),
    )


def _predicted(one: Asked, prediction: Prediction) -> tuple[str, ...]:
    row, expected = one.total, prediction.requests[one.request.name]
    return (
        one.request.name,
        _real(row.hit_pct),
        _real(expected.hit_pct),
        _whole(row.added),
        _real(expected.added, 0),
        _whole(row.evictions),
        _real(expected.evictions, 0),
        _whole(row.refusals),
        _real(expected.refusals, 0),
        _real(row.fill_pct),
        _real(expected.fill_pct),
    )


def _print_layouts(asked: Sequence[Asked], predictions: Sequence[Prediction]) -> None:
    figures = measured_figures(asked)
    rows = [("measured", *(f"{value:.2f}" for value in figures.values()), "")]
    for prediction in predictions:
        expected = prediction.figures
        cells = (f"{expected[name]:.2f} ± {prediction.tolerance(name):g}" for name in figures)
        rows.append((prediction.layout.name, *cells, "no" if prediction.misses(figures) else "yes"))
    print_table(("layout", *figures, "fits"), rows)


def _whole(number: int | None) -> str:
    return "-" if number is None else str(number)


def _real(number: float | None, digits: int = 2) -> str:
    return "-" if number is None else f"{number:.{digits}f}"


def as_dict(
    asked: Sequence[Asked], predictions: Sequence[Prediction], found: Sequence[Finding]
) -> dict[str, object]:
    """The object of `--json`."""
    return {
        "requests": [
            {
                "request": one.request.name,
                "tokens": len(one.request.tokens),
                **one.reply._asdict(),
                "total": one.total.as_dict(),
                "tables": [row.as_dict() for row in one.tables],
            }
            for one in asked
        ],
        "predictions": [
            {
                "layout": prediction.layout.name,
                "requests": {name: asdict(row) for name, row in prediction.requests.items()},
            }
            for prediction in predictions
        ],
        "laws": [finding._asdict() for finding in found],
    }
