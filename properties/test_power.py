"""Does the gate catch every seeded bug, early, and none where there is none? The score of `cachegate power`, held."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings

from fixtures.seeded_bugs import BUGS
from fixtures.seeded_bugs.functions import FUNCTION_BUGS
from fixtures.seeded_bugs.requirements import REQUIREMENTS
from gate.cli import main
from gate.power import matrix
from gate.power.cases import DERANDOMIZED, MOST_CASES, cases, draws
from gate.power.score import Caught, as_the_gate_does, false_alarms, score
from gate.power.seeded import SeededCache
from gate.power.summary import LATE_CASE, MEDIAN_CASE, quantile, rows, troubles
from gate.power.views import GATE, VIEWS, View
from reference.expert_config import PROPOSAL_RULES
from reference.laws import EXPERT, ROW
from reference.program_text import parse

MEASURED = (
    *(f"O-E{number:02}" for number in range(1, 31)),
    *(f"O-R{number:02}" for number in range(1, 28)),
    *("O-X3", "O-X4"),
)
"""The mutants whose difficulty was measured on a throw-away reference, and two more of modelled parts."""

SEEDS = {"quick": (), "gate": range(3), "nightly": range(20)}
VIEWS_TRIED = {"quick": (), "gate": ("free",), "nightly": [view.id for view in VIEWS]}
QUICK_SHARE = 12
"""In the quick profile every so manieth bug is tried."""


@pytest.fixture
def tried(pytestconfig: pytest.Config) -> list[str]:
    """The bugs a profile tries."""
    quick = pytestconfig.getoption("--profile") == "quick"
    return sorted(BUGS)[:: QUICK_SHARE if quick else 1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a run: the derandomized one, and as many fresh seeds as the profile asks for."""
    if "seed" in metafunc.fixturenames:
        profile = metafunc.config.getoption("--profile")
        metafunc.parametrize("seed", (DERANDOMIZED, *SEEDS[profile]))


# The registry


def test_the_registry_holds_every_measured_mutant() -> None:
    """All of the measured list, and 110 bugs in all at least, over both caches."""
    assert set(MEASURED) <= BUGS.keys()
    assert len(BUGS) >= 110
    assert {bug.cache for bug in BUGS.values()} == {EXPERT, ROW}


def test_every_requirement_has_a_bug() -> None:
    """No requirement is without a bug that breaks it, and every bug breaks one."""
    broken = {bug.requirement for bug in (*BUGS.values(), *FUNCTION_BUGS)}
    assert broken == REQUIREMENTS.keys()


def test_every_bug_says_what_it_is() -> None:
    """A bug has one sentence, and a public ancestor or the words that none was found."""
    for bug in BUGS.values():
        assert bug.summary.endswith("."), bug.id
        assert bug.ancestor, bug.id


# The score


def test_every_bug_is_caught(seed: int, tried: list[str]) -> None:
    """In every run the gate catches every bug: by a broken law, in time, half of them within 15 cases."""
    found = {bug: as_the_gate_does(bug, seed) for bug in tried}
    missed = [bug for bug, caught in found.items() if caught is None]
    assert not missed, f"not caught in {MOST_CASES} cases: {missed}"
    ascending = sorted(caught.case for caught in found.values() if caught)
    assert quantile(ascending, 0.5) <= MEDIAN_CASE
    late = {bug: caught.case for bug, caught in found.items() if caught}
    assert quantile(ascending, 0.99) <= LATE_CASE, sorted(late.items(), key=lambda at: -at[1])[:5]


def test_nothing_is_said_of_what_is_right(seed: int, pytestconfig: pytest.Config) -> None:
    """In the same runs the reference, under each set of rules, and every correct variant keep all laws."""
    profile = pytestconfig.getoption("--profile")
    whole = profile == "nightly" or (profile == "gate" and seed == DERANDOMIZED)
    assert false_alarms(seed, MOST_CASES if whole else MOST_CASES // 5) == []


@pytest.mark.parametrize("view", [view for view in VIEWS if view != GATE], ids=lambda view: view.id)
def test_each_view_keeps_its_floor(view: View, pytestconfig: pytest.Config) -> None:
    """With less to see, or without the reference beside it, the gate still catches the share it promises."""
    profile = pytestconfig.getoption("--profile")
    if view.id not in VIEWS_TRIED[profile]:
        pytest.skip(f"every bug from this view: not in the profile {profile}")
    done = [score(bug, DERANDOMIZED, [view]) for bug in BUGS]
    for row in rows(done, [view]):
        assert row.holds, f"{row}: {troubles(done, view)}"


def test_the_gates_own_programs_are_tried() -> None:
    """The cases are drawn as the gate draws them, family by family; the same seed draws the same ones again."""
    assert len(draws(DERANDOMIZED)) == settings.get_profile("gate").max_examples
    assert draws(0) != draws(1)
    first = cases(EXPERT, PROPOSAL_RULES, 0)
    cases.cache_clear()
    draws.cache_clear()
    again = cases(EXPERT, PROPOSAL_RULES, 0)
    assert [case.program for case in first] == [case.program for case in again]
    assert len({case.family for case in first[:10]}) == 10


# The laws


def test_every_law_is_needed(only_nightly: None) -> None:
    """Each law is somewhere the only one that catches some bug, or it is said why it stays; not both."""
    tried = matrix.Matrix(dict(map(matrix.catchers, sorted(BUGS))))
    never = {law.id for law in matrix.LAWS if not tried.only_catcher_of(law.id)}
    assert never == matrix.KEPT.keys()


# What counts as caught


def test_a_crash_counts_only_where_the_bug_is_known_to_crash() -> None:
    """A declared crash breaks a law; any other exception is a fault of the harness and is not swallowed."""
    caught = as_the_gate_does("O-R01", DERANDOMIZED)
    assert isinstance(caught, Caught)
    assert caught.law == "answers/every-operation"
    program = parse(BUGS["O-R01"].witness)
    undeclared = SeededCache(replace(BUGS["O-R01"], crashes=()))
    with pytest.raises(ZeroDivisionError):
        undeclared.run(program)


def test_the_matrix_leaves_lockstep_out() -> None:
    """The laws that catch a bug are named without the reference beside it."""
    _, laws = matrix.catchers("O-E06")
    assert "residency/stack-distance" in laws[False]
    assert "lockstep/reference" not in laws[False]


def test_a_hash_of_its_own_hides_what_hangs_on_places() -> None:
    """A bug in the set index of many sets is caught with a shared hash, and only by chance without."""
    _, laws = matrix.catchers("C-R83")
    assert "row-placement/population-decides-the-fill" in laws[False]
    assert laws[True] == {"row-statistics/fill"}


def test_the_command_scores_one_bug(capsys: pytest.CaptureFixture[str]) -> None:
    """`cachegate power --bug` prints the views, the laws that catch it, and the verdict."""
    assert main(["power", "--bug", "O-E06", "--seeds", "0", "-n", "1"]) == 0
    printed = capsys.readouterr().out
    assert "O-E06: " in printed
    assert "verdict: targets reached" in printed


def test_an_unknown_bug_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A bug that is not in the registry is named, with exit code 2."""
    assert main(["power", "--bug", "O-E99"]) == 2
    assert "O-E99" in capsys.readouterr().err
