"""Are the Hypothesis profiles what they claim: every setting stated, gate always the same, nightly never?

What is claimed of runs is shown on runs: each is a process of its own, in a folder of its own.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest

from fixtures import expert_programs, profiles

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("quick", "gate", "nightly")
DRAWS = 25

Run = Callable[..., str]

SHOW_SETTINGS = """
import hypothesis
from fixtures import expert_programs, profiles
for name in ("quick", "gate", "nightly"):
    profiles.load(name)
    print(name, hypothesis.settings.default)
"""

DRAW_PROGRAMS = """
import sys
from random import Random
from hypothesis import given, settings
from fixtures import expert_programs, profiles
from reference.expert_config import PROPOSAL_RULES
from reference.program_text import format_program

profiles.load(sys.argv[1])

@settings(max_examples=int(sys.argv[2]))
@given(profiles.SEEDS)
def draw(seed):
    for family in sorted(expert_programs.FAMILIES):
        print(format_program(expert_programs.expert_program(Random(seed), family, PROPOSAL_RULES)))

draw()
"""

DRAW_SEEDS = """
import sys
from hypothesis import given
from fixtures import profiles

sys.path.insert(0, "")
for name in sys.argv[1:]:
    __import__(name)
profiles.load("gate")

@given(profiles.SEEDS)
def draw(seed):
    print(seed)

draw()
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs Python in a process of its own: arguments, then what the environment has; gives its output."""

    def ran(*arguments: str, **environment: str) -> str:
        inherited = {
            name: v for name, v in os.environ.items() if name not in ("CI", "PYTEST_ADDOPTS")
        }
        process = subprocess.run(
            [sys.executable, *arguments],
            env=inherited | {"PYTHONPATH": str(ROOT)} | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.stderr == ""
        return process.stdout

    return ran


# Settings


def test_every_profile_states_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is left to Hypothesis' defaults, which depend on the environment and the version."""
    stated: dict[str, dict[str, Any]] = {}
    recording = SimpleNamespace(register_profile=lambda name, **given: stated.update({name: given}))
    monkeypatch.setattr(profiles, "settings", recording)
    profiles.register()
    known = set(inspect.signature(hypothesis.settings.__init__).parameters) - {"self", "parent"}
    assert {name: set(given) for name, given in stated.items()} == dict.fromkeys(NAMES, known)


def test_the_environment_changes_no_setting(run: Run) -> None:
    """With CI set, Hypothesis has other defaults; the profiles are the same."""
    shown = run("-c", SHOW_SETTINGS)
    assert [line.split()[0] for line in shown.splitlines()] == list(NAMES)
    assert run("-c", SHOW_SETTINGS, CI="true") == shown


def test_what_the_profiles_differ_in() -> None:
    """quick and gate are derandomized and keep no examples; nightly draws anew and keeps what failed."""
    quick, gate, nightly = (hypothesis.settings.get_profile(name) for name in NAMES)
    assert (quick.derandomize, gate.derandomize, nightly.derandomize) == (True, True, False)
    assert (quick.database, gate.database) == (None, None)
    assert nightly.database is not None
    assert quick.max_examples < gate.max_examples < nightly.max_examples


@pytest.mark.parametrize("name", NAMES)
def test_no_profile_explains_or_watches_the_clock(name: str) -> None:
    """`explain` costs thirty times what finding costs; a deadline would fail tests on a slow machine."""
    profile = hypothesis.settings.get_profile(name)
    assert hypothesis.Phase.explain not in profile.phases
    assert profile.deadline is None


# Runs


@pytest.mark.parametrize("name", ["quick", "gate"])
def test_two_runs_draw_the_same_programs(name: str, run: Run, more_than_quick: None) -> None:
    """Whatever CI and PYTHONHASHSEED are."""
    first = run("-c", DRAW_PROGRAMS, name, str(DRAWS), PYTHONHASHSEED="0")
    assert first.count("expert-cache v1") == DRAWS * len(expert_programs.FAMILIES)
    assert run("-c", DRAW_PROGRAMS, name, str(DRAWS), PYTHONHASHSEED="1", CI="1") == first


def test_seeds_do_not_depend_on_what_is_imported(run: Run, tmp_path: Path) -> None:
    """Hypothesis draws constants from the source of imported modules; a module more changes no program."""
    (tmp_path / "constants.py").write_text(f"KNOWN = {[7**n for n in range(2, 22)]}\n")
    drawn = run("-c", DRAW_SEEDS).split()
    assert len(set(drawn)) == hypothesis.settings.get_profile("gate").max_examples
    assert run("-c", DRAW_SEEDS, "constants").split() == drawn


def test_a_seed_asked_for_is_used(run: Run, tmp_path: Path, more_than_quick: None) -> None:
    """Another seed, other programs, hence other counts of checks, in a profile that else draws the same ones."""
    seeds = ((), ("--hypothesis-seed=1",), ("--hypothesis-seed=1",), ("--hypothesis-seed=2",))
    reports = [
        json.loads(report(run, tmp_path / str(number), 0, *options))
        for number, options in enumerate(seeds)
    ]
    derandomized, first, again, second = (found["verdicts"] for found in reports)
    assert first == again
    assert derandomized != first
    assert first != second
    assert reports[1]["settings"]["seed"] == "1"


def test_two_nightly_runs_draw_different_programs(run: Run, more_than_quick: None) -> None:
    """With CI set, too, and with the same hash seed."""
    environment = {"PYTHONHASHSEED": "0", "CI": "1"}
    first, second = (
        run("-c", DRAW_PROGRAMS, "nightly", str(DRAWS), **environment) for _ in range(2)
    )
    assert first != second


def report(run: Run, file: Path, workers: int, *arguments: str, **environment: str) -> str:
    """The report of a small selection of the laws, run by so many workers."""
    laws = str(ROOT / "properties" / "test_laws.py")
    house = ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "-q", "-n", str(workers)]
    chosen = ["-k", "test_expert_cache and recency", "--gate-report", str(file)]
    run("-m", "pytest", laws, *house, *chosen, *arguments, **environment)
    return file.read_text()


def test_the_report_does_not_depend_on_the_workers(
    run: Run, tmp_path: Path, more_than_quick: None
) -> None:
    """Same settings, verdicts, counts, failures and programs with -n 0, 1 and 2 and any hash seed."""
    judged = ("builtin", "python:properties.seeded_cache:OffByOne")
    chosen = [argument for text in judged for argument in ("--expert-cache", text)]
    reports = [report(run, tmp_path / str(n), n, *chosen, PYTHONHASHSEED=str(n)) for n in (0, 1, 2)]
    assert '"verdict": "pass"' in reports[0]
    assert '"verdict": "fail"' in reports[0]
    assert reports == [reports[0]] * 3
