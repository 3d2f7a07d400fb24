"""Does the CI step hand on what it is given: connect strings, folders, and where the failing programs lie?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ACTION = (ROOT / "action.yml").read_text()
SCRIPT = (ROOT / ".ci" / "gate").read_text()
FAKE = """\
#!/bin/sh
printf '%s\\n' "$@" >"$SAID"
exit "${CODE:-0}"
"""
"""In the place of cachegate: it writes down what it is asked."""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the script beside a command that only writes its arguments down."""
    monkeypatch.chdir(tmp_path)
    for folder in (".ci", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "gate", tmp_path / ".ci")
    command = tmp_path / ".venv" / "bin" / "cachegate"
    command.write_text(FAKE)
    command.chmod(0o755)
    return tmp_path


def ran(gate: Path, **environment: str) -> tuple[int, list[str]]:
    """The script's exit code, and what it asked of cachegate."""
    said = gate / "said"
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [gate / ".ci" / "gate"], env={**clean, "SAID": str(said), **environment}, check=False
    )
    return done.returncode, said.read_text().splitlines()


def option(said: list[str], name: str) -> list[str]:
    """The values of an option."""
    return [value for word, value in pairwise(said) if word == name]


def test_it_asks_for_what_the_environment_names(gate: Path) -> None:
    """One implementation a line, blanks in a connect string kept; the profile, the deviations, every report."""
    code, said = ran(
        gate,
        EXPERT_CACHE="cmd:./a --x\n\ncmd:./b\n",
        ROW_CACHE="cmd:./c",
        PROFILE="nightly",
        DEVIATIONS="known.toml",
        REPORT="out",
    )
    assert (code, said[0]) == (0, "check")
    assert option(said, "--expert-cache") == ["cmd:./a --x", "cmd:./b"]
    assert option(said, "--row-cache") == ["cmd:./c"]
    assert option(said, "--profile") == ["nightly"]
    assert option(said, "--deviations") == ["known.toml"]
    assert option(said, "--report") == [
        f"out/report.{form}" for form in ("json", "html", "xml", "md")
    ]
    assert (gate / "out").is_dir()


@pytest.mark.parametrize(
    "given, folder",
    [
        ({}, "cachegate-report/counterexamples"),
        ({"REPORT": "out"}, "out/counterexamples"),
        ({"REPORT": "out", "COUNTEREXAMPLES": "tests/failed once"}, "tests/failed once"),
    ],
)
def test_the_programs_that_fail_have_a_place(
    gate: Path, given: dict[str, str], folder: str
) -> None:
    """The folder that is named, else one in the report's; later steps are told, also when the gate fails."""
    outputs = gate / "outputs"
    code, said = ran(gate, GITHUB_OUTPUT=str(outputs), CODE="1", **given)
    assert code == 1
    assert option(said, "--counterexamples") == [folder]
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert told == {"report": given.get("REPORT", "cachegate-report"), "counterexamples": folder}


def test_the_summary_shows_the_report(gate: Path) -> None:
    """What the report says is appended to the step's summary."""
    (gate / "cachegate-report").mkdir()
    (gate / "cachegate-report" / "report.md").write_text("# verdict\n")
    ran(gate, GITHUB_STEP_SUMMARY=str(gate / "summary"))
    assert (gate / "summary").read_text() == "# verdict\n"


def test_the_action_hands_on_what_the_script_reads() -> None:
    """Every variable that the script reads is an input of the action, and every output is one that it writes."""
    read = set(re.findall(r"\$\{([A-Z_]+):-", SCRIPT))
    handed = dict(re.findall(r"^ +([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", ACTION, re.MULTILINE))
    assert read - handed.keys() == {"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
    assert {name: name.lower().replace("_", "-") for name in handed} == handed
    inputs = ACTION.partition("inputs:")[2].partition("outputs:")[0]
    assert set(re.findall(r"^  ([a-z-]+):$", inputs, re.MULTILINE)) == {*handed.values(), "python"}
    outputs = re.findall(r"steps\.gate\.outputs\.([a-z-]+)", ACTION)
    assert outputs == ["report", "counterexamples"]
    assert all(f'"{name}=$' in SCRIPT for name in outputs)
