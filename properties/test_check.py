"""Does `cachegate check` end with the exit code it promises, and tell why?

0: all that was exercised passed; 1: something failed; 2: unusable input or usage; 3: nothing was judged.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gate.check import _exit_code
from gate.cli import main
from gate.connect.implementation import BuiltIn
from gate.judging.judge import Fault, laws_of
from gate.judging.verdict import failure_text
from gate.report.model import Failure, Report, Verdict
from reference.laws import EXPERT, Broken
from reference.program_text import parse

ROOT = Path(__file__).resolve().parent.parent
OFF_BY_ONE = "python:properties.seeded_cache:OffByOne"
NOTHING = Report({}, [], [], [], [], {}, {}, {}, True)
PASSED = replace(NOTHING, tests={"properties": {"passed": 1}})
CHECKED = replace(NOTHING, verdicts=[Verdict(EXPERT, "builtin", "a/law", "pass", 1)])
UNEXERCISED = replace(
    CHECKED, verdicts=[*CHECKED.verdicts, Verdict(EXPERT, "builtin", "b/law", "not exercised", 0)]
)
FAULT = Failure(EXPERT, "builtin", "a/law", "fail", "FAIL a/law", "program")


# The exit code


@pytest.mark.parametrize(
    "report, require_all, code",
    [
        (PASSED, False, 0),
        (CHECKED, False, 0),
        (UNEXERCISED, False, 0),
        (UNEXERCISED, True, 1),
        (replace(CHECKED, failures=[FAULT]), False, 1),
        (replace(CHECKED, failed_tests={"properties/test_a.py::test_b": "assert"}), False, 1),
        (replace(CHECKED, complete=False), False, 1),
        (NOTHING, False, 3),
        (NOTHING, True, 3),
        (replace(NOTHING, tests={"properties": {"skipped": 9}}), False, 3),
        (replace(NOTHING, complete=False), False, 1),
    ],
)
def test_the_exit_code_of_a_report(report: Report, require_all: bool, code: int) -> None:
    """A failure outweighs all; skipped tests and laws that were not exercised are not a pass."""
    assert _exit_code(report, require_all) == code


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--expert-cache", "nonsense"], "cannot connect to 'nonsense'"),
        (["--expert-cache", "python:no_such_module:Cache"], "cannot be imported"),
        (["--row-cache", OFF_BY_ONE], "is a expert-cache"),
        (["--report", "verdicts.pdf"], "verdicts.pdf"),
    ],
)
def test_what_cannot_be_used_is_named(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 before anything is judged."""
    assert main(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert problem in printed.err


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown profile or option: exit code 2."""
    for arguments in (["--profile", "fast"], ["--fast"], ["somewhere"]):
        with pytest.raises(SystemExit) as ended:
            main(["check", *arguments])
        assert ended.value.code == 2
        assert "usage: cachegate" in capsys.readouterr().err


# Whole runs


@pytest.fixture
def check(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more_than_quick: None,
) -> Callable[..., tuple[int, str]]:
    """Exit code and output of `cachegate check` on one family of programs, with counterexamples in `tmp_path`."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k recency")

    def checked(*arguments: str) -> tuple[int, str]:
        places = ["--counterexamples", str(tmp_path / "found")]
        code = main(["check", "-n", "0", *places, *arguments])
        return code, capsys.readouterr().out

    return checked


def test_the_reference_passes(check: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    """Exit code 0, a line for each law of its kind of cache, and no counterexample."""
    code, told = check("--expert-cache", "builtin")
    assert code == 0
    assert "verdict: pass" in told.splitlines()
    told_of = {line.split()[0]: line.split()[1] for line in told.splitlines() if "/" in line}
    assert told_of.keys() >= {law.id for law in laws_of(BuiltIn(EXPERT).declaration)}
    assert int(told_of["residency/stack-distance"]) > 0
    assert not (tmp_path / "found").exists()


def test_a_broken_cache_fails(
    check: Callable[..., tuple[int, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1; law, program and the line that runs it again are told, and that line fails, too."""
    code, told = check("--expert-cache", OFF_BY_ONE)
    assert code == 1
    assert "verdict: FAIL" in told.splitlines()
    assert "FAIL budget/evicts-no-more-than-needed on off-by-one 1" in told
    replays = [line for line in told.splitlines() if "replay:   cachegate replay " in line]
    files = sorted((tmp_path / "found").glob("*.prog"))
    assert {str(file) for file in files} == {line.split()[3] for line in replays}
    assert main(["replay", str(files[0]), "--on", OFF_BY_ONE]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_a_bare_cache_breaks_no_require_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, more_than_quick: None
) -> None:
    """At level 0, without capabilities, with four counters: all it can be held to is exercised, the rest is skipped."""
    bare = "python:properties.objects_under_test:Bare"
    places = ["--counterexamples", str(tmp_path / "found")]
    assert main(["check", "-n", "0", *places, "--row-cache", bare, "--require-all"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "verdict: pass" in told
    cells = {line.split()[0]: line.split(maxsplit=1)[1] for line in told if line.startswith("row-")}
    assert cells["row-pins/refusals"] == "skip: needs level 2"
    assert cells["row-counters/halvings"] == "skip: needs halving, column halvings"
    assert cells["row-counters/every-miss-is-placed"] == "skip: needs column evictions"
    assert int(cells["row-counters/hits-and-misses"]) > 0
    assert "not exercised" not in cells.values()
    assert not any(line.startswith(("never exercised", "properties:")) for line in told)


def test_a_failure_names_its_file_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the current folder by the way from there, elsewhere in full; both are taken by a shell."""
    monkeypatch.chdir(tmp_path)
    program = parse("expert-cache v1 entry_bytes=1")
    law, connect = laws_of(BuiltIn(EXPERT).declaration)[0], "cmd:./it's"
    fault = Fault(law, "fail", program, Broken(0, "x", "y"))
    for file, shown in (
        (tmp_path / "found" / "a.prog", "found/a.prog"),
        (tmp_path / "my runs" / "a.prog", "'my runs/a.prog'"),
        (tmp_path.parent / "a.prog", str(tmp_path.parent / "a.prog")),
    ):
        text = failure_text(fault, BuiltIn(EXPERT).declaration, connect, file)
        replay = f"cachegate replay {shown} --on {shlex.quote(connect)}"
        assert text.endswith(f"replay:   {replay}")


HANGING = """
import os, pathlib, sys, time
print("cachegate 1 row-cache hang 1 level=0 columns=lookups,hits,misses", flush=True)
pathlib.Path(sys.argv[1], str(os.getpid())).touch()
for line in sys.stdin:
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_gate_leaves_no_process(
    number: signal.Signals, tmp_path: Path, more_than_quick: None
) -> None:
    """Told to end while drivers hang in two workers, it ends them all, and says so by its exit code."""
    (tmp_path / "driver.py").write_text(HANGING)
    started = tmp_path / "started"
    started.mkdir()
    connect = f"cmd:{sys.executable} {tmp_path / 'driver.py'} {started}"
    command = [sys.executable, "-m", "gate.cli", "check", "--row-cache", connect, "-n", "2"]
    gate = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while len(list(started.iterdir())) < 3 and time.monotonic() < until:
        time.sleep(0.1)  # one driver of the check itself, then one in each worker
    gate.send_signal(number)
    assert gate.wait(60) == 128 + number
    until = time.monotonic() + 30
    alive = [int(file.name) for file in started.iterdir()]
    while (alive := [pid for pid in alive if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert alive == []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
