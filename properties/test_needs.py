"""Does every law say what it cannot be exercised without? Each column, capability, rule and setting is taken away.

So no implementation sees a law as never exercised that it could not have exercised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import expert_programs, row_programs
from fixtures.expert_tokens import token_program
from gate.connect.implementation import (
    EXPERT_CAPABILITIES,
    ROW_CAPABILITIES,
    BuiltIn,
    Declaration,
)
from gate.connect.offers import offers_of
from gate.judging.judge import ALL_LAWS, lacks, laws_of
from gate.judging.own_hash import namings_needed
from gate.judging.subject import Subject
from properties.dimmed import Dimmed
from properties.test_laws import census_for
from reference.expert_config import ENGINE_RULES, EXACT_BYTES, PROPOSAL_RULES
from reference.laws import EXPERT, ROW, Case, Law
from reference.program import Outcome, Program
from reference.program_text import format_program, parse
from reference.run import run

pytestmark = pytest.mark.usefixtures("more_than_quick")

SEEDS = range(40)
FIRST = 20
"""Programs on which it is looked for what a law checks all the same."""
LEVELS = (0, 1, 2, 3)
SETTINGS: dict[str, tuple[str, ...]] = {
    "admission": ("yes", "no"),
    "candidate_sets": ("1", "2"),
    "halve_every": ("none", "8"),
    "insert_age": ("lookup", "insert"),
    "readahead": ("admission", "pin"),
    "sets": ("2", "1", "2,0", "300"),
    "ways": ("2",),
    "placement": ("own",),
}
"""What a row cache may have built in."""


def whole(cache_kind: str) -> Declaration:
    """The reference, which offers everything and says so."""
    declared = BuiltIn(cache_kind).declaration
    kinds = EXPERT_CAPABILITIES if cache_kind == EXPERT else ROW_CAPABILITIES
    return replace(declared, capabilities=kinds, columns=frozenset(named_columns(cache_kind)))


def named_columns(cache_kind: str) -> list[str]:
    """The columns of a cache that may be left out."""
    offers = offers_of(BuiltIn(cache_kind).declaration)
    return sorted(what.removeprefix("column ") for what in offers if what.startswith("column "))


@cache
def programs(cache_kind: str) -> list[Program]:
    """Programs of every family in turn, and those that the laws of the cliff speak of."""
    if cache_kind == EXPERT:
        return [
            program
            for seed in SEEDS
            for program in (
                token_program(Random(seed), PROPOSAL_RULES),
                *(
                    expert_programs.expert_program(Random(seed), family, PROPOSAL_RULES)
                    for family in expert_programs.FAMILIES
                ),
            )
        ]
    return [
        row_programs.row_program(Random(seed), family)
        for seed in SEEDS
        for family in row_programs.FAMILIES
    ]


@cache
def outcomes(cache_kind: str) -> list[Outcome]:
    """What the reference says to each of them."""
    return list(map(run, programs(cache_kind)))


@lru_cache(maxsize=10_000)
def remembered(text: str) -> Outcome:
    """The reference's outcome: the same programs are run for every declaration."""
    return run(parse(text))


class Remembered(BuiltIn):
    """The reference, which runs no program twice."""

    def run(self, program: Program) -> Outcome:
        """Its outcome."""
        return remembered(format_program(program))


class Lacking(Dimmed):
    """The reference, seen as a declaration says."""

    def __init__(self, declared: Declaration) -> None:
        super().__init__(Remembered(declared.cache), declared)

    def cases(self) -> Iterator[Case]:
        """Every program it can be given, with what came out."""
        kind, subject = self.declaration.cache, Subject("", self)
        for program, outcome in zip(programs(kind), outcomes(kind), strict=True):
            fitted = subject.fitted(program)
            if fitted is not None:
                known = outcome if fitted == program else remembered(format_program(fitted))
                yield Case.of(fitted, self.dimmed(known), self.run)
        for shape in row_programs.CENSUSES if kind == ROW else ():
            fitted = census_for(subject, shape)
            if fitted is not None:
                yield Case.of(fitted, self.run(fitted), self.run)


