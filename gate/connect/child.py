"""How is a driver's process started, talked to and ended? Nothing here knows what is said.

Both directions are served in one loop, so messages of any size pass without a deadlock: while the driver does not read,
what it says is taken, and the other way round. What it writes to stderr is read along and its end is kept. A child has
a session of its own: ctrl-C reaches the gate alone, which ends the child with all it started.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType

from gate.connect.implementation import CRASH, GARBAGE, HANG, Failure
from reference.errors import InputError, printable

CHUNK_BYTES = 1 << 16
STDERR_KEPT_BYTES = 2000
MOST_LAST_WORDS = 64
"""Chunks of stderr that are still read once it has ended."""

GRACE_S = 1.0
"""How long a child may take to end by itself, once it was told to or has closed a pipe."""

_living: set[Child] = set()


class Child:
    """One running driver.

    Args:
        arguments: program and arguments, as the shell would split them.
        source: how the user named it.

    Raises:
        InputError: it cannot be started.
    """

    def __init__(self, arguments: Sequence[str], source: str) -> None:
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be started: {getattr(error, 'strerror', None) or error}",
                source=source,
                expected="a program that can be executed, by its path or on PATH",
                cure="build the driver first; ./NAME is looked up in the folder you are in",
            ) from None
        self._stdin, self._stdout, self._stderr = (
            pipe.fileno()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
            if pipe is not None
        )
        self._said = b""
        self._sending = False
        self._owner = os.getpid()
        self._pipes = select.poll()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)
        self._pipes.register(self._stdout, select.POLLIN)
        self._pipes.register(self._stderr, select.POLLIN)
        _living.add(self)
        _guard()

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The last lines it wrote there, as one line."""
        text = self._said.decode("utf-8", "replace")
        return " | ".join(line.strip() for line in text.splitlines() if line.strip())

    def exchange(self, message: bytes, take: Callable[[bytes], bool], deadline_s: float) -> None:
        """Send a message, and hand what comes back to `take` until it says that this was all.

        Raises:
            Failure: the child ended (crash), is too slow (hang), or closed a pipe (garbage).
        """
        until = time.monotonic() + deadline_s
        unsent = self._send(memoryview(message))
        finished = False
        while not finished or unsent:
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise Failure(HANG, f"nothing within {deadline_s:g} s")
            for pipe, _ in self._pipes.poll(left_s * 1000):
                if pipe == self._stdout:
                    finished = take(self._received())
                elif pipe == self._stderr:
                    self._listen()
                else:
                    unsent = self._send(unsent)

    def unasked(self, wait_s: float = 0.0) -> Failure | None:
        """What it did without being asked, now or within a time: it said something, or it ended."""
        until = time.monotonic() + wait_s
        while pipes := self._pipes.poll(max(0.0, until - time.monotonic()) * 1000):
            if self._stdout in (pipe for pipe, _ in pipes):
                try:
                    said = printable(self._received()[:80].decode("latin-1"))
                    return Failure(GARBAGE, f"goes on: '{said}'")
                except Failure as failure:
                    return failure
            self._listen()
        return None

    def _send(self, unsent: memoryview) -> memoryview:
        """Write what the pipe takes now; gives what is left, and watches for room while there is any."""
        try:
            unsent = unsent[os.write(self._stdin, unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            raise self._closed("stdin") from None
        if bool(unsent) != self._sending:
            self._sending = bool(unsent)
            if self._sending:
                self._pipes.register(self._stdin, select.POLLOUT)
            else:
                self._pipes.unregister(self._stdin)
        return unsent

    def _received(self) -> bytes:
        data = os.read(self._stdout, CHUNK_BYTES)
        if not data:
            raise self._closed("stdout")
        return data

    def _listen(self) -> bool:
        """Take what came on stderr; False once it is closed or empty."""
        try:
            data = os.read(self._stderr, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._pipes.unregister(self._stderr)
            return False
        self._said = (self._said + data)[-STDERR_KEPT_BYTES:]
        return True

    def _closed(self, what: str) -> Failure:
        """The verdict on a child that closed one of its pipes: it has ended, or it has not."""
        try:
            code = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return Failure(GARBAGE, f"closed its {what} and runs on")
        if code < 0:
            return Failure(CRASH, f"ended by signal {_signal_name(-code)}")
        return Failure(CRASH, f"exited with code {code}")

    def end(self, farewell: bytes = b"") -> None:
        """End the child with everything it started; with a farewell, let it go by itself first.

        Its last words on stderr are still taken.
        """
        if self._process.stdin is None or self._process.stdin.closed or self._owner != os.getpid():
            return
        if farewell:
            self._part(farewell)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._pipes.register(self._stderr)
        for _ in range(MOST_LAST_WORDS):
            if not self._listen():
                break
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        _living.discard(self)

    def _part(self, farewell: bytes) -> None:
        with suppress(OSError, subprocess.TimeoutExpired):
            os.write(self._stdin, farewell)
            self._process.wait(GRACE_S)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


@atexit.register
def _end_all() -> None:
    """No child outlives the gate."""
    for child in list(_living):
        child.end()


def _end_all_and_die(number: int, frame: FrameType | None) -> None:
    """What a signal does that would end the gate without its exit handlers."""
    _end_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _guard() -> None:
    """Have the children ended on the signals that nobody else handles."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _end_all_and_die)
