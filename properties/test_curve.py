"""Does one pass, and each fast replay, count what the reference counts at every budget?"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given

from fixtures.profiles import SEEDS
from fixtures.small_routings import Routing, routing, single_loads
from reference.expert_config import POLICIES
from reference.policy_replay import replay_policy
from reference.sizing import cliff_bytes, token_demand_bytes, total_expert_bytes
from replay import kernel, thresholds
from replay.curve import ONE_PASS, Curve

Counts = tuple[int, ...]
"""turn, decode, lookups, hits, read_bytes, evictions and rereads of one segment."""


def reference_counts(routed: Routing, policy: str, budget_bytes: int) -> list[Counts]:
    """What the reference counts in each segment: consecutive batches of one phase of one turn."""
    replayed = replay_policy(routed.shape, routed.batches, policy, budget_bytes)
    found: list[Counts] = []
    before: Counts = (0, 0, 0, 0, 0)
    for turn, batches in enumerate(routed.turns):
        for at, (_, _, decode) in enumerate(batches):
            counters = next(replayed)[0].counters
            if at + 1 == len(batches) or batches[at + 1][2] != decode:
                now = (counters.lookups, counters.hits, counters.read_bytes)
                now += (counters.evictions, counters.rereads)
                counted = (new - old for new, old in zip(now, before, strict=True))
                found.append((turn, decode, *counted))
                before = now
    return found


def curve_counts(curve: Curve, budget_bytes: int) -> list[Counts]:
    """The same of the fast engine."""
    return [
        (t.turn, t.decode, t.lookups, t.hits, t.read_bytes, t.evictions, t.rereads)
        for t in curve.at(budget_bytes)
    ]


def interesting_budgets(random: Random, routed: Routing) -> Iterator[int]:
    """Off, one byte, around a breakpoint, the cliff and a cycle, everything, more than 64 bits, and one anywhere."""
    total = total_expert_bytes(routed.shape)
    yield from (0, 1, total, 2 * total, 1 << 70)
    around = (
        random.choice(Curve(routed.lookups(), random.choice(ONE_PASS)).breakpoints()),
        random.choice((cliff_bytes(routed.shape), token_demand_bytes(routed.shape))),
    )
    yield from (max(0, place + random.choice((-1, 0, 1))) for place in around)
    yield random.randint(0, total)


@pytest.mark.parametrize("policy", POLICIES)
@given(seed=SEEDS)
def test_every_segment_counts_what_the_reference_counts(policy: str, seed: int) -> None:
    """Lookups, hits, bytes, evictions and re-reads of each phase of each turn, at any budget."""
    random = Random(seed)
    routed = routing(random)
    curve = Curve(routed.lookups(), policy)
    for budget_bytes in interesting_budgets(random, routed):
        expected = reference_counts(routed, policy, budget_bytes)
        assert curve_counts(curve, budget_bytes) == expected, (routed, budget_bytes)


@given(seed=SEEDS)
def test_a_lookup_hits_from_its_threshold_up(seed: int) -> None:
    """Each single lookup of lru, at its threshold and one byte below; never where the cache is off."""
    random = Random(seed)
    routed = routing(random)
    theta = thresholds.thresholds(routed.lookups())
    chosen = random.choice([one for one in theta if one != thresholds.NEVER] or [1])
    for budget_bytes in {max(0, chosen - 1), chosen}:
        replayed = replay_policy(routed.shape, routed.batches, "lru", budget_bytes)
        hits = [hit for _, batch in replayed for hit in batch.hits]
        assert hits == [0 < budget_bytes >= one for one in theta], (routed, budget_bytes)


@pytest.mark.parametrize("policy", ONE_PASS)
@given(seed=SEEDS)
def test_breakpoints_are_where_the_references_hits_change(policy: str, seed: int) -> None:
    """Every budget is replayed until all fits: hits change at each breakpoint and nowhere else."""
    routed = routing(Random(seed), sizes=(1, 2))
    shape = routed.shape
    widest = max(size * count for size, count in zip(shape.entry_bytes, shape.experts, strict=True))
    holds_all = total_expert_bytes(shape) if policy == "lru" else widest * len(shape.moe_layers)
    top = holds_all + 1
    hits = [
        [batch.hits for _, batch in replay_policy(shape, routed.batches, policy, budget)]
        for budget in range(top + 1)
    ]
    changes = {budget for budget in range(1, top + 1) if hits[budget] != hits[budget - 1]}
    assert set(Curve(routed.lookups(), policy).breakpoints()) == changes | {1}, routed


@pytest.mark.parametrize(
    "policy, loads, breakpoints",
    [
        ("lru", ((0, 0), (0, 1), (0, 0), (0, 1)), [1, 6]),
        ("lru", ((0, 0), (0, 0)), [1]),  # the batch just before is protected
        ("lru", ((0, 0), (0, 1), (1, 0), (0, 1)), [1, 5]),
        ("lru", ((0, 0), (0, 1), (1, 0)), [1]),
        ("layer", ((0, 0), (1, 0), (0, 1), (1, 0), (0, 0)), [1, 12]),
    ],
)
def test_breakpoints_by_hand(
    policy: str, loads: tuple[tuple[int, int], ...], breakpoints: list[int]
) -> None:
    """Entries of 3 and 2 bytes: an expert hits once all that was used since, and itself, fits; `layer` has half."""
    routed = single_loads(*loads, entry_bytes=(3, 2))
    assert Curve(routed.lookups(), policy).breakpoints() == breakpoints


def test_a_slice_is_the_models_not_the_traces() -> None:
    """A MoE layer that is never routed keeps its slice of the budget."""
    routed = single_loads((0, 0), (0, 1), (0, 0), entry_bytes=(3, 2))
    for policy in ("layer", "layerlfu"):
        hits = [
            sum(tally.hits for tally in Curve(routed.lookups(), policy).at(b)) for b in (11, 12)
        ]
        assert hits == [0, 1]


# The compiled engine


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sends every trace to the kernel; how many lookups each call had."""
    calls: list[int] = []
    compiled = kernel.thresholds

    def counted(*columns: array[int]) -> array[int]:
        calls.append(len(columns[0]))
        return compiled(*columns)

    monkeypatch.setattr(thresholds, "KERNEL_FROM", 0)
    monkeypatch.setattr(kernel, "thresholds", counted)
    monkeypatch.delenv(kernel.VARIABLE, raising=False)
    return calls


