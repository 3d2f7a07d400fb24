"""Are token demand, cycles and legal budgets what the proposal says? Source: BigMoeOnEdge#103 and #167."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fixtures.model_shapes import model_shapes
from reference import errors
from reference.sizing import (
    AUTO_FLOOR_BYTES,
    AUTO_MINIMUM_BYTES,
    ModelShape,
    auto_budget_bytes,
    cliff_bytes,
    cycles_held,
    floor_to_cycles,
    layer_demand_bytes,
    legal_budgets,
    step_down,
    step_up,
    token_demand_bytes,
    top_budget_bytes,
    total_expert_bytes,
)

MIB_BY_DOUBLING = sum([1] * 1024) * sum([1] * 1024)
"""2^20 without the constant under test."""

SHAPES = model_shapes()
BYTES = st.integers(0, 1 << 40)
TINY = ModelShape((1, 0, 3), (4, 9, 1), 2)
"""A cycle is 2 * 1 + 1 * 3 = 5 bytes: one dense layer, and one layer with fewer experts than k."""

# Token demand


def test_token_demand_by_hand() -> None:
    """min(k, experts) entries of each MoE layer; a dense layer asks for nothing."""
    assert [layer_demand_bytes(TINY, layer) for layer in range(3)] == [2, 0, 3]
    assert (token_demand_bytes(TINY), total_expert_bytes(TINY)) == (5, 7)
    assert TINY.moe_layers == (0, 2)


@pytest.mark.parametrize("shape", [ModelShape((), (), 1), ModelShape((0, 5), (4, 0), 2)])
def test_a_model_without_experts_has_no_cycle(shape: ModelShape) -> None:
    """Everything is 0, nothing divides by it, and 0 is the only legal budget."""
    assert (token_demand_bytes(shape), top_budget_bytes(shape), cliff_bytes(shape)) == (0, 0, 0)
    assert (cycles_held(9, shape), floor_to_cycles(9, shape), step_up(0, shape)) == (0.0, 0, 0)
    assert list(legal_budgets(shape)) == [0]


@given(shape=SHAPES, seed=st.integers(0, 1 << 16))
def test_the_order_of_the_layers_does_not_matter(shape: ModelShape, seed: int) -> None:
    """colibri#766: no layer's width stands for another's, so permuting them leaves the demand."""
    layers = list(zip(shape.entry_bytes, shape.experts, strict=True))
    Random(seed).shuffle(layers)
    sizes, counts = [size for size, _ in layers], [count for _, count in layers]
    shuffled = ModelShape(tuple(sizes), tuple(counts), shape.k)
    for figure in (token_demand_bytes, total_expert_bytes, cliff_bytes, top_budget_bytes):
        assert figure(shuffled) == figure(shape)


@given(shape=model_shapes(moe_layers=1), more=st.integers(1, 99), at=st.integers(0, 4))
def test_wider_entries_cost_their_experts(shape: ModelShape, more: int, at: int) -> None:
    """d bytes more in the entries of one layer add min(k, n) * d to the demand, and n * d to the total."""
    layer = shape.moe_layers[at % len(shape.moe_layers)]
    sizes = list(shape.entry_bytes)
    sizes[layer] += more
    wider = ModelShape(tuple(sizes), shape.experts, shape.k)
    experts = shape.experts[layer]
    assert token_demand_bytes(wider) - token_demand_bytes(shape) == min(shape.k, experts) * more
    assert total_expert_bytes(wider) - total_expert_bytes(shape) == experts * more


@given(shape=SHAPES)
def test_demand_grows_with_k_up_to_all_experts(shape: ModelShape) -> None:
    """Beyond the expert count more k asks for nothing more: a cycle is at most the whole model."""
    demands = [token_demand_bytes(shape.with_k(k)) for k in range(1, 12)]
    assert demands == sorted(demands)
    assert demands[-1] == total_expert_bytes(shape)


# Cycles and legal budgets


def test_legal_budgets_by_hand() -> None:
    """Multiples of 5 up to the least one that holds all 7 bytes."""
    assert list(legal_budgets(TINY)) == [0, 5, 10]
    floored = [floor_to_cycles(request, TINY) for request in (0, 4, 5, 9, 10, 14, 999)]
    assert floored == [0, 0, 5, 5, 10, 10, 10]


@given(shape=SHAPES, request=BYTES)
def test_a_request_gives_the_largest_legal_budget_within_it(
    shape: ModelShape, request: int
) -> None:
    """Never more than was asked for, and no legal budget between the two; flooring again changes nothing."""
    granted = floor_to_cycles(request, shape)
    assert granted in legal_budgets(shape)
    assert granted <= request
    next_one = granted + token_demand_bytes(shape)
    assert next_one > request or next_one not in legal_budgets(shape) or next_one == granted
    assert floor_to_cycles(granted, shape) == granted


@given(shape=model_shapes(moe_layers=1))
def test_the_top_budget_is_the_least_that_holds_all(shape: ModelShape) -> None:
    """One cycle less does not hold all experts."""
    top, total = top_budget_bytes(shape), total_expert_bytes(shape)
    assert top - token_demand_bytes(shape) < total <= top
    assert legal_budgets(shape)[-1] == top


