"""Does the self-sizing rule decide as it is written, on examples small enough to follow?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.growth_worlds import CYCLE_MIB, FALLING, GrowthWorld
from gate.growth.connect import LOOPS
from reference.errors import MIB
from reference.growth import Growth
from reference.growth_decisions import CHOICES, Decisions
from reference.growth_events import Begun, Ended, KSet, Sample, Sampled, Turn
from reference.growth_gain import gain_share
from reference.growth_history import History
from reference.sizing import ModelShape

SHAPE = ModelShape((10, 10), (4, 4), 1)
SAMPLE = Sample(100, (0, 40, 60, 70, 75))
"""Four cycles of 20 bytes; they gain 40, 20, 10 and 5 points."""

QWEN = (377, 99, 158, 84, 79, 66)
"""What the first six cycles of the Qwen trace gain: the second less than the third."""


def turn(compute_ms: float = 100.0, **changes: object) -> Turn:
    """A hundred tokens of 1 ms that read 1000 bytes in 100 ms, so that a hit point of 20 bytes is worth 0.02 ms."""
    plain = Turn(100, 1000, 400.0, 100.0, compute_ms, 0.0, 0, 1 << 20)
    return replace(plain, **changes)


def told(rule: Growth, *turns: Turn) -> list[int]:
    """The budgets in cycles after each of these turns."""
    cycles = []
    for each in turns:
        rule.tell(Begun())
        rule.tell(Sampled(SAMPLE))
        rule.tell(Ended(each))
        cycles.append(rule.cycles)
    return cycles


def cycles(history: History) -> list[int]:
    """The budgets of a session in cycles."""
    return [budget // (CYCLE_MIB * MIB) for budget in history.budgets]


def test_it_opens_with_one_cycle_and_grows_one_a_turn_while_that_costs_nothing() -> None:
    """Four cycles hold all experts: there it rests."""
    rule = Growth(SHAPE)
    assert rule.opened().budget_bytes == 20
    assert told(rule, *[turn()] * 5) == [2, 3, 4, 4, 4]


def test_a_cycle_that_costs_more_than_it_gains_is_given_back() -> None:
    """The third cycle gains 0.1 of 2 ms and costs 1 ms; the rest of the session stays at two."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn(), turn(200), turn(), turn()) == [2, 3, 2, 2, 2]


def test_a_cycle_that_costs_less_than_it_gains_stays() -> None:
    """The second cycle gains 0.4 ms and costs 0.3; the third would gain 0.2, less than that: it is not tried."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn(130), turn(130)) == [2, 2, 2]


def test_a_change_within_the_noise_is_none() -> None:
    """A token of 1 ms scatters by 0.4 / sqrt(100) = 4 %: what 3 % more seem to cost is not counted."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn(103), turn(100), turn(103)) == [2, 3, 4, 4]


def test_a_refused_cycle_is_tried_again_after_eight_turns_then_after_sixteen() -> None:
    """Memory that comes back is found; on a machine that stays as it is the tries get rare."""
    world = GrowthWorld(FALLING, ((0, 1),), 80.0, (256,) * 40)
    budgets = cycles(world.run(Growth))
    assert [at for at, each in enumerate(budgets) if each == 2] == [1, 10, 27]


def test_where_the_second_cycle_is_refused_the_first_is_tried_without() -> None:
    """Nothing was ever measured without a cache: if the second cycle cost more than the first gains, it is."""
    world = GrowthWorld(FALLING, ((0, 0),), 80.0, (256,) * 6)
    assert cycles(world.run(Growth)) == [1, 2, 1, 0, 0, 0]


def test_a_cache_that_is_not_full_does_not_grow() -> None:
    """One more entry of 10 bytes would still fit into the budget of 20."""
    rule = Growth(SHAPE)
    assert told(rule, turn(resident_bytes=10), turn(resident_bytes=11)) == [1, 2]


def test_a_step_is_judged_when_the_cache_is_full_or_after_four_turns() -> None:
    """The cost shows only in the second turn at two cycles; by the fourth a cache that never fills is judged anyway."""
    filling = turn(500, resident_bytes=20)
    assert told(Growth(SHAPE), turn(), filling, turn(500)) == [2, 2, 1]
    assert told(Growth(SHAPE), turn(), *[filling] * 4) == [2, 2, 2, 2, 1]