@pytest.mark.skipif(kernel.built() is None, reason="the C kernel is not built")
class TestCompiled:
    """What the kernel gives is what plain Python gives."""

    @pytest.mark.parametrize("seed", range(40))
    def test_its_thresholds_are_the_plain_ones(self, seed: int, kernel_calls: list[int]) -> None:
        """A trace that is long enough goes to the kernel, and nothing in the curve changes."""
        lookups = routing(Random(seed)).lookups()
        batches = zip(lookups.offsets, lookups.offsets[1:], strict=False)
        plain = thresholds.one_pass(lookups, batches, len(lookups.key))
        assert list(thresholds.thresholds(lookups)) == plain
        assert kernel_calls == [len(lookups.key)]
        compiled = Curve(lookups, "lru")
        budgets = compiled.breakpoints()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(kernel.VARIABLE, "python")
            assert [Curve(lookups, "lru").at(b) for b in budgets] == [
                compiled.at(b) for b in budgets
            ]

    def test_sums_beyond_its_numbers_stay_in_python(self, kernel_calls: list[int]) -> None:
        """Experts of 2^62 bytes each: their sums are exact all the same."""
        routed = single_loads((0, 0), (0, 1), (0, 2), (0, 0), entry_bytes=(1 << 62,))
        assert thresholds.thresholds(routed.lookups())[3] == 3 << 62
        assert kernel_calls == []
