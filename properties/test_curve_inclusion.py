"""Why may one pass stand for every budget, and where may it not?

For lru and layer a larger budget holds all that a smaller one holds, so hits never fall as the budget grows. Retain,
prefetch, and lfu or belady with unequal entry bytes break that: a counterexample stands here for each, the reason why
they are replayed one budget at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from random import Random

import pytest
from hypothesis import given

from fixtures.expert_histories import history
from fixtures.profiles import SEEDS
from fixtures.small_routings import routing
from reference.policy_replay import Routed, replay_policy
from reference.sizing import ModelShape, total_expert_bytes


def drawn_budgets(random: Random, shape: ModelShape) -> tuple[int, int]:
    """Two budgets that are on, the smaller first."""
    less, more = sorted(random.randint(1, total_expert_bytes(shape) + 1) for _ in range(2))
    return less, more


@pytest.mark.parametrize("policy", ["lru", "layer"])
@given(seed=SEEDS)
def test_a_larger_budget_holds_what_a_smaller_one_holds(policy: str, seed: int) -> None:
    """After every batch; so every hit of the smaller budget is one of the larger."""
    random = Random(seed)
    routed = routing(random)
    budgets = drawn_budgets(random, routed.shape)
    less, more = (replay_policy(routed.shape, routed.batches, policy, b) for b in budgets)
    for (small, few), (large, many) in zip(less, more, strict=True):
        assert small.residents.keys() <= large.residents.keys(), (routed, budgets)
        assert all(hit <= also for hit, also in zip(few.hits, many.hits, strict=True))


@given(seed=SEEDS)
def test_what_is_resident_is_the_head_of_the_recency_order(seed: int) -> None:
    """lru: the residents are the experts last touched, with no gap, at every budget."""
    random = Random(seed)
    routed = routing(random)
    budget, _ = drawn_budgets(random, routed.shape)
    touched: OrderedDict[tuple[int, int], None] = OrderedDict()
    replayed = replay_policy(routed.shape, routed.batches, "lru", budget)
    for (layer, experts, _), (cache, _) in zip(routed.batches, replayed, strict=True):
        for expert in experts:
            touched[layer, expert] = None
            touched.move_to_end((layer, expert))
        assert cache.order() == tuple(touched)[-len(cache.order()) :]


@pytest.mark.parametrize("policy", ["lfu", "layerlfu", "belady"])
@given(seed=SEEDS)
def test_with_equal_entry_bytes_more_budget_loses_no_hit(policy: str, seed: int) -> None:
    """Where all entries have one size, lfu and belady rank them whatever the budget."""
    random = Random(seed)
    routed = routing(random, sizes=(1,))
    hits = [
        sum(sum(batch.hits) for _, batch in replay_policy(routed.shape, routed.batches, policy, b))
        for b in drawn_budgets(random, routed.shape)
    ]
    assert hits == sorted(hits), routed


def decode(*loads: tuple[int, str]) -> list[Routed]:
    """Decode batches of (layer, experts)."""
    return [(layer, tuple(map(int, experts)), True) for layer, experts in loads]


@pytest.mark.parametrize(
    "policy, entry_bytes, batches, smaller, hits",
    [
        ("lfu", (2, 1, 1), decode((0, "0"), (0, "0"), (1, "0"), (2, "0"), (1, "0")), 2, [2, 1]),
        (
            "belady",
            (1, 3, 3),
            decode((1, "10"), (0, "10"), (2, "1"), (1, "0"), (0, "0")),
            4,
            [1, 0],
        ),
    ],
)
def test_with_unequal_entry_bytes_one_byte_more_can_lose_a_hit(
    policy: str, entry_bytes: tuple[int, ...], batches: list[Routed], smaller: int, hits: list[int]
) -> None:
    """So the curve of these policies may not be read off one pass."""
    shape = ModelShape(entry_bytes, (2,) * len(entry_bytes), 2)
    found = [
        sum(sum(batch.hits) for _, batch in replay_policy(shape, batches, policy, budget))
        for budget in (smaller, smaller + 1)
    ]
    assert found == hits


@pytest.mark.parametrize(
    "operations, entry_bytes, smaller, hits",
    [
        ("decode 2: 0; decode 0: 0; retain 2: 0; decode 1: 0; decode 0: 0", "2,1,2", 3, [1, 0]),
        (
            "prefetch 1: 0; arrive 1: 0; decode 0: 0; prefetch 2: 0; arrive 2: 0; decode 0: 0; decode 2: 0",
            "3,2,1",
            4,
            [2, 1],
        ),
    ],
    ids=["retain", "prefetch"],
)
def test_retain_and_prefetch_can_lose_a_hit_to_one_byte_more(
    operations: str, entry_bytes: str, smaller: int, hits: list[int]
) -> None:
    """What they do depends on what is resident, so on the budget: programs that have them keep no such law."""
    found = [
        history(
            operations, entry_bytes=entry_bytes, budget_bytes=budget, budget_rule="bytes"
        ).count("hits")
        for budget in (smaller, smaller + 1)
    ]
    assert found == hits
