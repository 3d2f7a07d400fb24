"""Is a program kept from those that lack what it needs, and from nobody else?"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import expert_programs, row_programs
from gate.bringup.ladder import ladder
from gate.connect.capabilities import can_run
from gate.connect.fitting import fit
from gate.connect.implementation import EXPERT_CAPABILITIES, ROW_CAPABILITIES, Declaration
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES
from reference.laws import EXPERT, ROW
from reference.program_text import parse

EVERYTHING = {
    EXPERT: Declaration("x", "1", EXPERT, capabilities=EXPERT_CAPABILITIES),
    ROW: Declaration("x", "1", ROW, capabilities=ROW_CAPABILITIES),
}
EXPERT_LINE = "expert-cache v1 entry_bytes=1 experts=2"
ROW_LINE = "row-cache v1 sets=2"

NEEDS = {
    f"{EXPERT_LINE}\nbudget 5": "resize",
    f"{EXPERT_LINE}\nk 5": "change-k",
    f"{EXPERT_LINE}\nprefetch 0: 1": "prefetch",
    f"{EXPERT_LINE}\narrive 0: 1": "prefetch",
    f"{EXPERT_LINE}\nrepeat 3 lose 0: 1": "prefetch",
    f"{EXPERT_LINE}\nretain 0: 1": "retain",
    f"{EXPERT_LINE}\ndecode 0: 1!": "failed-read",
    f"{EXPERT_LINE}\nrepeat 2 decode 0: 1@0.5": "dropping",
    f"{EXPERT_LINE} drop_fraction=0.5": "dropping",
    f"{EXPERT_LINE} policy=layer": "policy-layer",
    "row-cache v1 sets=2,2": "tables",
    f"{ROW_LINE} candidate_sets=2": "two-sets",
    f"{ROW_LINE} halve_every=4": "halving",
    f"{ROW_LINE}\nplace 3 sets 1": "injected-placement",
    f"{ROW_LINE}\nplace 3 columns 1 1 1 1": "injected-placement",
    f"{ROW_LINE}\ninsert 3": "read-ahead",
    f"{ROW_LINE}\npin 3": "pins",
    f"{ROW_LINE}\nunpin 3": "pins",
}
"""A program -> the capability it needs."""


@pytest.mark.parametrize("text", NEEDS)
def test_a_program_needs_its_capability_and_no_other(text: str) -> None:
    """Who lacks it is not given the program, and is told why; who lacks everything else is."""
    program, needed = parse(text), NEEDS[text]
    declared = EVERYTHING[EXPERT if text.startswith("expert") else ROW]
    assert can_run(replace(declared, capabilities=frozenset((needed,))), program) == ""
    lacking = replace(declared, capabilities=declared.capabilities - {needed})
    assert can_run(lacking, program) == f"needs {needed}"


def test_a_plain_program_needs_nothing() -> None:
    """Loads, generations and asks, gathers and asks: every cache has them."""
    for text in (
        f"{EXPERT_LINE}\nbegin\ndecode 0: 1\nask 0: 1\nend\ncancel",
        f"{ROW_LINE}\ngather 1\nask-rows 1",
    ):
        declared = EVERYTHING[EXPERT if text.startswith("expert") else ROW]
        assert can_run(replace(declared, capabilities=frozenset()), parse(text)) == ""


def test_a_policy_that_is_only_replayed_is_for_nobody() -> None:
    """No capability brings a program with one of them."""
    assert can_run(EVERYTHING[EXPERT], parse(f"{EXPERT_LINE} policy=lfu")) == "needs policy-lfu"


def test_a_program_is_for_one_kind_of_cache() -> None:
    """A row cache is given no expert program, and the other way round."""
    assert "for the other cache" in can_run(EVERYTHING[ROW], parse(EXPERT_LINE))
    assert "for the other cache" in can_run(EVERYTHING[EXPERT], parse(ROW_LINE))


def test_other_rules_are_another_cache() -> None:
    """A program under exact bytes is not for a cache of whole cycles, nor the other way round."""
    whole, exact = parse(EXPERT_LINE), parse(f"{EXPERT_LINE} budget_rule=bytes")
    declared = EVERYTHING[EXPERT]
    assert can_run(declared, exact) == "needs budget_rule=bytes, its rule is budget_rule=cycles"
    assert can_run(replace(declared, rules=EXACT_BYTES), exact) == ""
    assert can_run(replace(declared, rules=EXACT_BYTES), whole) != ""


@pytest.mark.parametrize(
    "setting, value, refused, taken",
    [
        ("free_way", "highest", "free_way=highest", "any"),
        ("hash_seed", "7", "hash_seed=7", "7"),
        ("admission", "no", "admission=no", "any"),
        ("sketch_width", "8", "sketch_width=8", "8"),
    ],
)
def test_a_row_cache_is_given_the_choices_it_has(
    setting: str, value: str, refused: str, taken: str
) -> None:
    """A choice other than the default goes to those that declare it, or that take any."""
    program, declared = parse(f"{ROW_LINE} {setting}={value}"), EVERYTHING[ROW]
    assert can_run(declared, program).startswith(f"needs {refused}, it has {setting}=")
    assert can_run(replace(declared, row_settings={setting: taken}), program) == ""


def test_a_fixed_geometry_is_held_to() -> None:
    """Sets and ways come from the program unless the cache declares its own."""
    program = parse(f"{ROW_LINE} ways=2")
    assert can_run(EVERYTHING[ROW], program) == ""
    fixed = replace(EVERYTHING[ROW], row_settings={"ways": "4"})
    assert can_run(fixed, program) == "needs ways=2, it has ways=4"


FIXED = {
    "sets": st.sampled_from(["1", "3", "any"]),
    "ways": st.sampled_from(["4", "any"]),
    "candidate_sets": st.sampled_from(["1", "any"]),
    "sketch_rows": st.sampled_from(["2", "any"]),
    "sketch_width": st.sampled_from(["8", "any"]),
    "halve_every": st.sampled_from(["none", "any"]),
    "free_way": st.sampled_from(["highest", "any"]),
    "admission": st.sampled_from(["no", "any"]),
    "placement": st.sampled_from(["own", "shared"]),
}
"""What a row cache may declare to have built in, or to take from a program."""


@given(st.integers(0, (1 << 32) - 1), st.data())
def test_what_is_fitted_can_be_run(seed: int, data: st.DataObject) -> None:
    """Whatever an implementation lacks, a program fitted to it is one it can be given."""
    random = Random(seed)
    family = data.draw(st.sampled_from(sorted(expert_programs.FAMILIES)))
    expert = expert_programs.expert_program(random, family, PROPOSAL_RULES)
    row = row_programs.row_program(
        random, data.draw(st.sampled_from(sorted(row_programs.FAMILIES)))
    )
    for program, cache, known in (
        (expert, EXPERT, EXPERT_CAPABILITIES),
        (row, ROW, ROW_CAPABILITIES),
    ):
        has = data.draw(st.frozensets(st.sampled_from(sorted(known))))
        fixed = data.draw(st.fixed_dictionaries({}, optional=FIXED))
        settings = fixed if cache == ROW else {}
        declared = replace(
            EVERYTHING[cache], capabilities=has, rules=EXACT_BYTES, row_settings=settings
        )
        assert can_run(declared, fit(program, declared)) == ""


@pytest.mark.parametrize("cache", [EXPERT, ROW])
def test_every_rung_that_needs_nothing_is_for_all(cache: str) -> None:
    """A driver without any capability climbs all rungs that name none."""
    bare = replace(EVERYTHING[cache], capabilities=frozenset())
    for rung in ladder(cache):
        assert (can_run(bare, rung.program) == "") == (rung.capability == ""), rung.title
