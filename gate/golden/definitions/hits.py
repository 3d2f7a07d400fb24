"""Which hit rate does a budget of so many cycles give, on the three routing traces?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import floor
from pathlib import Path

from gate.golden.definitions.traces import (
    TRACES,
    budget_of_cycles,
    budget_of_rounded_cycles,
    cold_decode_curve,
    cumulative_hit_pct,
    decode_hit_pct,
    lru_curve,
    prefill_curve,
    trace_shape,
)
from gate.golden.identities import printed_column
from gate.golden.table import Row, Table, distance
from gate.golden.table_file import TABLES, load
from reference.errors import MIB
from reference.sizing import ModelShape, token_demand_bytes
from replay.curve import Curve
from replay.thresholds import thresholds

PROPOSAL_CYCLES = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(6), Fraction(8))
WHOLE_CYCLES = range(1, 10)
PREFILL_CYCLES = range(1, 9)

BudgetRule = Callable[[ModelShape, Fraction], int]
"""Shape and cycles to a budget in bytes."""

CurveOf = Callable[[Path, str], Curve]

HitPct = Callable[[Path, str, Fraction], Fraction]
"""Folder of recorded runs, trace and cycles to a hit rate in percent."""


def hit_by_cycles(bench_data: Path) -> list[Row]:
    """Decode hit rate at cycles * TD rounded to whole MiB: the proposal's 18 cells."""
    return _by_trace(bench_data, PROPOSAL_CYCLES, _hit_pct(budget_of_rounded_cycles))


def hit_by_exact_cycles(bench_data: Path) -> list[Row]:
    """Decode hit rate at cycles * TD in exact bytes."""
    cycles = sorted({*PROPOSAL_CYCLES, *map(Fraction, WHOLE_CYCLES)})
    return _by_trace(bench_data, cycles, _hit_pct(budget_of_cycles))


def marginal_gains(bench_data: Path) -> list[Row]:
    """What the n-th cycle of gpt-oss adds, at the proposal's budgets."""
    gains = _gains(bench_data, "gptoss", budget_of_rounded_cycles)
    return [{"cycle": cycle, "gptoss": gains[cycle - 1]} for cycle in range(1, 6)]


def marginal_gains_exact(bench_data: Path) -> list[Row]:
    """What the n-th cycle adds on each trace, in exact bytes."""
    gains = {trace: _gains(bench_data, trace, budget_of_cycles) for trace in TRACES}
    return [
        {"cycle": cycle, **{trace: gains[trace][cycle - 1] for trace in TRACES}}
        for cycle in WHOLE_CYCLES
    ]


def budget_rules(bench_data: Path) -> list[Row]:
    """How many of the six printed cells of each trace a rule reproduces."""
    printed = load(TABLES / "hit-by-cycles.toml")
    return [
        {
            "rule": name,
            **{trace: _agreeing(printed, trace, partial(hit_of, bench_data)) for trace in TRACES},
        }
        for name, hit_of in RULES.items()
    ]


def cliff(bench_data: Path) -> list[Row]:
    """The first budget with any decode hit, and the hit rates around it and around one cycle."""
    rows: list[Row] = []
    for trace in TRACES:
        demand = token_demand_bytes(trace_shape(bench_data, trace))
        curve = lru_curve(bench_data, trace)
        first = first_decode_hit_bytes(bench_data, trace)
        rows.append(
            {
                "trace": trace,
                "token_demand_bytes": demand,
                "first_hit_bytes": first,
                "first_hit_cycles": Fraction(first, demand),
                "hit_pct_one_byte_below": decode_hit_pct(curve, first - 1),
                "hit_pct_there": decode_hit_pct(curve, first),
                "hit_pct_at_td_less_1": decode_hit_pct(curve, demand - 1),
                "hit_pct_at_td": decode_hit_pct(curve, demand),
            }
        )
    return rows


