"""Does the closed loop run what the reference cache would, and sample what it would hit?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from fixtures.devices import load_device
from fixtures.growth_strategies import small_sessions
from fixtures.routing import NamedRouting, RoutingModel, synthetic_trace
from fixtures.seeded_bugs.growth import GROWTH_BUGS, LOOP, GrowthBug
from gate.growth.comparison import Arena
from gate.growth.connect import LOOPS, built_in
from gate.growth.loop_laws import judge_loop
from gate.growth.program import program_of
from reference.program import Load, SetBudget
from reference.run import run
from reference.sizing import ModelShape, token_demand_bytes
from replay.sampled_curve import SAMPLES
from replay.trace_session import FixedBudgets, TraceSession, TraceTurns

Session = tuple[TraceTurns, tuple[int, ...]]

SMALL = NamedRouting(
    id="small",
    trace="",
    shape=ModelShape((3, 0, 2), (6, 0, 6), 2),
    arch="",
    numbers=RoutingModel(2.4, 0.5, 3.0, 1.0, 70.0, 0.0, 0.3, 0.8),
    prompt_tokens=2,
    decode_tokens=4,
)


def small_turns(turn_tokens: int = 2) -> TraceTurns:
    """Three generations of a small model, cut in two each; one cycle is 10 bytes, all experts are 30."""
    return TraceTurns(synthetic_trace(SMALL, turns=3, seed=5), turn_tokens)


@given(small_sessions())
def test_the_loop_runs_and_samples_what_the_reference_does(session: Session) -> None:
    """Hits, bytes read and held of each turn, and both samples, equal those of the reference cache."""
    turns, budgets = session
    assert judge_loop(TraceSession, turns, budgets) == []


@given(small_sessions())
def test_one_pass_gives_every_fixed_budget(session: Session) -> None:
    """A budget that never changes is played the same by the loop's cache and out of one pass."""
    turns, budgets = session
    workload, budget = TraceSession(turns, "prefill"), budgets[0]
    played = [workload.play(number, budget) for number in range(workload.turn_count)]
    assert FixedBudgets(turns).at(budget) == played


@given(small_sessions())
def test_delivered_bytes_do_not_depend_on_the_budgets(session: Session) -> None:
    """Whatever budgets are set between the turns, each load delivers what it does with the cache off."""
    turns, budgets = session
    program = program_of(turns, budgets)
    off = replace(program, config=replace(program.config, budget_bytes=0))
    off = replace(off, operations=tuple(o for o in off.operations if not isinstance(o, SetBudget)))
    delivered = [
        [
            answer.digest
            for operation, answer in zip(each.operations, run(each).answers, strict=True)
            if isinstance(operation, Load)
        ]
        for each in (program, off)
    ]
    assert delivered[0] == delivered[1]


@given(small_sessions())
def test_every_decode_token_is_in_one_turn(session: Session) -> None:
    """The turns cut the trace without gap or overlap, and count its decode tokens."""
    turns, _ = session
    spans = turns.spans
    assert [span.first for span in spans] == [0, *(span.last for span in spans[:-1])]
    assert spans[-1].last == len(turns.trace.batches)
    layers = len(turns.trace.moe_layers)
    assert [span.tokens * layers for span in spans] == [span.last - span.decode for span in spans]
    assert all(
        span.first_token == sum(s.tokens for s in spans[:at]) for at, span in enumerate(spans)
    )


@pytest.mark.parametrize("bug", [b for b in GROWTH_BUGS if b.family == LOOP], ids=lambda b: b.id)
def test_a_bug_of_the_loop_is_seen(bug: GrowthBug) -> None:
    """A small trace, under budgets that grow, shrink and go off, shows each seeded bug of the loop."""
    turns = small_turns()
    cycle = token_demand_bytes(turns.shape)
    budgets = [3 * cycle, cycle, 2 * cycle, 1, 2 * cycle, 3 * cycle]
    assert judge_loop(TraceSession, turns, budgets) == []
    assert judge_loop(bug.make, turns, budgets) != []


@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_the_loop_keeps_to_its_rule(loop: str) -> None:
    """On a real device and cache every budget of a loop is whole cycles, and the same seed gives the same session."""
    arena = Arena(small_turns(), load_device("phone"), seed=3)
    for sample in SAMPLES:
        session = arena.loop(built_in(LOOPS[loop]), sample)
        assert session == arena.loop(built_in(LOOPS[loop]), sample)
        assert {turn.done.budget_bytes for turn in session.turns} <= set(arena.turns.legal)
