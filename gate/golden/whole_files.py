"""How are files replaced so that an interruption leaves each whole, and several either all old or all new?

Everything is written beside its target first. Only then are the new files renamed over the old ones, with
the signals that end a process held back; if a rename fails, those before it are undone. A process that is
killed outright between two renames leaves whole files, old and new: `git checkout` gives the old ones back.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from reference.errors import InputError

HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Verify = Callable[[Path, Path], None]
"""Staged file and its target; raises if the staged file must not replace the target."""


def replace_files(texts: Mapping[Path, str], verify: Verify = lambda staged, target: None) -> None:
    """Give each file its new text, or leave all as they are.

    Args:
        texts: target to text; a target that does not exist is made.
        verify: sees every staged file before any target changes.

    Raises:
        InputError: a file cannot be written. What `verify` raises passes through.
    """
    staged: dict[Path, Path] = {}
    try:
        for target, text in texts.items():
            staged[target] = _stage(target, text.encode())
            verify(staged[target], target)
        _rename_all(staged)
    except OSError as fault:
        raise InputError(
            f"cannot be written: {fault.strerror}", source=str(fault.filename)
        ) from None
    finally:
        for left in staged.values():
            left.unlink(missing_ok=True)


def _stage(target: Path, data: bytes) -> Path:
    """A file beside `target` with these bytes, on the disk, with the target's permissions."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".new-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    staged = Path(name)
    staged.chmod(mode)
    return staged


def _rename_all(staged: Mapping[Path, Path]) -> None:
    old = {target: target.read_bytes() if target.exists() else None for target in staged}
    with _signals_held_back():
        renamed: list[Path] = []
        try:
            for target, new in staged.items():
                new.replace(target)
                renamed.append(target)
        except BaseException:
            for target in renamed:
                _put_back(target, old[target])
            raise


def _put_back(target: Path, data: bytes | None) -> None:
    with suppress(OSError):
        if data is None:
            target.unlink()
        else:
            _stage(target, data).replace(target)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Signals that come meanwhile are raised at the end. Only the main thread is ever interrupted by one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in HELD_BACK}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for arrived in came:
            signal.raise_signal(arrived)
