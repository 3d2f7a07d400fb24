"""Golden tables and recorded runs small enough to re-measure in a moment, in a git checkout of their own."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

from fixtures.recorded_runs import copy_run, edit_cell
from gate.golden.definitions.traces import FOLDER, TRACES
from gate.golden.remeasured import remeasure
from gate.golden.rewrite import NewTable, rewritten
from gate.golden.table import Measurement
from gate.golden.table_file import TABLES, load

SMALL = dict(zip(TRACES, ("mid-c6-ubatch8", "tiny-c1", "tiny-c2"), strict=True))
"""Which committed run stands for which of the three traces."""

ALTERED_ROW = 1700
"""A row of decode that hit: with another expert it no longer fits the recorded residency."""


def small_bench(folder: Path) -> Path:
    """A folder like that of the engine's recorded runs, with small runs for the three traces."""
    traces = folder / FOLDER
    traces.mkdir(parents=True)
    for name, run in SMALL.items():
        copy_run(run, traces, name)
    return folder


def alter_routing(bench: Path, trace: str) -> None:
    """Route one lookup of a trace to another expert than recorded."""
    edit_cell(bench / FOLDER / trace, ".route.csv", ALTERED_ROW, "expert", other_expert)


def other_expert(expert: str) -> str:
    """One of the first two experts, but another one."""
    return "1" if expert == "0" else "0"


def scratch_table(name: str, bench: Path, folder: Path) -> Path:
    """One of the project's tables, with the cells that a small bench gives."""
    table = load(TABLES / f"{name}.toml")
    changes = remeasure(table, bench).changes
    first = Measurement(
        date=datetime.date(2026, 1, 1),
        source="small runs",
        reason="a table to try things on",
        engine="0.19.0",
        definition=table.definition,
        code="none",
        changed={change.name: (change.old, change.new) for change in changes},
        files={},
    )
    path = folder / f"{name}.toml"
    text = rewritten(NewTable(table, changes, first))
    path.write_text(text.partition("history = [")[0], encoding="utf-8")
    return path


def checkout(folder: Path) -> Path:
    """Make a git checkout of all that lies in a folder."""
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    """Commit everything."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it is")


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid")
    command = ["git", "-C", str(folder), *who, "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
