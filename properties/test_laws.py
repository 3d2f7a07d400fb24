"""Every law on every implementation under test: committed counterexamples first, then programs of every family.

The implementations are those of --expert-cache and --row-cache, else the reference under each set of rules.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from fixtures import expert_programs, row_programs
from fixtures.expert_tokens import token_program
from fixtures.long_programs import BITS, long_expert_program, long_row_program
from fixtures.profiles import FIND, SEEDS
from gate.connect.connecting import connect
from gate.connect.implementation import BUILT_IN_RULES
from gate.judging.deviations import Deviation, read_deviations
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS, Fault, Judge
from gate.judging.recorder import Record
from gate.judging.subject import Subject
from gate.judging.verdict import failure_text, write_counterexample
from gate.replay import read_program
from reference import row_statistics
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT, ROW
from reference.program import Program

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "regressions" / "counterexamples"
OWN_DEVIATIONS = ROOT / "regressions" / "deviations.toml"
LAW_IDS = [law.id for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS)]


def _under_test(config: pytest.Config) -> list[tuple[str, str]]:
    """(kind of cache, connect string) of everything under test."""
    experts = config.getoption("--expert-cache") or []
    rows = config.getoption("--row-cache") or []
    if not experts and not rows:
        experts, rows = list(BUILT_IN_RULES), ["builtin"]
    return [(EXPERT, text) for text in experts] + [(ROW, text) for text in rows]


def _deviations(config: pytest.Config) -> list[Deviation]:
    """The known deviations: the user's, and the suite's own when it tests itself."""
    files = [Path(name) for name in config.getoption("--deviations") or []]
    if not config.getoption("--expert-cache") and not config.getoption("--row-cache"):
        files.append(OWN_DEVIATIONS)
    return [entry for file in files for entry in read_deviations(file, LAW_IDS)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One case for each implementation under test."""
    for name, kinds in (("expert", (EXPERT,)), ("row", (ROW,)), ("subject", (EXPERT, ROW))):
        if name in metafunc.fixturenames:
            named = [pair for pair in _under_test(metafunc.config) if pair[0] in kinds]
            ids = [f"{cache}={text}" for cache, text in named]
            metafunc.parametrize(name, named, indirect=True, scope="session", ids=ids)


def _open(request: pytest.FixtureRequest) -> Iterator[Subject]:
    cache, text = request.param
    implementation = connect(text, cache)
    declared = implementation.declaration
    mine = [entry for entry in _deviations(request.config) if entry.matches(declared)]
    yield Subject(text, implementation, mine)
    implementation.close()


expert = pytest.fixture(_open, scope="session", name="expert")
row = pytest.fixture(_open, scope="session", name="row")
subject = pytest.fixture(_open, scope="session", name="subject")


@pytest.fixture
def tell(record: Record, counterexamples: Path) -> Callable[[Subject, Fault], None]:
    """Fails the test with the text of a fault, and writes its program to a file."""

    def fail(subject: Subject, fault: Fault) -> None:
        declared = subject.implementation.declaration
        file = write_counterexample(fault, declared, counterexamples)
        text = failure_text(fault, declared, subject.connect, file)
        record.add_fault(subject, fault, text)
        pytest.fail(text, pytrace=False)

    return fail


Tell = Callable[[Subject, Fault], None]
Shape = tuple[int, int, int]
"""Sets, ways and candidate sets of a census."""


def census_for(subject: Subject, shape: Shape) -> Program | None:
    """A census as it can be given to a row cache, with the ways that it has; None when it cannot."""
    sets, ways, candidate_sets = shape
    built_in = subject.declared.row_settings.get("ways", "")
    ways = int(built_in) if built_in.isdecimal() else ways
    census = row_programs.census(Random(candidate_sets), sets, ways, candidate_sets)
    return subject.fitted(census, injected=False)


def test_counterexamples(
    subject: Subject, counterexamples: Path, record: Record, tell: Tell
) -> None:
    """Every program that failed once, committed or found by an earlier run, keeps every law."""
    judge = subject.judge()
    is_expert = subject.declared.cache == EXPERT
    for file in sorted({*COMMITTED.glob("*.prog"), *counterexamples.glob("*.prog")}):
        program = read_program(str(file))
        if isinstance(program.config, ExpertConfig) == is_expert:
            fitted = subject.fitted(program)
            fault = judge.judge(fitted) if fitted is not None else None
            if fault is not None:
                tell(subject, fault)
    record.add(subject, judge)


