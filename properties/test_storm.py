"""Do `cachegate storm` and `cachegate exhaust` find what is wrong, tell it, and end as they were asked to?"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fixtures.example_drivers import build
from gate.bulk import expert_pass, row_runs, storm
from gate.bulk.lockstep import RandomPrograms
from gate.cli import main
from gate.connect.implementation import Declaration
from gate.replay import read_program
from properties.objects_under_test import Row
from reference.expert_config import PROPOSAL_RULES
from reference.laws import ROW
from reference.program import Answer, Gather, Operation
from reference.row_config import RowCacheConfig
from replay.gathers import Gathers
from replay.hashing import I64
from replay.rows import RowReplay

OFF_BY_ONE = "python:properties.seeded_cache:OffByOne"
ROOT = Path(__file__).resolve().parent.parent


class OwnHash(Row):
    """A right row cache that says its hash is its own, and counts alone."""

    declaration = Declaration(
        "own-hash",
        "1",
        ROW,
        level=0,
        capabilities=frozenset(),
        row_settings={"placement": "own", "sketch_width": "any"},
    )


class LosesAMiss(OwnHash):
    """It does not count the fourth miss."""

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation."""
        answer = super().apply(operation)
        lost = answer.counters["misses"] > 3
        return Answer(dict(answer.counters) | {"misses": answer.counters["misses"] - lost})


class Crashes(Row):
    """It raises when the first row is replaced."""

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation."""
        answer = super().apply(operation)
        if answer.counters["evictions"]:
            raise ZeroDivisionError("evicted")
        return answer


def found_in(folder: Path) -> list[str]:
    """The laws of the programs in a folder of counterexamples."""
    return sorted(file.name.split(".")[0] for file in folder.iterdir())


def stormed(folder: Path, *options: str) -> int:
    """The exit code of a storm in this process, of seed 0."""
    return main(["storm", *options, "--seed", "0", "-n", "1", "--counterexamples", str(folder)])


# What is found


def test_a_bug_is_found_in_a_small_scope(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An off-by-one is found, told with its smallest program, and the program is written."""
    code = main(
        ["exhaust", "--expert-cache", OFF_BY_ONE, "-n", "1", "--counterexamples", str(tmp_path)]
    )
    assert code == 1
    (file,) = tmp_path.iterdir()
    assert len(read_program(str(file)).operations) <= 4
    printed = capsys.readouterr().out
    assert "FAIL lockstep/reference on off-by-one" in printed
    assert "not all were judged; broke lockstep/reference" in printed