def test_a_short_turn_changes_nothing() -> None:
    """Three tokens measure nothing, however much they cost."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn(900, tokens=3), turn()) == [2, 2, 3]


def test_a_turn_that_reads_nothing_adds_nothing() -> None:
    """All it needed was resident."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn(read_bytes=0, waited_ms=0.0), turn()) == [2, 2, 3]


def test_when_k_changes_the_bytes_held_are_floored_to_the_new_cycles() -> None:
    """Three cycles of 20 bytes are one of 40; one of 20 is less than one of 40, and becomes one."""
    rule = Growth(SHAPE)
    assert told(rule, turn(), turn()) == [2, 3]
    assert rule.tell(KSet(2)).budget_bytes == 40
    assert rule.tell(KSet(1)).budget_bytes == 40
    small = Growth(SHAPE)
    assert small.tell(KSet(2)).budget_bytes == 40


def test_a_model_without_experts_has_no_budget() -> None:
    """Every layer is dense: 0 is the only legal budget."""
    rule = Growth(ModelShape((0, 0), (0, 0), 2))
    assert told(rule, turn()) == [0]


def test_a_platform_that_cannot_count_faults_decides_by_compute() -> None:
    """Told None for faults, the default decides as ever; asked for the cost of faults alone, it stays where it is."""
    blind = [turn(faults=None), turn(faults=None), turn(200, faults=None)]
    assert told(Growth(SHAPE), *blind) == [2, 3, 2]
    assert told(Growth(SHAPE, decisions=Decisions(cost="faults")), *blind) == [1, 1, 1]


def test_io_time_summed_over_lanes_overstates_the_gain() -> None:
    """Four lanes: the second cycle costs 1 ms and gains 0.4, or 1.6 by the time of all lanes together."""
    costly = (turn(), turn(200))
    assert told(Growth(SHAPE), *costly) == [2, 1]
    assert told(Growth(SHAPE, decisions=Decisions(io_time="lane-summed")), *costly) == [2, 2]


def test_faults_on_top_of_compute_are_counted_twice() -> None:
    """Compute rose by 0.3 ms for 0.3 ms of faults: less than the 0.4 the cycle gains, until they are added again."""
    faulting = (turn(), turn(130, faults=680))
    assert told(Growth(SHAPE), *faulting) == [2, 2]
    assert told(Growth(SHAPE, decisions=Decisions(cost="compute+faults")), *faulting) == [2, 1]


@pytest.mark.parametrize("loop, rests", [("greedy", 1), ("hull", 3)])
def test_the_hull_passes_a_poor_cycle_before_a_good_one(loop: str, rests: int) -> None:
    """Gains of the Qwen trace, each cycle costs 11 points: 9.9 and then 15.8 are worth it together."""
    world = GrowthWorld(QWEN, ((0, 0),), 11.0, (4096,) * 30, spread=0.0)
    history = world.run(partial(Growth, decisions=LOOPS[loop]))
    assert history.resting_bytes() == rests * CYCLE_MIB * MIB


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9))
def test_the_hull_is_the_least_concave_curve_above(gains: list[int]) -> None:
    """Its slopes only fall, it lies nowhere below the curve, touches it at both ends, and bends only where it does."""
    sample = Sample(1, (0, *accumulate(gains)))
    slopes = [gain_share(sample, cycle, hull=True) for cycle in range(1, len(gains) + 1)]
    hull = list(accumulate(slopes, initial=0.0))
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(slopes))
    assert all(over >= hits - 1e-9 for over, hits in zip(hull, sample.hits, strict=True))
    assert hull[-1] == pytest.approx(sample.hits[-1])
    bends = [at for at, (one, other) in enumerate(pairwise(slopes), 1) if other < one - 1e-9]
    assert all(hull[at] == pytest.approx(sample.hits[at]) for at in bends)


@pytest.mark.parametrize("name", sorted(CHOICES))
def test_a_decision_that_does_not_exist_is_refused(name: str) -> None:
    """The message names the choices there are."""
    with pytest.raises(ValueError, match=CHOICES[name][0]):
        Decisions(**{name: "perhaps"})
