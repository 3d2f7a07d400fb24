"""How is an audit run and its report read in a test?"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from gate.cli import main

Report = list[dict[str, Any]]

COUNTERS = {
    "hits": "hits",
    "lookups": "lookups",
    "evictions": "evictions",
    "rereads": "rereads",
    "resident_bytes": "resident",
    "decode_read_bytes": "decode_read",
}
"""Key of --json: key of a manifest's replay."""


def audit(*paths: Path) -> tuple[int, Report]:
    """Audit paths with --json: the exit code and the list."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(["audit", "--json", *map(str, paths)])
    return code, json.loads(out.getvalue() or "[]")


def verdicts(report: Report, run: str, turn: int = 0) -> dict[str, str]:
    """Law to verdict of one turn."""
    found = [entry for entry in report if (entry["run"], entry["turn"]) == (run, turn)]
    assert len(found) == 1, f"{run} turn {turn} is {len(found)} times in the report"
    return {law["law"]: law["verdict"] for law in found[0]["laws"]}


def details(report: Report, verdict: str) -> dict[tuple[str, str], str]:
    """(run, law) to detail, of all findings with a verdict."""
    return {
        (entry["run"], law["law"]): law["detail"]
        for entry in report
        for law in entry["laws"]
        if law["verdict"] == verdict
    }


def check_manifest(folder: Path, report: Report) -> int:
    """Compare the report's counters with a folder's manifest; gives how many turns were compared."""
    found = {(entry["run"], entry["turn"]): entry for entry in report}
    compared = 0
    for run in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        for turn, replay in run.get("replay", {}).items():
            entry = found[run["tag"], int(turn)]
            assert {key: entry[key] for key in COUNTERS} == {
                key: replay[name] for key, name in COUNTERS.items()
            }, f"{run['tag']} turn {turn}"
            compared += 1
    return compared
