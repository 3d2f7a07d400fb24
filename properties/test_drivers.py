"""Do three independent caches, in Python, C++ and Rust, give the reference's answers? At every level, in every family.

They are written from the rules and share no code with the reference: a rule that one side has misread shows here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest
from hypothesis import given

from fixtures import expert_programs, row_programs
from fixtures.example_drivers import ENGINE_RULES, KINDS, LANGUAGES, NoCompiler, build
from fixtures.profiles import SEEDS
from gate.connect.capabilities import can_run
from gate.connect.connecting import connect
from gate.connect.fitting import fit
from gate.connect.implementation import (
    EXPERT_CAPABILITIES,
    ROW_CAPABILITIES,
    Implementation,
    at_level,
)
from reference.expert_config import ENGINE_RULES as ENGINE
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES, Rules
from reference.lockstep import differences
from reference.program import Program
from reference.run import run

RULES = {
    "proposal": (PROPOSAL_RULES, ""),
    "exact": (EXACT_BYTES, "budget_rule=bytes"),
    "engine": (ENGINE, ENGINE_RULES),
}
"""Rules of the expert cache, and what an example is started with to run under them."""

Command = Callable[[str, str], str | None]


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """(language, kind) -> the command of that example, built once; None where its compiler is missing."""
    folder, commands = tmp_path_factory.mktemp("drivers"), dict[tuple[str, str], str | None]()

    def of(language: str, kind: str) -> str | None:
        if (language, kind) not in commands:
            try:
                commands[language, kind] = build(language, kind, folder)
            except NoCompiler:
                commands[language, kind] = None
        return commands[language, kind]

    return of


def started(command: Command, kind: str, arguments: str = "") -> list[Implementation]:
    """The examples of one kind that can be built here, answers checked for their form."""
    commands = [command(language, kind) for language in LANGUAGES]
    options = "cmd+strict+deadline=60"
    return [connect(f"{options}:{line} {arguments}", f"{kind}-cache") for line in commands if line]


@pytest.fixture(scope="module", params=sorted(RULES))
def experts(
    request: pytest.FixtureRequest, command: Command
) -> Iterator[tuple[list[Implementation], Rules]]:
    """The expert caches of all languages, under each set of rules."""
    rules, arguments = RULES[request.param]
    drivers = started(command, "expert", arguments)
    yield drivers, rules
    for driver in drivers:
        driver.close()


@pytest.fixture(scope="module")
def rows(command: Command) -> Iterator[list[Implementation]]:
    """The row caches of all languages."""
    drivers = started(command, "row")
    yield drivers
    for driver in drivers:
        driver.close()


def agree(drivers: Sequence[Implementation], program: Program) -> None:
    """Each driver can be given the program, and answers as the reference does."""
    first = None
    for driver in drivers:
        assert can_run(driver.declaration, program) == ""
        outcome = driver.run(program)
        if outcome != first:  # what equals an outcome without differences has none
            found = [found for found in differences(program, outcome) if found]
            assert found == [], driver.declaration.name
            first = outcome


@pytest.mark.parametrize("family", sorted(expert_programs.FAMILIES))
def test_expert_caches_agree(experts: tuple[list[Implementation], Rules], family: str) -> None:
    """0 differences in refusals, hits, bytes, digests, counters, residents and victim order."""
    drivers, rules = experts

    @given(SEEDS)
    def lockstep(seed: int) -> None:
        agree(drivers, expert_programs.expert_program(Random(seed), family, rules))

    lockstep()


@pytest.mark.parametrize("family", sorted(row_programs.FAMILIES))
def test_row_caches_agree(rows: list[Implementation], family: str) -> None:
    """0 differences in hits, digests, counters, residents, victim order and estimates, at every default choice."""

    @given(SEEDS)
    def lockstep(seed: int) -> None:
        program = row_programs.row_program(Random(seed), family)
        agree(rows, fit(program, rows[0].declaration))

    lockstep()


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["cpp", "rust"])
def test_a_lower_level_is_the_same_with_less(
    command: Command, language: str, kind: str, level: int
) -> None:
    """Started with `level=N`, an example says what it says at level 3, less what lies above N."""
    line = command(language, kind)
    if line is None:
        pytest.skip(f"no compiler for the {language} examples")
    driver = connect(f"cmd+strict+deadline=60:{line} level={level}", f"{kind}-cache")
    for seed in range(10):
        random = Random(seed)
        if kind == "expert":
            program = expert_programs.expert_program(random, "disorder", PROPOSAL_RULES)
        else:
            program = fit(row_programs.row_program(random, "disorder"), driver.declaration)
        assert driver.run(program) == at_level(run(program), level)
    driver.close()


def test_the_drivers_declare_what_they_are(
    experts: tuple[list[Implementation], Rules], rows: list[Implementation]
) -> None:
    """Level 3, every capability, the rules they were started with, and what a row cache takes from a program."""
    drivers, rules = experts
    for declared in (driver.declaration for driver in drivers):
        assert (declared.level, declared.rules) == (3, rules)
        assert declared.capabilities == EXPERT_CAPABILITIES
    for declared in (driver.declaration for driver in rows):
        assert (declared.level, declared.capabilities) == (3, ROW_CAPABILITIES)
        assert set(declared.row_settings.values()) == {"any"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_example_is_tried(command: Command, language: str, kind: str) -> None:
    """Each is built and among those that were held to the reference; where it is not, this test says so."""
    if command(language, kind) is None:
        pytest.skip(f"no compiler for the {language} examples")
    drivers = started(command, kind)
    assert f"example-{language}" in [driver.declaration.name for driver in drivers]
    for driver in drivers:
        driver.close()
