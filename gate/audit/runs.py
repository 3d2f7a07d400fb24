"""Which recorded runs lie under a path, and what does each consist of?

A run is what one process of the engine left behind: files of one folder with one stem.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gate.show import Progress
from reference.errors import InputError
from replay.artefacts import STDOUT_SUFFIXES, Kind, classify, stem_of
from replay.lines import check_regular, read_lines
from replay.recordings import MetricsFile, read_metrics
from replay.stdout import Stdout, read_stdout
from replay.traces import RouteTrace, read_route_trace


@dataclass(slots=True)
class RecordedRun:
    """One run.

    Attributes:
        name: its path below the folder that was given, without suffix, with `/`.
        path: the same, as a path of this machine.
        trace, metrics, stdout: what was recorded of it; None for what was not.
        prompts: the prompts of a session's commands; None if they were not kept.
    """

    name: str
    path: Path
    trace: RouteTrace | None = None
    metrics: MetricsFile | None = None
    stdout: Stdout | None = None
    prompts: list[str] | None = None

    @property
    def preamble(self) -> dict[str, str]:
        """The CSV's preamble; empty without one."""
        return self.metrics.preamble if self.metrics else {}


@dataclass(slots=True)
class Collection:
    """The runs under some paths, and the files that belong to none, each with the reason."""

    runs: list[RecordedRun] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)


def collect(paths: Iterable[str]) -> Collection:
    """The runs under files and folders; a file stands for the run that it belongs to.

    Raises:
        InputError: a path does not exist, or an artefact cannot be read; it names file and line.
    """
    found, seen = Collection(), set[Path]()
    progress = Progress("runs read")
    for given in paths:
        for name, path, files in _stems(Path(given)):
            if path.absolute() not in seen:
                seen.add(path.absolute())
                _add(found, name, path, files)
                progress.step()
    progress.close()
    return found


def _stems(given: Path) -> Iterator[tuple[str, Path, list[Path]]]:
    """(name, path without suffix, files) of every stem under a path, sorted by name."""
    if os.path.isdir(given):  # noqa: PTH112 - unlike Path.is_dir, False where the name is too long
        root, files = given, _files_below(given)
    else:
        check_regular(given)
        root = given.parent
        files = (path for path in _files_of(root) if stem_of(path) == stem_of(given))
    stems = defaultdict[Path, list[Path]](list)
    for path in files:
        stems[path.with_name(stem_of(path))].append(path)
    for stem in sorted(stems):
        yield stem.relative_to(root).as_posix(), stem, sorted(stems[stem])


def _files_below(root: Path) -> Iterator[Path]:
    """All files under a folder. Links to folders are not followed, so there is no loop.

    Path.rglob calls itself for each level, and passes over a folder that it may not read.
    """
    folders = [root]
    while folders:
        yield from _files_of(folders.pop(), folders)


def _files_of(folder: Path, folders: list[Path] | None = None) -> Iterator[Path]:
    """The files of a folder; its folders are added to `folders`.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            found = [(folder / e.name, e.is_dir(follow_symlinks=False)) for e in entries]
    except OSError as fault:
        raise InputError(f"cannot be read: {fault.strerror}", source=str(folder)) from None
    if folders is not None:
        folders += [path for path, is_folder in found if is_folder]
    yield from (path for path, is_folder in found if not is_folder)


def _add(found: Collection, name: str, path: Path, files: list[Path]) -> None:
    """Read the files of one stem: a run if there is a trace or a per-token CSV among them."""
    kinds = {file: classify(file) for file in files}
    recorded = [file for file in files if kinds[file].kind in (Kind.ROUTE, Kind.METRICS)]
    if not recorded:
        reason = "belongs to no recorded run"
        found.passed_over += [
            (f"{name}{file.name.removeprefix(path.name)}", kinds[file].reason or reason)
            for file in files
        ]
        return
    run = RecordedRun(name, path)
    for file in files:
        kind = kinds[file].kind
        if kind is Kind.ROUTE and run.trace is None:
            run.trace = read_route_trace(file)
        elif kind is Kind.METRICS and run.metrics is None:
            run.metrics = read_metrics(file)
        elif kind is Kind.PROMPTS:
            run.prompts = _prompts(file)
    printed = [file for file in files if kinds[file].kind is Kind.STDOUT]
    if printed:
        best = min(printed, key=lambda file: STDOUT_SUFFIXES.index(file.suffix))
        run.stdout = read_stdout(best)
    found.runs.append(run)


def _prompts(path: Path) -> list[str] | None:
    """The prompts of a session's `generate` commands; None if the file is something else."""
    prompts = []
    for _, text in read_lines(path):
        try:
            command = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if isinstance(command, dict) and command.get("cmd") == "generate":
            prompts.append(str(command.get("prompt", "")))
    return prompts