def never_exercised(declared: Declaration) -> set[str]:
    """The laws it can be held to, by what it declares, that no program exercises."""
    waiting = {law.id: law for law in laws_of(declared)}
    for case in Lacking(declared).cases():
        for law in list(waiting.values()):
            if is_exercised(declared, law, case):
                del waiting[law.id]
        if not waiting:
            break
    return set(waiting)


def is_exercised(declared: Declaration, law: Law, case: Case) -> bool:
    """Does the law check anything there?"""
    if not declared.places_are_known and namings_needed(law, case) is None:
        return False
    return any(True for _ in law.judge(case))


def found_all_the_same(declared: Declaration) -> set[str]:
    """The laws that it is not held to, though its level would do, and that check something all the same."""
    left_out = [law for law in ALL_LAWS if law.id in lacks(declared)]
    seen = [law for law in left_out if law.level <= declared.level]
    cases = islice(Lacking(declared).cases(), FIRST)
    return {law.id for case in cases for law in seen if any(True for _ in law.judge(case))}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [EXPERT, ROW])
def test_at_each_level_all_that_is_judged_is_exercised(kind: str, level: int) -> None:
    """With everything on offer, too, at each level."""
    assert never_exercised(replace(whole(kind), level=level)) == set()


COLUMNS = [(kind, column) for kind in (EXPERT, ROW) for column in named_columns(kind)]


@pytest.mark.parametrize("kind, column", COLUMNS)
def test_a_column_that_is_missing_leaves_no_gap(kind: str, column: str) -> None:
    """What needs it says so, and checks nothing; all the rest is exercised."""
    declared = whole(kind)
    without = replace(declared, columns=frozenset(named_columns(kind)) - {column})
    assert never_exercised(without) == set()
    assert found_all_the_same(without) == set()
    assert {f"column {column}" in why for why in lacks(without).values()} <= {True}


@pytest.mark.parametrize("kind, column", COLUMNS)
def test_a_column_alone_leaves_no_gap(kind: str, column: str) -> None:
    """At level 0, with one counter and nothing else, all that is still judged is exercised."""
    alone = replace(whole(kind), level=0, columns=frozenset((column,)))
    assert never_exercised(alone) == set()


@pytest.mark.parametrize("capability", sorted(EXPERT_CAPABILITIES | ROW_CAPABILITIES))
def test_a_capability_that_is_missing_leaves_no_gap(capability: str) -> None:
    """All that is still judged is exercised."""
    kind = EXPERT if capability in EXPERT_CAPABILITIES else ROW
    declared = whole(kind)
    without = replace(declared, capabilities=declared.capabilities - {capability})
    assert never_exercised(without) == set()


def test_bare_caches_have_no_gap() -> None:
    """Without any capability, at every level."""
    for kind in (EXPERT, ROW):
        for level in LEVELS:
            bare = replace(whole(kind), capabilities=frozenset(), level=level)
            assert never_exercised(bare) == set()


@pytest.mark.parametrize("rules", [EXACT_BYTES, ENGINE_RULES])
def test_other_rules_leave_no_gap(rules: object) -> None:
    """Under exact bytes, and under the engine's rules."""
    assert never_exercised(replace(whole(EXPERT), rules=rules)) == set()


@pytest.mark.parametrize(
    "name, value", [(name, value) for name, values in SETTINGS.items() for value in values]
)
def test_a_setting_that_is_built_in_leaves_no_gap(
    name: str, value: str, only_nightly: None
) -> None:
    """A row cache with one choice built in: all that is still judged is exercised."""
    declared = whole(ROW)
    fixed = replace(declared, row_settings=declared.row_settings | {name: value})
    assert never_exercised(fixed) == set()
    hidden = replace(fixed, capabilities=fixed.capabilities - {"injected-placement"})
    assert never_exercised(hidden) == set()


@given(st.data())
def test_any_choice_of_columns_and_capabilities_leaves_no_gap(data: st.DataObject) -> None:
    """Whatever is left out together."""
    kind = data.draw(st.sampled_from([EXPERT, ROW]))
    declared = whole(kind)
    columns = data.draw(st.frozensets(st.sampled_from(named_columns(kind)), min_size=1))
    capabilities = data.draw(st.frozensets(st.sampled_from(sorted(declared.capabilities))))
    level = data.draw(st.sampled_from(LEVELS))
    fewer = replace(declared, columns=columns, capabilities=capabilities, level=level)
    assert never_exercised(fewer) == set()
