"""Does the self-sizing rule keep its laws, and do the laws see each seeded bug of it?"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.growth_strategies import growth_worlds
from fixtures.growth_worlds import GrowthWorld, standard_worlds
from fixtures.seeded_bugs.growth import GROWTH_BUGS, RULE, GrowthBug
from gate.growth.connect import LOOPS, connect_sizing
from gate.growth.judge import judge
from reference.growth import Growth
from reference.growth_decisions import CHOICES, Decisions
from reference.growth_laws import GROWTH_LAWS, broken_laws

DRIVER = Path(__file__).parents[1] / "fixtures" / "drivers" / "python" / "sizing_driver.py"

OTHERWISE = [
    (name, word)
    for name, words in sorted(CHOICES.items())
    for word in words
    if word != getattr(Decisions(), name)
]
"""Every open point decided otherwise than by default."""


@given(growth_worlds(), st.sampled_from(("greedy", "hull")))
def test_the_rule_keeps_every_law_on_any_machine(world: GrowthWorld, loop: str) -> None:
    """Any curve, any cost, memory that moves, noise, short turns, a k that changes: no law is broken, neither by the
    rule as proposed nor by the one that grows along the concave hull."""
    assert broken_laws(world.case(partial(Growth, decisions=LOOPS[loop]))) == []


def test_every_law_is_exercised_on_the_standard_machines() -> None:
    """None of the laws passes only because it never applied."""
    found = judge(Growth)
    assert sorted(found.checks) == sorted(law.id for law in GROWTH_LAWS)
    assert found.broken == {}
    assert found.failure is None


@pytest.mark.parametrize("bug", [b for b in GROWTH_BUGS if b.family == RULE], ids=lambda b: b.id)
def test_a_bug_of_the_rule_is_seen(bug: GrowthBug) -> None:
    """The first standard machine on which it matters shows each seeded bug of the rule."""
    assert any(broken_laws(world.case(bug.make)) for world in standard_worlds())


def test_there_are_bugs_enough_and_each_is_named_once() -> None:
    """At least twenty, every one with its own id and summary."""
    assert len(GROWTH_BUGS) >= 20
    assert len({bug.id for bug in GROWTH_BUGS}) == len(GROWTH_BUGS)
    assert len({bug.summary for bug in GROWTH_BUGS}) == len(GROWTH_BUGS)
    assert all(bug.summary and bug.requirement and bug.ancestor for bug in GROWTH_BUGS)


@pytest.mark.parametrize("name, word", OTHERWISE)
def test_every_decision_keeps_the_laws_that_ask_for_no_result(
    name: str, word: str, more_than_quick: None
) -> None:
    """However an open point is decided, only laws that weigh true costs can break."""
    make = partial(Growth, decisions=replace(Decisions(), **{name: word}))
    for world in standard_worlds()[1:5]:
        broken = {law.id for law, _ in broken_laws(world.case(make))}
        assert broken <= {"growth/rests-where-it-pays", "growth/off-where-nothing-is-conceded"}


def test_a_rule_runs_as_a_process_too(more_than_quick: None) -> None:
    """The example driver, a rule of its own behind a pipe, keeps every law on every standard machine."""
    found = judge(connect_sizing(f"cmd:{sys.executable} {DRIVER}"))
    assert found.broken == {}
    assert found.failure is None
