"""On which files does a measurement rest, and do they deserve it?

The table is measured once more in a process of its own, which notes every file it opens: caches of this
process hide nothing there, and two measurements that differ are none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path, PurePath

from gate.audit.command import audit
from gate.audit.exceptions import outlived
from gate.audit.facts import establish
from gate.audit.findings import FAIL, Finding
from gate.audit.runs import RecordedRun, collect
from gate.golden.measurement import NOT_RECORDED
from gate.golden.sources import measured_rows
from gate.golden.table import Cell, Row, Table
from gate.golden.table_file import load
from reference.errors import InputError, printable
from replay.artefacts import Kind, classify

TIMEOUT_S = 3600
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a table was measured from.

    Args:
        files: path below the folder, to SHA-256.
        engine: its version by the preambles of the runs that the files belong to.
    """

    files: Mapping[str, str]
    engine: str


def gather(table: Table, folder: Path, rows: Sequence[Row]) -> Evidence:
    """The evidence for `rows`, which were measured from `folder`.

    Raises:
        InputError: a second measurement gives other rows, or the files fail the audit.
    """
    command = [sys.executable, "-m", __name__, str(table.path), str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        problem = f"the second measurement failed: {printable(done.stderr.strip(), 300)}"
        raise InputError(problem, source=table.id)
    answer = json.loads(done.stdout)
    if answer["rows"] != digest_of(rows):
        raise InputError(
            "measured twice, with two results",
            source=table.id,
            expected=f"a definition that gives the same each time: {table.definition}",
        )
    names = sorted(answer["opened"])
    runs = refuse_unsound(folder, names)
    files = {name: sha256((folder / name).read_bytes()).hexdigest() for name in names}
    versions = {run.preamble["engine"] for run in runs if "engine" in run.preamble}
    return Evidence(files, ", ".join(sorted(versions)) or NOT_RECORDED)


def digest_of(rows: Sequence[Row]) -> str:
    """A digest that is equal for equal rows: their cells as exact fractions, in order."""
    text = json.dumps([[(name, _exact(cell)) for name, cell in row.items()] for row in rows])
    return sha256(text.encode()).hexdigest()


def _exact(cell: Cell) -> str:
    return cell if isinstance(cell, str) else str(Fraction(cell))


def refuse_unsound(folder: Path, names: Sequence[str]) -> list[RecordedRun]:
    """The recorded runs that some files below a folder belong to, which must pass the audit.

    Scrapes are judged where they are read (gate/golden/samples_of_scrapes.py).

    Raises:
        InputError: a run breaks a law, or a known exception no longer holds.
    """
    recorded = [str(folder / name) for name in names if _is_recorded(folder / name)]
    runs = collect(recorded).runs
    turns = audit([establish(run) for run in runs])
    by_run: dict[PurePath, list[Finding]] = {}
    for turn in turns:
        by_run.setdefault(turn.facts.run.path, []).extend(turn.findings)
    failed = [
        f"{turn.facts.run.name}: law {finding.law} fails: {finding.detail}"
        for turn in turns
        for finding in turn.findings
        if finding.verdict == FAIL
    ] + outlived(by_run)
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise InputError(
            f"fails the audit: {failed[0]}{more}",
            source=str(folder),
            cure="cachegate audit tells more; nothing is measured from a run that breaks a law",
        )
    return runs


def _is_recorded(path: Path) -> bool:
    try:
        return classify(path).kind in (Kind.ROUTE, Kind.METRICS)
    except InputError:
        return False


def main(table_path: str, folder: str) -> None:
    """Measure a table and print, as JSON, a digest of its rows and which files below `folder` were opened."""
    opened: set[str] = set()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            path = Path(arguments[0]).absolute()
            if path.is_relative_to(folder) and path.is_file():
                opened.add(path.relative_to(folder).as_posix())

    sys.addaudithook(note)
    rows = measured_rows(load(Path(table_path)), Path(folder))
    print(json.dumps({"rows": digest_of(rows), "opened": sorted(opened)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
