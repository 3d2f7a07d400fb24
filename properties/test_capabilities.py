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
from gate.connect.offers import KNOWN_PLACES, offers_of
from gate.judging.judge import lacks
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES
from reference.laws import EXPERT, ROW, SHARED_PLACEMENT, SHARED_SETS
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
    """A driver without any capability can be given just the programs of the rungs that name none."""
    bare = replace(EVERYTHING[cache], capabilities=frozenset())
    for rung in ladder(cache):
        named = {what for alternative in rung.needs for what in alternative}
        needs_none = not named & EVERYTHING[cache].capabilities
        assert (can_run(bare, rung.program) == "") == needs_none, rung.title


# What laws may need


def test_an_implementation_offers_what_it_declares() -> None:
    """Capabilities, columns, levels up to its own, and its rules."""
    declared = replace(
        EVERYTHING[EXPERT],
        level=1,
        columns=frozenset(("hits",)),
        capabilities=frozenset(("resize",)),
        rules=EXACT_BYTES,
    )
    offers = offers_of(declared)
    assert offers >= {"resize", "column hits", "level 0", "level 1", "budget=bytes"}
    assert not offers & {"prefetch", "column lookups", "level 2", "budget=cycles"}


def test_who_names_no_column_has_those_of_the_reference() -> None:
    """Every counter it keeps, and the estimates of a row cache."""
    assert {"column lookups", "column turn"} <= offers_of(EVERYTHING[EXPERT])
    assert {"column halvings", "column estimates"} <= offers_of(EVERYTHING[ROW])
    assert "column estimates" not in offers_of(EVERYTHING[EXPERT])


@pytest.mark.parametrize(
    "settings, offered, lacking",
    [
        ({}, ("sets=any", "sets>=100", "sets=0", "ways=any", "tables"), ("admission=no",)),
        ({"admission": "any"}, ("admission=no", "admission=yes"), ()),
        ({"admission": "no"}, ("admission=no",), ("admission=yes",)),
        ({"sets": "64"}, (), ("sets=any", "sets>=100", "sets=0", "tables")),
        ({"sets": "4096,0"}, ("sets>=100", "sets=0", "tables"), ("sets=any",)),
        ({"ways": "4"}, ("ways<=4",), ("ways=any",)),
        ({"ways": "8"}, (), ("ways<=4", "ways=any")),
        ({"candidate_sets": "2"}, ("candidate_sets=2",), ("candidate_sets=1",)),
        ({"halve_every": "100"}, (), ("halve_every=none",)),
    ],
)
def test_a_row_cache_offers_the_programs_it_can_be_given(
    settings: dict[str, str], offered: tuple[str, ...], lacking: tuple[str, ...]
) -> None:
    """What is built in bounds what can be exercised."""
    offers = offers_of(replace(EVERYTHING[ROW], row_settings=settings))
    assert offers >= set(offered)
    assert not offers & set(lacking)


@pytest.mark.parametrize(
    "settings, capabilities, known, judged",
    [
        ({}, (), True, True),
        ({"placement": "own"}, ("injected-placement",), True, True),
        ({"placement": "own"}, (), False, True),
        ({"placement": "own", "sets": "1"}, (), False, True),
        ({"placement": "own", "sets": "64"}, (), False, False),
    ],
)
def test_a_hash_of_its_own_is_known_where_there_is_one_set(
    settings: dict[str, str], capabilities: tuple[str, ...], known: bool, judged: bool
) -> None:
    """Laws that need places are for it as far as it can be given programs of one set."""
    declared = replace(EVERYTHING[ROW], row_settings=settings, capabilities=frozenset(capabilities))
    offers = offers_of(declared)
    assert (KNOWN_PLACES in offers, SHARED_PLACEMENT in offers) == (known, judged)
    assert (SHARED_SETS in offers) == judged
    assert ("row-lockstep/reference" in lacks(declared)) != judged


def test_with_one_set_an_own_hash_gets_a_wide_sketch() -> None:
    """So that few rows share cells; with more sets, or a sketch of its own, the width stays."""
    own = replace(
        EVERYTHING[ROW],
        capabilities=frozenset(),
        row_settings={"placement": "own", "sketch_width": "any"},
    )
    narrow = parse("row-cache v1 sets=1 sketch_width=3\ngather 1")
    assert fit(narrow, own).config.sketch_width == 262_144  # type: ignore[union-attr]
    two = parse("row-cache v1 sets=2 sketch_width=3\ngather 1")
    assert fit(two, own).config.sketch_width == 3  # type: ignore[union-attr]
    built_in = replace(own, row_settings={"placement": "own", "sketch_width": "8"})
    assert fit(narrow, built_in).config.sketch_width == 8  # type: ignore[union-attr]


def test_the_reason_names_what_is_missing() -> None:
    """A level first; then a capability, a column or a setting, of the alternative that lacks least."""
    declared = replace(
        EVERYTHING[ROW], level=1, capabilities=frozenset(), columns=frozenset(("hits", "misses"))
    )
    lacking = lacks(declared)
    assert lacking["row-pins/refusals"] == "needs level 2"
    assert lacking["row-counters/halvings"] == "needs halving, column halvings"
    assert lacking["row-counters/hits-and-misses"] == "needs column lookups"
    assert lacking["row-admission/off-admits-all"] == "needs admission=no, column refusals"
    assert "row-counters/one-lookup-a-row" not in lacking
