"""May golden tables be written here and now? Only alone, and into a checkout where the diff will be all there is."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from reference.errors import InputError, printable

WORKER = "PYTEST_XDIST_WORKER"
"""What pytest-xdist sets in each of its workers."""

MISLEADING = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}
"""What a git hook sets: with it git would speak of another checkout than the table's."""

ROOT = Path(__file__).resolve().parents[2]
LOCK = "cachegate-remeasure.lock"
TIMEOUT_S = 60


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Hold the right to write into the clean git checkout of `folder`.

    The lock is a file in the checkout's git folder; the system lets it go when its process ends.

    Raises:
        InputError: this is one of several parallel processes, another re-measurement is at work, or
            the checkout is dirty or none at all.
    """
    if worker := os.environ.get(WORKER):
        raise InputError(
            f"a parallel run ({printable(worker)}) must not write golden tables",
            source=WORKER,
            cure="re-measure in a process of its own, without -n",
        )
    lock = folder / _git(folder, "rev-parse", "--git-path", LOCK)
    with lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                "another re-measurement is at work", source=str(lock), cure="wait for its end"
            ) from None
        _refuse_dirty(folder)
        yield


def code_version() -> str:
    """Which state of this project computes: its commit, `-dirty` if that is not all; else its version."""
    try:
        commit = _git(ROOT, "rev-parse", "--short=12", "HEAD")
        return f"{commit}-dirty" if _changed_files(ROOT) else commit
    except InputError:
        return version("cachegate")


def _changed_files(folder: Path) -> list[str]:
    return _git(folder, "status", "--porcelain").splitlines()


def _refuse_dirty(folder: Path) -> None:
    if changed := _changed_files(folder):
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(
            f"the checkout is dirty: {printable(changed[0])}{more}",
            source=str(folder),
            expected="a clean tree, so that the diff is the re-measurement and nothing else",
            cure="commit or stash first",
        )


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={k: text for k, text in os.environ.items() if k not in MISLEADING},
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise InputError(f"git cannot be asked: {fault}", source=str(folder)) from None
    if done.returncode:
        raise InputError(
            f"no usable git checkout: {printable(done.stderr.strip(), 200)}",
            source=str(folder),
            expected="a table in a git checkout with a commit",
        )
    return done.stdout.rstrip("\n")
