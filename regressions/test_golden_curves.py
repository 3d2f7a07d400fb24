"""Do the engine's own replay curves come out? Compared with its files directly, never copied.

The three `*-curve.csv` hold 198 rows: 11 budgets, 6 policies, 3 traces. Needs the folder of recorded
runs. The printed digits: hit rates to 3 decimals in percent, read MiB to 1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from gate.golden.definitions.traces import TRACES, hit_pct, route_trace
from gate.golden.table import Number, distance, half_unit
from reference.errors import MIB
from reference.expert_config import POLICIES
from replay.curve import Curve
from replay.lookups import lookups_of

BUDGETS_MIB = (250, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 8000)


class CurveRow(NamedTuple):
    """One row of a curve file."""

    budget_mib: int
    hit_pct_cum: Fraction
    hit_pct_decode: Fraction
    read_mib: Fraction


def printed_rows(bench_data: Path, trace: str, policy: str) -> Iterator[CurveRow]:
    """The rows of one policy, by budget."""
    path = bench_data / "2026-07-20-cache-replay" / f"{trace}-curve.csv"
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["policy"] == policy:
                yield CurveRow(
                    int(row["budget_mib"]),
                    Fraction(row["hit_pct_cum"]),
                    Fraction(row["hit_pct_decode"]),
                    Fraction(row["read_mib"]),
                )


def replayed_row(curve: Curve, budget_mib: int) -> CurveRow:
    """What our replay gives at this budget; read_mib counts decode and prefill."""
    tallies = curve.at(budget_mib * MIB)
    read = Fraction(sum(tally.read_bytes for tally in tallies), MIB)
    decode = hit_pct(tally for tally in tallies if tally.decode)
    return CurveRow(budget_mib, hit_pct(tallies), decode, read)


def agree(printed: Number, replayed: Number, digits: int) -> bool:
    """Does `replayed` print as `printed` with so many decimals?"""
    return distance(printed, replayed) <= half_unit(digits)


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("trace", TRACES)
def test_every_row_of_the_curve_file_comes_out(bench_data: Path, trace: str, policy: str) -> None:
    """Hit rates and bytes read of the policy agree at all eleven budgets to the printed digits."""
    curve = Curve(lookups_of(route_trace(bench_data, trace)), policy)
    rows = list(printed_rows(bench_data, trace, policy))
    wrong = [
        (printed, replayed)
        for printed in rows
        for replayed in [replayed_row(curve, printed.budget_mib)]
        if not (
            agree(printed.hit_pct_cum, replayed.hit_pct_cum, 3)
            and agree(printed.hit_pct_decode, replayed.hit_pct_decode, 3)
            and agree(printed.read_mib, replayed.read_mib, 1)
        )
    ]
    assert wrong == []
    assert tuple(row.budget_mib for row in rows) == BUDGETS_MIB


@pytest.mark.parametrize("trace", TRACES)
def test_a_curve_file_holds_eleven_budgets_of_six_policies(bench_data: Path, trace: str) -> None:
    """66 rows a trace: no row of the file is left out of the comparison."""
    path = bench_data / "2026-07-20-cache-replay" / f"{trace}-curve.csv"
    with path.open(newline="", encoding="utf-8") as file:
        found = {(int(row["budget_mib"]), row["policy"]) for row in csv.DictReader(file)}
    assert found == {(budget, policy) for budget in BUDGETS_MIB for policy in POLICIES}
