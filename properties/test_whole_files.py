"""Are golden tables written whole or not at all, all of one run or none, with one line for each changed cell?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.golden.whole_files import replace_files
from reference.errors import InputError

OLD, NEW = "old\n", "new\n"


@pytest.fixture
def targets(tmp_path: Path) -> list[Path]:
    """Three files of one writing."""
    paths = [tmp_path / name for name in ("a.toml", "b.toml", "c.toml")]
    for path in paths:
        path.write_text(OLD, encoding="utf-8")
    return paths


def texts(paths: list[Path]) -> list[str]:
    """What the files hold; and nothing else may lie beside them."""
    assert sorted(paths[0].parent.iterdir()) == paths
    return [path.read_text(encoding="utf-8") for path in paths]


def on_rename(number: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something just before the rename of that number, from 1."""
    renames = iter(range(1, 100))
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        if next(renames) == number:
            act()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)


def fail() -> None:
    """A disk that refuses."""
    raise OSError(28, "No space left on device", "b.toml")


def test_all_files_are_replaced_with_their_permissions(targets: list[Path]) -> None:
    """The new text is there, a new file is made, and a mode is kept."""
    targets[1].chmod(0o640)
    targets[2].unlink()
    replace_files(dict.fromkeys(targets, NEW))
    assert texts(targets) == [NEW] * 3
    assert [path.stat().st_mode & 0o777 for path in targets] == [0o644, 0o640, 0o644]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_rename_that_fails_leaves_all_as_they_were(
    number: int, targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of three fails: no file has changed, and nothing is left beside them."""
    on_rename(number, fail, monkeypatch)
    with pytest.raises(InputError, match="No space left"):
        replace_files(dict.fromkeys(targets, NEW))
    assert texts(targets) == [OLD] * 3


def test_a_staged_file_that_is_wrong_stops_all(targets: list[Path]) -> None:
    """The last one fails its verification: no file has changed."""

    def verify(staged: Path, target: Path) -> None:
        assert staged.read_text(encoding="utf-8") == NEW
        if target == targets[-1]:
            raise InputError("wrong")

    with pytest.raises(InputError, match="wrong"):
        replace_files(dict.fromkeys(targets, NEW), verify)
    assert texts(targets) == [OLD] * 3


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_interrupt_waits_until_all_are_written(
    number: int, targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between two renames ends the command, but only when all files are new."""
    on_rename(number, lambda: os.kill(os.getpid(), signal.SIGINT), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        replace_files(dict.fromkeys(targets, NEW))
    assert texts(targets) == [NEW] * 3


WRITER = """
import sys
from pathlib import Path
from gate.golden.whole_files import replace_files
targets = [Path(name) for name in sys.argv[1:]]
print("ready", flush=True)
for number in range(100_000):
    replace_files(dict.fromkeys(targets, f"{number}\\n" * 20_000))
"""


@pytest.mark.usefixtures("more_than_quick")
def test_a_killed_writer_leaves_whole_files(targets: list[Path]) -> None:
    """Killed outright at ten arbitrary moments: each file holds one text, of its full length."""
    for turn in range(10):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, *map(str, targets)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.01 + 0.007 * turn)
        writer.kill()
        writer.communicate()
        for path in targets:
            lines = path.read_text(encoding="utf-8").splitlines()
            assert len(set(lines)) == 1
            assert len(lines) in (1, 20_000)