@given(shape=model_shapes(moe_layers=1), cycles=st.integers(0, 9))
def test_steps_are_whole_cycles_and_end(shape: ModelShape, cycles: int) -> None:
    """A step moves by one cycle within the legal budgets; the last step down goes to 0, the cache off."""
    demand, top = token_demand_bytes(shape), top_budget_bytes(shape)
    budget = floor_to_cycles(cycles * demand, shape)
    assert step_up(budget, shape) == min(budget + demand, top)
    assert step_down(budget, shape) == max(budget - demand, 0)
    assert step_down(demand, shape) == step_down(0, shape) == 0
    assert step_up(top, shape) == top


@given(shape=model_shapes(moe_layers=1), budget=BYTES)
def test_cycles_held_is_the_budget_over_the_demand(shape: ModelShape, budget: int) -> None:
    """Exactly the quotient, as near as a float is."""
    assert cycles_held(budget, shape) == float(Fraction(budget, token_demand_bytes(shape)))


@given(shape=model_shapes(moe_layers=2))
def test_the_cliff_lies_within_the_last_cycle(shape: ModelShape) -> None:
    """Above all of the demand but one layer's; at most the demand, and just that when every batch is one expert."""
    demand = token_demand_bytes(shape)
    widest = max(layer_demand_bytes(shape, layer) for layer in shape.moe_layers)
    assert demand - widest < cliff_bytes(shape) <= demand
    assert cliff_bytes(shape.with_k(1)) == token_demand_bytes(shape.with_k(1))


# What auto chooses


WIDE = ModelShape((1,), (20,), 1)
"""All experts are 20 bytes."""


def test_what_is_still_to_come_is_left_out() -> None:
    """BigMoeOnEdge#78: 10 available, 4 pending, 1 for others: 5, not 9."""
    sized = {"floor_bytes": 1, "minimum_bytes": 0}
    assert auto_budget_bytes(10, WIDE, pending_bytes=4, **sized) == 5
    assert auto_budget_bytes(10, WIDE, **sized) == 9


def test_an_asked_for_ceiling_is_held_below_what_is_left() -> None:
    """colibri#653: memory 10 of which another tier takes 6, 8 asked for: 4, not 8."""
    asked = {"floor_bytes": 0, "minimum_bytes": 0, "ceiling_bytes": 8}
    assert auto_budget_bytes(10, WIDE, pending_bytes=6, **asked) == 4


@given(available=st.integers(1, 99), pending=st.integers(0, 98), floor=st.integers(0, 30))
def test_sizing_before_or_after_an_allocation_agrees(
    available: int, pending: int, floor: int
) -> None:
    """colibri#759: bytes planned for and bytes already taken count alike."""
    assume(pending < available)
    sized = {"floor_bytes": floor, "minimum_bytes": 0}
    before = auto_budget_bytes(available, WIDE, pending_bytes=pending, **sized)
    assert before == auto_budget_bytes(available - pending, WIDE, **sized)


@pytest.mark.parametrize(
    "available, ceiling, minimum, chosen",
    [
        (10, 0, 3, 9),
        (2, 0, 3, 3),  # never below the least
        (2, 2, 3, 2),  # unless the ceiling is lower
        (99, 0, 3, 20),  # never above all experts
        (99, 12, 3, 12),
        (99, 50, 3, 20),
        (0, 0, 3, 3),  # memory that cannot be read: the least
        (0, 0, 30, 20),  # which is itself held below all experts
        (0, 7, 30, 7),
    ],
)
def test_the_clamps_of_auto(available: int, ceiling: int, minimum: int, chosen: int) -> None:
    """clamp(available - floor, least, hard cap), with one byte left to others."""
    assert (
        auto_budget_bytes(
            available, WIDE, floor_bytes=1, ceiling_bytes=ceiling, minimum_bytes=minimum
        )
        == chosen
    )


def test_the_engines_own_clamps() -> None:
    """1536 MiB left to others, at least 1500 MiB; the result is no whole number of MiB."""
    assert (AUTO_FLOOR_BYTES, AUTO_MINIMUM_BYTES) == (
        1536 * MIB_BY_DOUBLING,
        1500 * MIB_BY_DOUBLING,
    )
    huge = ModelShape((MIB_BY_DOUBLING,), (9999,), 8)
    assert auto_budget_bytes(4000 * MIB_BY_DOUBLING + 1, huge) == 2464 * MIB_BY_DOUBLING + 1
    assert auto_budget_bytes(1, huge) == 1500 * MIB_BY_DOUBLING


# Units and shapes


def test_a_mib_is_two_to_the_twentieth() -> None:
    """rethinkdb#1365: n MiB are n * 1024 * 1024 bytes; 1000 * 1000 would lose the second of two cycles."""
    assert errors.MIB == MIB_BY_DOUBLING
    shape = ModelShape((MIB_BY_DOUBLING,), (6,), 1)
    assert cycles_held(floor_to_cycles(2 * errors.MIB, shape), shape) == 2.0
    assert cycles_held(floor_to_cycles(2 * 1000**2, shape), shape) == 1.0


@pytest.mark.parametrize(
    "entry_bytes, experts, k",
    [((1,), (1, 2), 1), ((-1,), (1,), 1), ((1,), (-1,), 1), ((1,), (1,), 0)],
)
def test_a_shape_that_cannot_be_is_refused(
    entry_bytes: tuple[int, ...], experts: tuple[int, ...], k: int
) -> None:
    """Lists of different length, negative sizes or counts, a k below one."""
    with pytest.raises(ValueError, match=r"k is 1|0 or more|entry sizes"):
        ModelShape(entry_bytes, experts, k)