def hit_claims(bench_data: Path) -> list[Row]:
    """What the proposal's text says about these curves, beside what they give."""
    at = _hit_pct(budget_of_cycles)
    rounded = _hit_pct(budget_of_rounded_cycles)
    rows: list[Row] = [
        {"claim": "gemma, exactly one cycle", "pct": at(bench_data, "gemma", Fraction(1))},
        {
            "claim": "qwen, gain from 4 to 6 cycles",
            "pct": rounded(bench_data, "qwen", Fraction(6))
            - rounded(bench_data, "qwen", Fraction(4)),
        },
    ]
    for trace in TRACES:
        below = token_demand_bytes(trace_shape(bench_data, trace)) - 1
        pct = decode_hit_pct(lru_curve(bench_data, trace), below)
        rows.append({"claim": f"{trace}, one byte below one cycle", "pct": pct})
    return rows


def gain_order(bench_data: Path) -> list[Row]:
    """How often a cycle adds more than the cycle before it: 0 times if gains only decay."""
    rows: list[Row] = []
    for trace in TRACES:
        gains = _gains(bench_data, trace, budget_of_cycles)
        rises = sum(later > earlier for earlier, later in pairwise(gains))
        rows.append({"trace": trace, "rises": rises})
    return rows


def prefill_simulation(bench_data: Path) -> list[Row]:
    """The curve simulated from the prompt alone, beside that of decode, in exact bytes."""
    prompt, decode = _hit_pct(budget_of_cycles, prefill_curve), _hit_pct(budget_of_cycles)
    return [
        {
            "cycles": cycles,
            **{f"{trace}_prefill": prompt(bench_data, trace, cycles) for trace in TRACES},
            **{f"{trace}_decode": decode(bench_data, trace, cycles) for trace in TRACES},
        }
        for cycles in map(Fraction, PREFILL_CYCLES)
    ]


def first_decode_hit_bytes(bench_data: Path, trace: str) -> int:
    """The lowest budget at which any decode lookup hits; at least 1, as a budget of 0 is off."""
    lookups = lru_curve(bench_data, trace).lookups
    theta = thresholds(lookups)
    return max(
        1,
        min(
            min(theta[lookups.offsets[segment.first] : lookups.offsets[segment.last]])
            for segment in lookups.segments
            if segment.decode
        ),
    )


def _hit_pct(
    rule: BudgetRule, curve_of: CurveOf = lru_curve, rate: Callable[..., Fraction] = decode_hit_pct
) -> HitPct:
    """The hit rate by cycles under a budget rule, a way to replay and a way to count."""

    def hit(bench_data: Path, trace: str, cycles: Fraction) -> Fraction:
        return rate(curve_of(bench_data, trace), rule(trace_shape(bench_data, trace), cycles))

    return hit


def _whole_mib(round_to: Callable[[Fraction], int]) -> BudgetRule:
    def budget(shape: ModelShape, cycles: Fraction) -> int:
        return round_to(cycles * token_demand_bytes(shape) / MIB) * MIB

    return budget


def _agreeing(table: Table, trace: str, hit_of: Callable[[str, Fraction], Fraction]) -> int:
    """How many cells of a trace's column print as `hit_of` has them."""
    return sum(
        distance(cell.value, hit_of(trace, Fraction(row.cells["cycles"]))) <= cell.tolerance
        for row, cell in zip(table.rows, printed_column(table, trace), strict=True)
    )


def _by_trace(bench_data: Path, cycles: Iterable[Fraction], hit_of: HitPct) -> list[Row]:
    return [
        {"cycles": each, **{trace: hit_of(bench_data, trace, each) for trace in TRACES}}
        for each in cycles
    ]


def _gains(bench_data: Path, trace: str, rule: BudgetRule) -> list[Fraction]:
    hit = _hit_pct(rule)
    hits = [Fraction(0), *(hit(bench_data, trace, Fraction(cycle)) for cycle in WHOLE_CYCLES)]
    return [later - earlier for earlier, later in pairwise(hits)]


RULES: dict[str, HitPct] = {
    "cycles * TD rounded to MiB": _hit_pct(budget_of_rounded_cycles),
    "exact bytes": _hit_pct(budget_of_cycles),
    "cycles * TD, then rounded to MiB": _hit_pct(_whole_mib(round)),
    "cycles * TD, then floored to MiB": _hit_pct(_whole_mib(floor)),
    "exact bytes, cumulative": _hit_pct(budget_of_cycles, rate=cumulative_hit_pct),
    "exact bytes, decode rows alone": _hit_pct(budget_of_cycles, cold_decode_curve),
}
"""Ways to read "hit rate at so many cycles"; only the first gives all 18 cells."""
