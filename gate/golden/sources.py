"""From what is a golden table measured, and by which definition?"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gate.golden.definitions import DEFINITIONS
from gate.golden.samples import Samples
from gate.golden.samples_of_reports import samples_of_reports
from gate.golden.samples_of_runs import samples_of_runs
from gate.golden.samples_of_scrapes import samples_of_scrapes
from gate.golden.table import Row, Table
from reference.errors import InputError, printable
from replay.artefacts import stem_of

SAMPLES: dict[str, Callable[[Path], Samples]] = {
    sampled.__name__: sampled
    for sampled in (samples_of_runs, samples_of_scrapes, samples_of_reports)
}
"""The definitions of the tables that `cachegate table new` makes."""


def measured_rows(table: Table, folder: Path) -> list[Row]:
    """The rows of a table, computed anew from what lies in `folder`.

    Raises:
        InputError: its definition is not known, or does not find what it needs there.
    """
    try:
        if table.definition in SAMPLES:
            return SAMPLES[table.definition](folder).means(table)
        rows = _definition(table)(folder)
    except (ValueError, LookupError, ArithmeticError) as fault:
        problem = f"{table.definition} cannot be computed: {printable(str(fault), 200)}"
        raise InputError(problem, source=str(folder)) from None
    if not rows:
        raise InputError(f"nothing for {table.definition}", source=str(folder))
    return rows


def _definition(table: Table) -> Callable[[Path], list[Row]]:
    if table.definition not in DEFINITIONS:
        raise InputError(
            f"unknown definition {printable(table.definition)}",
            source=str(table.path),
            expected=", ".join((*DEFINITIONS, *SAMPLES)),
        )
    return DEFINITIONS[table.definition]


@contextmanager
def folder_of(paths: Sequence[str]) -> Iterator[Path]:
    """One folder that holds what `paths` name: the only folder itself, or one of links to all.

    Raises:
        InputError: a path is missing, or two have one name.
    """
    given = [Path(path).absolute() for path in paths]
    if missing := [path for path in given if not path.exists()]:
        raise InputError("no such file or folder", source=str(missing[0]))
    if len(given) == 1 and given[0].is_dir():
        yield given[0]
        return
    with tempfile.TemporaryDirectory(prefix="cachegate-") as name:
        folder = Path(name)
        for path in given:
            _link(path, folder / path.name)
        yield folder


def _link(path: Path, place: Path) -> None:
    """Link every file: a link to a folder would be passed over by a search of the folders above it."""
    if place.exists():
        raise InputError(f"another {place.name} was given", source=str(path))
    if path.is_file():
        for file in _of_one_run(path):
            place.with_name(file.name).symlink_to(file)
        return
    for parent, _, files in os.walk(path):
        into = place / Path(parent).relative_to(path)
        into.mkdir(parents=True, exist_ok=True)
        for name in files:
            (into / name).symlink_to(Path(parent) / name)


def _of_one_run(path: Path) -> list[Path]:
    """The file, and where it is of a recorded run all files of the run, so that they can be audited."""
    if path.suffix not in (".csv", ".metrics"):
        return [path]
    return [file for file in path.parent.iterdir() if stem_of(file) == stem_of(path)]