def test_deviations_hold(pytestconfig: pytest.Config) -> None:
    """No known deviation has expired, and each matches an implementation under test."""
    connected = [connect(text, cache) for cache, text in _under_test(pytestconfig)]
    try:
        for entry in _deviations(pytestconfig):
            if entry.expires < datetime.date.today():
                pytest.fail(f"deviation {entry.id} has expired", pytrace=False)
            if not any(entry.matches(subject.declaration) for subject in connected):
                pytest.fail(f"deviation {entry.id} matches nothing under test", pytrace=False)
    finally:
        for subject in connected:
            subject.close()


def test_deviations_still_deviate(subject: Subject) -> None:
    """The witness of each known deviation still fails."""
    for entry in subject.deviations:
        if not subject.still_deviates(entry):
            told = (
                f"the witness of deviation {entry.id} passes on {subject.connect}: remove the entry"
            )
            pytest.fail(told, pytrace=False)


@pytest.mark.parametrize("family", sorted(expert_programs.FAMILIES))
def test_expert_cache(expert: Subject, family: str, record: Record, tell: Tell) -> None:
    """Every law of the expert cache holds on programs of this family."""
    rules = expert.implementation.declaration.rules
    _hold(expert, lambda r: expert_programs.expert_program(r, family, rules), record, tell)


def test_expert_cache_token_by_token(expert: Subject, record: Record, tell: Tell) -> None:
    """Every law of the expert cache holds on programs that pass the model token by token, those of the cliff too."""
    rules = expert.implementation.declaration.rules
    _hold(expert, lambda random: token_program(random, rules), record, tell)


@pytest.mark.parametrize("family", sorted(row_programs.FAMILIES))
def test_row_cache(row: Subject, family: str, record: Record, tell: Tell) -> None:
    """Every law of the row cache holds on programs of this family."""
    _hold(row, lambda random: row_programs.row_program(random, family), record, tell)


@pytest.mark.parametrize("shape", row_programs.CENSUSES)
def test_row_cache_by_chance(row: Subject, shape: Shape, record: Record, tell: Tell) -> None:
    """A census of distinct random rows fills the cache as chance has it, whatever its hash."""
    by_chance = [law for law in row.judge().laws if law in row_statistics.LAWS.laws]
    judge = Judge(row.implementation, by_chance)
    program = census_for(row, shape)
    fault = judge.judge(program) if program is not None else None
    record.add(row, judge)
    if fault is not None:
        tell(row, fault)


@pytest.mark.parametrize("bits", BITS)
def test_expert_cache_at_length(
    expert: Subject, bits: int, record: Record, tell: Tell, more_than_quick: None
) -> None:
    """Every law of the expert cache holds when a clock of 15 or 16 bits would wrap."""
    rules = expert.implementation.declaration.rules
    _hold_once(expert, long_expert_program(Random(bits), rules, bits), record, tell)


@pytest.mark.parametrize("bits", BITS)
def test_row_cache_at_length(
    row: Subject, bits: int, record: Record, tell: Tell, more_than_quick: None
) -> None:
    """Every law of the row cache holds when a clock of 15 or 16 bits would wrap."""
    _hold_once(row, long_row_program(Random(bits), bits), record, tell)


def _hold_once(subject: Subject, program: Program, record: Record, tell: Tell) -> None:
    judge, fitted = subject.judge(), subject.fitted(program)
    fault = judge.judge(fitted) if fitted is not None else None
    record.add(subject, judge)
    if fault is not None:
        tell(subject, subject.smallest(judge, fault))


def _hold(subject: Subject, make: Callable[[Random], Program], record: Record, tell: Tell) -> None:
    """Judge the programs of as many seeds as the profile asks for; fails with the smallest found."""
    judge = subject.judge()

    @settings(phases=FIND)  # a smaller seed is no smaller program
    @given(SEEDS)
    def holds(seed: int) -> None:
        program = subject.fitted(make(Random(seed)))
        fault = judge.judge(program) if program is not None else None
        if fault is not None:
            tell(subject, subject.smallest(judge, fault))

    try:
        holds()
    finally:
        record.add(subject, judge)
