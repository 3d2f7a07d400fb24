"""Does the arithmetic of the tables on hit rates hold?

Needs no recorded runs.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from gate.golden.definitions.traces import TRACES
from gate.golden.identities import follows, printed, printed_column, same, total
from gate.golden.table_file import load_all

TABLES = {table.id: table for table in load_all()}


@pytest.mark.parametrize("trace", TRACES)
def test_the_curve_rises_and_its_differences_are_the_gains(trace: str) -> None:
    """Hits never fall as cycles grow, and the marginal gains are the differences."""
    curve, gains = TABLES["hit-by-exact-cycles"], TABLES["marginal-gains-exact"]
    hits = printed_column(curve, trace)
    assert all(lower.value <= higher.value for lower, higher in pairwise(hits))
    assert hits[0].value == 0  # half a cycle
    for cycle, (before, after) in enumerate(pairwise(hits), 1):
        gain = printed(gains, trace, cycle)
        assert follows(gain, lambda a, b: b - a, before, after)


def test_the_gains_of_gptoss_follow_from_the_proposals_curve() -> None:
    """The first two quoted gains are differences of the printed curve, the next two add up to one."""
    curve, gains = TABLES["hit-by-cycles"], TABLES["marginal-gains"]
    hits = {cycles: printed(curve, "gptoss", cycles) for (cycles,) in curve.keys}
    gain = {cycle: printed(gains, "gptoss", cycle) for (cycle,) in gains.keys}
    assert same(gain[1], hits[1])
    assert follows(gain[2], lambda a, b: b - a, hits[1], hits[2])
    assert follows(total([gain[3], gain[4]]), lambda a, b: b - a, hits[2], hits[4])


@pytest.mark.parametrize("trace", TRACES)
def test_the_gains_do_not_decay(trace: str) -> None:
    """Somewhere a cycle adds more than the one before, as often as gain-order counts."""
    gains = [cell.value for cell in printed_column(TABLES["marginal-gains-exact"], trace)]
    rises = sum(later > earlier for earlier, later in pairwise(gains))
    assert rises == TABLES["gain-order"].cell("rises", trace) > 0


@pytest.mark.parametrize("trace", TRACES)
def test_cells_outside_gemma_do_not_depend_on_rounding(trace: str) -> None:
    """The proposal's cells are those in exact bytes, except as many of Gemma's as budget-rules says."""
    curve, exact = TABLES["hit-by-cycles"], TABLES["hit-by-exact-cycles"]
    agreeing = sum(
        same(printed(curve, trace, cycles), printed(exact, trace, cycles))
        for (cycles,) in curve.keys
    )
    assert agreeing == TABLES["budget-rules"].cell(trace, "exact bytes")


def test_only_the_rounded_rule_gives_all_eighteen_cells() -> None:
    """One way to read "cycles" reproduces 6 + 6 + 6 cells; every other misses some."""
    table = TABLES["budget-rules"]
    sums = {rule: sum(table.cell(trace, rule) for trace in TRACES) for (rule,) in table.keys}
    assert [rule for rule, cells in sums.items() if cells == 18] == ["cycles * TD rounded to MiB"]


@pytest.mark.parametrize("trace", TRACES)
def test_the_cliff_stands_below_one_cycle(trace: str) -> None:
    """Cycles follow from the bytes; 0 % one byte below, then rising up to one cycle."""
    table, exact = TABLES["cliff"], TABLES["hit-by-exact-cycles"]
    first, demand = (
        printed(table, column, trace) for column in ("first_hit_bytes", "token_demand_bytes")
    )
    assert follows(printed(table, "first_hit_cycles", trace), lambda a, b: a / b, first, demand)
    columns = ("hit_pct_one_byte_below", "hit_pct_there", "hit_pct_at_td_less_1", "hit_pct_at_td")
    zero, there, below, at = (printed(table, column, trace) for column in columns)
    assert zero.value == 0 < there.value <= below.value < at.value
    assert same(at, printed(exact, trace, 1))
    assert same(below, printed(TABLES["hit-claims"], "pct", f"{trace}, one byte below one cycle"))


def test_gemmas_artefact_is_the_rate_just_below_one_cycle() -> None:
    """27.9 is what one byte below TD gives; at TD it is 35.4."""
    rounded = printed(TABLES["hit-by-cycles"], "gemma", 1)
    assert same(rounded, printed(TABLES["cliff"], "hit_pct_at_td_less_1", "gemma"))
    assert not same(rounded, printed(TABLES["cliff"], "hit_pct_at_td", "gemma"))
    claim = printed(TABLES["hit-claims"], "pct", "gemma, exactly one cycle")
    assert same(claim, printed(TABLES["cliff"], "hit_pct_at_td", "gemma"))


def test_four_cycles_leave_what_the_curve_says() -> None:
    """Qwen's gain from 4 to 6 cycles is the difference of the printed cells."""
    curve = TABLES["hit-by-cycles"]
    four, six = printed(curve, "qwen", 4), printed(curve, "qwen", 6)
    claim = printed(TABLES["hit-claims"], "pct", "qwen, gain from 4 to 6 cycles")
    assert follows(claim, lambda a, b: b - a, four, six)


@pytest.mark.parametrize("trace", TRACES)
def test_the_simulation_stands_beside_the_curve_it_predicts(trace: str) -> None:
    """The decode column of the simulation is the exact curve."""
    table, exact = TABLES["prefill-simulation"], TABLES["hit-by-exact-cycles"]
    for (cycles,) in table.keys:
        assert same(printed(table, f"{trace}_decode", cycles), printed(exact, trace, cycles))


@pytest.mark.parametrize(
    ("trace", "least", "most"), [("gptoss", 0.9, 1), ("qwen", 2, 3), ("gemma", 3, 4)]
)
def test_short_prompts_underestimate_what_more_cycles_add(
    trace: str, least: float, most: float
) -> None:
    """From 4 to 8 cycles decode gains 2 to 4 times what prompts of 28 and 29 tokens predict.

    The prompt of 85 tokens (gpt-oss) predicts a little more than decode gains.
    """
    table = TABLES["prefill-simulation"]
    predicted, gained = (
        printed(table, f"{trace}_{part}", 8).value - printed(table, f"{trace}_{part}", 4).value
        for part in ("prefill", "decode")
    )
    assert least < gained / predicted < most


@pytest.mark.parametrize("trace", TRACES)
def test_device_and_replay_print_the_same(trace: str) -> None:
    """Recorded and replayed rates and residency print alike, on every token; budgets hold."""
    table = TABLES["device-against-replay"]
    assert same(printed(table, "recorded_hit_pct", trace), printed(table, "hit_pct", trace))
    resident = printed(table, "resident_mib", trace)
    assert same(printed(table, "recorded_resident_mib", trace), resident)
    assert resident.value <= table.cell("budget_mib", trace)
    assert table.cell("tokens", trace) == table.cell("tokens_agreeing", trace)
    assert table.cell("rereads", trace) <= table.cell("evictions", trace)


def test_all_320_tokens_agree() -> None:
    """64 + 128 + 128 recorded rates are replayed to their last digit."""
    assert total(printed_column(TABLES["device-against-replay"], "tokens_agreeing")).value == 320


def test_the_cut_budget_starts_where_the_device_ran() -> None:
    """Gemma's rate at 4000 MiB is the same in both tables."""
    before = printed(TABLES["budget-cut"], "decode_hit_pct", 4000)
    assert same(before, printed(TABLES["device-against-replay"], "decode_hit_pct", "gemma"))
