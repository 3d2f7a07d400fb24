"""Does the arithmetic of the tables on token demand and budgets hold?

Needs no recorded runs.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest

from fixtures.shapes import named_shapes
from gate.golden.definitions.demand import FIXED_BUDGET_MIB
from gate.golden.identities import Printed, exactly, follows, printed, printed_column, same
from gate.golden.table_file import load_all
from reference.errors import MIB

TABLES = {table.id: table for table in load_all()}
DEMAND, RECORDED = TABLES["token-demand"], TABLES["token-demand-recorded"]
MODELS = [row.cells["model"] for row in DEMAND.rows]


@pytest.mark.parametrize("model", MODELS)
def test_cycles_are_the_budget_over_the_demand(model: str) -> None:
    """3000 MiB / TD gives the printed cycles, with the printed TD and with the exact one."""
    cycles = printed(DEMAND, "cycles", model)
    for table in (DEMAND, RECORDED):
        demand = printed(table, "token_demand_mib", model)
        assert follows(cycles, lambda mib: FIXED_BUDGET_MIB / mib, demand)
        assert follows(cycles, lambda mib: FIXED_BUDGET_MIB / mib, exactly(demand.value))


@pytest.mark.parametrize("model", MODELS)
def test_the_demand_is_what_the_engine_recorded(model: str) -> None:
    """TD and the widest layer from the shape print as the recorded ones, and as the proposal's."""
    demand = printed(RECORDED, "token_demand_mib", model)
    assert same(demand, printed(RECORDED, "recorded_token_demand_mib", model))
    assert same(demand, printed(DEMAND, "token_demand_mib", model))
    layer = printed(RECORDED, "layer_demand_mib", model)
    assert same(layer, printed(RECORDED, "recorded_layer_demand_mib", model))


@pytest.mark.parametrize("model", MODELS)
def test_the_widest_layer_is_k_times_the_largest_entry(model: str) -> None:
    """The column follows from the shape and k alone."""
    shape = next(each.shape for each in named_shapes().values() if each.name == model)
    k = printed(TABLES["token-demand-recorded"], "k", model).value
    widest = exactly(k * max(shape.entry_bytes) / MIB)
    assert same(printed(RECORDED, "layer_demand_mib", model), widest)


def test_the_predicted_demand_is_the_recorded_one() -> None:
    """Measured as the proposal's table has it, prediction and record of gpt-oss print the same."""
    table = TABLES["predicted-demand"]
    predicted = printed(table, "token_demand_mib", "predicted")
    assert same(predicted, printed(table, "token_demand_mib", "recorded"))
    assert same(predicted, printed(DEMAND, "token_demand_mib", "gpt-oss-120b"))


def test_the_preamble_floors_the_automatic_budget() -> None:
    """cache_mb is the budget rounded down, and the ends are the proposal's 5280 and 7420."""
    table = TABLES["auto-budget"]
    for (run,) in table.keys:
        assert floor(table.cell("budget_mib", run)) == table.cell("preamble_mib", run)
    whole = [cell.value for cell in printed_column(table, "preamble_mib")]
    assert (min(whole), max(whole)) == (5280, 7420)


def test_runs_without_a_hit_are_below_one_cycle_and_read_everything() -> None:
    """Their cycles follow from budget and TD, are below 1, and every token reads at least TD."""
    table = TABLES["zero-hit-runs"]
    demand = printed(RECORDED, "token_demand_mib", "gpt-oss-120b")
    for (run,) in table.keys:
        budget, cycles = printed(table, "budget_mib", run), printed(table, "cycles", run)
        assert follows(cycles, lambda mib, td: mib / td, budget, demand)
        assert cycles.value < 1
        assert table.cell("highest_hit_pct", run) == 0
        assert printed(table, "read_mib_per_token", run).value > demand.value


def test_an_identity_that_does_not_hold_is_seen() -> None:
    """A difference of 0.60 printed as 0.61 is refused, even though both inputs are rounded."""
    cell = Fraction(1, 200)
    later, earlier = (
        Printed(Fraction(310, 100), Fraction(0)),
        Printed(Fraction(250, 100), Fraction(0)),
    )
    assert follows(Printed(Fraction(60, 100), cell), lambda a, b: a - b, later, earlier)
    assert not follows(Printed(Fraction(61, 100), cell), lambda a, b: a - b, later, earlier)
