"""Is a Python class judged as a process is? Its answers, its exceptions, its endless loops, its false promises."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from random import Random

import pytest

from fixtures.expert_programs import expert_program
from fixtures.row_programs import row_program
from gate.connect.connecting import connect
from gate.connect.implementation import CRASH, GARBAGE, HANG, Failure, Implementation
from reference.errors import InputError
from reference.expert_config import PROPOSAL_RULES, ExpertConfig
from reference.laws import EXPERT, ROW
from reference.lockstep import differences
from reference.program import Begin, Operation, Program, Repeat, SetBudget
from reference.sizing import ModelShape

MODULE = "properties.objects_under_test"


def connected(name: str, options: str = "", cache: str = EXPERT) -> Implementation:
    """One of the classes."""
    return connect(f"python{options}:{MODULE}:{name}", cache)


def program(*operations: Operation) -> Program:
    """A small program."""
    return Program(ExpertConfig(ModelShape((1,), (2,), 1)), (Begin(), *operations))


@pytest.mark.parametrize("seed", range(20))
def test_an_object_is_run_as_the_reference_is(seed: int) -> None:
    """The reference, connected as a class, differs nowhere from itself, repeats included."""
    expert = expert_program(Random(seed), "disorder", PROPOSAL_RULES)
    row = row_program(Random(seed), "disorder")
    for name, cache, tried in (("Expert", EXPERT, expert), ("Row", ROW, row)):
        outcome = connected(name, cache=cache).run(tried)
        assert [found for found in differences(tried, outcome) if found] == []


def test_plain_attributes_declare_it_too() -> None:
    """Name, level and cache come from the class; what it does not say has its default."""
    declared = connected("Plainly").declaration
    assert (declared.name, declared.version, declared.cache, declared.level) == (
        "Plainly",
        "0",
        EXPERT,
        0,
    )


def test_the_columns_are_those_of_the_first_answer() -> None:
    """What an object counts shows when it is opened; one that cannot be opened is told nothing of."""
    assert connected("Plainly").declaration.columns == {"seen"}
    row = connected("Row", cache=ROW).declaration.columns
    assert row is not None
    assert row >= {"lookups", "halvings", "estimates"}
    assert connected("WillNotOpen").declaration.columns is None


def test_settings_that_no_cache_can_have_are_an_input_error() -> None:
    """They would fail in the middle of a run."""
    with pytest.raises(InputError, match="row_settings"):
        connect(f"python:{MODULE}:WithoutWays", ROW)


def test_a_repeat_is_applied_as_often_as_it_says() -> None:
    """The object never sees a repeat, and the answer is that to the last application."""
    answers = connected("Plainly").run(program(Repeat(7, SetBudget(1)))).answers
    assert [answer.counters["seen"] for answer in answers] == [1, 8]


FAILURES = {
    "Raises": (CRASH, "ZeroDivisionError at objects_under_test.py:"),
    "WillNotOpen": (CRASH, "KeyError at objects_under_test.py:"),
    "Loops": (HANG, "no end within 0.3 s"),
    "SaysNone": (GARBAGE, "apply gives a NoneType, not an Answer"),
    "SaysTooLittle": (GARBAGE, "declares level 2, but opened gives no resident"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_fault_has_its_own_verdict(name: str) -> None:
    """An exception is a crash, an endless loop a hang, what is no answer garbage."""
    with pytest.raises(Failure) as caught:
        connected(name, "+deadline=0.3").run(program(SetBudget(666)))
    verdict, detail = FAILURES[name]
    assert (caught.value.verdict, caught.value.detail[: len(detail)]) == (verdict, detail)


def test_a_fault_costs_one_program() -> None:
    """The next program meets a new object."""
    driver = connected("Raises")
    with pytest.raises(Failure):
        driver.run(program(SetBudget(666)))
    assert len(driver.run(program(SetBudget(5))).answers) == 2


def test_outside_the_main_thread_there_is_no_alarm() -> None:
    """Where no alarm can be set, programs run all the same."""
    outcomes = []
    driver = connected("Plainly")
    thread = threading.Thread(target=lambda: outcomes.append(driver.run(program())))
    thread.start()
    thread.join()
    assert len(outcomes) == 1


@pytest.mark.parametrize(
    "text, problem",
    [
        ("python:no_such_module:X", "cannot be imported: ModuleNotFoundError"),
        (f"python:{MODULE}:NoSuchClass", "cannot be imported: AttributeError"),
        (f"python:{MODULE}", "cannot be imported"),
        (f"python:{MODULE}:HasNoApply", "lacks apply(operation) or opened()"),
        (f"python:{MODULE}:SaysNothingOfItself", "does not say what it is"),
        (f"python:{MODULE}:Row", "is a row-cache"),
    ],
)
def test_a_class_that_cannot_be_used_is_an_input_error(text: str, problem: str) -> None:
    """The error names what is missing and what was expected."""
    with pytest.raises(InputError) as caught:
        connect(text, EXPERT)
    assert caught.value.problem.startswith(problem)
    assert caught.value.expected


def test_modules_of_the_current_folder_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class in a file beside which the gate is started is connected by the file's name."""
    (tmp_path / "cache_of_mine.py").write_text(
        f"from {MODULE} import Plainly\nclass Mine(Plainly):\n    name = 'mine'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert connect("python:cache_of_mine:Mine", EXPERT).declaration.name == "mine"