@pytest.mark.parametrize("counts", [("300", "0"), ("0", "2000")])
def test_a_bug_is_found_one_by_one_and_in_bulk(
    counts: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Either half of the storm finds an off-by-one, tells it once and keeps its smallest program alone."""
    options = ("--lockstep", counts[0], "--bulk", counts[1])
    assert stormed(tmp_path, "--expert-cache", OFF_BY_ONE, *options) == 1
    assert found_in(tmp_path) == ["lockstep-reference"]
    (file,) = tmp_path.iterdir()
    assert len(read_program(str(file)).operations) <= 4
    assert capsys.readouterr().out.count("FAIL ") == 1


@pytest.mark.parametrize(
    "name, law",
    [
        ("LosesAMiss", "row-counters-hits-and-misses"),
        ("Crashes", "answers-every-operation"),
    ],
)
def test_the_law_that_broke_in_bulk_is_named(name: str, law: str, tmp_path: Path) -> None:
    """A wrong sum of a cache that has nothing beside it, and a crash: each under its own law."""
    connect = f"python:properties.test_storm:{name}"
    assert stormed(tmp_path, "--row-cache", connect, "--lockstep", "0", "--bulk", "500") == 1
    assert found_in(tmp_path) == [law]


class OffByOneReplay(RowReplay):
    """It counts an eviction too many in every gather of two misses."""

    def distinct_gathers(self, gathers: Gathers, table: int = 0) -> I64:
        """Run gathers."""
        counts = super().distinct_gathers(gathers, table)
        counts[:, 3] += counts[:, 1] == 2
        return counts


@pytest.mark.parametrize("connected", [(), ("--row-cache", "python:properties.objects_under_test:Row")])  # fmt: skip
def test_a_wrong_row_engine_is_told_as_such(
    connected: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Alone, or beside an implementation that is right: the engine is named, its smallest program written."""
    monkeypatch.setattr(row_runs, "RowReplay", OffByOneReplay)
    assert stormed(tmp_path, *connected, "--lockstep", "0", "--bulk", "1000") == 1
    assert "FAIL replay/row-cache on replay" in capsys.readouterr().out
    assert found_in(tmp_path) == ["replay-row-cache"]
    (file,) = tmp_path.iterdir()
    program = read_program(str(file))
    assert isinstance(program.config, RowCacheConfig)
    assert program.operations == (Gather((0, 1)),)


def test_a_wrong_expert_engine_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thresholds that are a byte too high are found by the reference alone, as they still add up."""
    right = expert_pass._thresholds

    def too_high(*arguments: Any) -> Any:
        theta = right(*arguments)
        theta[(theta > 0) & (theta < 1 << 63)] += 1
        return theta

    monkeypatch.setattr(expert_pass, "_thresholds", too_high)
    assert stormed(tmp_path, "--lockstep", "0", "--bulk", "40000") == 1
    assert found_in(tmp_path) == ["replay-expert-cache"]


def test_what_shows_in_bulk_alone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine that is wrong only when there are many runs has no program: the bulk is named."""
    right = row_runs.RowRuns.counted

    def wrong_in_bulk(self: row_runs.RowRuns, engine: str) -> Any:
        counted = right(self, engine)
        return counted | {"hits": counted["hits"] + 1} if len(self) > 1000 else counted

    monkeypatch.setattr(row_runs.RowRuns, "counted", wrong_in_bulk)
    assert stormed(tmp_path, "--lockstep", "0", "--bulk", "40000") == 1
    said = capsys.readouterr().out
    assert "FAIL row-cache builtin: every lookup is a hit or a miss, in bulk 0 and on no" in said
    assert list(tmp_path.iterdir()) == []


# How it ends


def test_a_storm_ends_when_it_had_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exactly so many programs are judged, shared by both caches, and the seeds are named."""
    assert stormed(tmp_path, "--lockstep", "61", "--bulk", "3003") == 0
    first, second, seeds = capsys.readouterr().out.splitlines()
    assert first.startswith("expert-cache builtin: 31 programs by all laws, 1502 in bulk")
    assert second.startswith("row-cache builtin: 30 programs by all laws, 1501 in bulk")
    assert seeds == "seeds 0 to 100"


def test_the_shortest_storm_is_one_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without counts the clock decides, after everything under test had its turn."""
    monkeypatch.setattr(storm, "SLICE", 7)
    monkeypatch.setattr(storm, "BULK_OF_ENGINES", 90)
    assert stormed(tmp_path, "--minutes", "0") == 0
    assert capsys.readouterr().out.count(": 7 programs by all laws, 90 in bulk") == 2


def test_a_storm_that_judges_nothing_says_so(tmp_path: Path) -> None:
    """Exit code 3."""
    assert stormed(tmp_path, "--lockstep", "0", "--bulk", "0") == 3


def test_a_storm_counts_its_seeds_up() -> None:
    """Two slices share no program."""
    first, second = (RandomPrograms("builtin", ROW, PROPOSAL_RULES, seed, 100) for seed in (0, 100))
    assert not set(map(repr, first.programs())) & set(map(repr, second.programs()))


def test_a_fault_survives_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted before a fault is shrunk, the storm has written its program, tells it and its sums."""

    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storm.Smaller, "judge", interrupted)
    assert stormed(tmp_path, "--expert-cache", OFF_BY_ONE) == 1
    assert found_in(tmp_path) == ["lockstep-reference"]
    printed = capsys.readouterr().out
    assert "interrupted: " in printed
    assert "FAIL lockstep/reference on off-by-one" in printed
    assert re.search(r"in lockstep, \d+ in bulk; broke lockstep/reference\n", printed)


def alive(pid: int) -> bool:
    """Does a process run?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process(number: int, tmp_path: Path, more_than_quick: None) -> None:
    """Interrupted or terminated, a storm ends its workers and their drivers, and tells what there is."""
    script = tmp_path / "driver.sh"
    driver = build("python", "row", tmp_path)
    pids = tmp_path / "pids"
    script.write_text(f"echo $$ >>{shlex.quote(str(pids))}\nexec {driver}\n")
    options = ["--row-cache", f"cmd:sh {shlex.quote(str(script))}", "--minutes", "5", "-n", "2"]
    command = [sys.executable, "-m", "gate.cli", "storm", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        while not pids.exists() or len(pids.read_text().split()) < 3:  # one is asked for its hello
            time.sleep(0.05)
        running.send_signal(number)
        printed, _ = running.communicate()
    assert "interrupted: " in printed
    assert running.returncode in (0, 3)
    started = list(map(int, pids.read_text().split()))
    for _ in range(200):  # killed ones are gone when init has seen them
        if not any(map(alive, started)):
            break
        time.sleep(0.05)
    assert not any(map(alive, started))
