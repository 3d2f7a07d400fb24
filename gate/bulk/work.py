"""How is the judging of very many programs spread over processes, and how does it end when somebody interrupts it?

A unit of work is a value that is sent to a worker, judged there, and answered with a value. Workers do not hear ctrl-C:
the main process does, and ends them; a worker that is ended takes the drivers it started with it. SIGTERM counts as
ctrl-C. With one worker everything runs in the main process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.pool import AsyncResult, Pool
from multiprocessing.util import Finalize
from types import TracebackType
from typing import Protocol, Self, TypeVar

from gate.connect.connecting import connect
from gate.judging.judge import Fault
from gate.judging.subject import Subject

AHEAD = 3
"""Units a worker has waiting, so that it never idles and the clock is still obeyed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a unit of work.

    Args:
        programs: how many programs were judged.
        skipped: how many the implementation could not be given.
        more: of the judged ones, how many were judged in a second way: by all laws, or beside the reference.
        fault: the first fault, not shrunk; judging stops there.
        odd: what went wrong in bulk and on no program alone, in one line.
    """

    programs: int = 0
    skipped: int = 0
    more: int = 0
    fault: Fault | None = None
    odd: str = ""


class Unit(Protocol):
    """A part of the work, small enough to be sent to another process."""

    def judge(self) -> Judged:
        """Do it."""


AnyUnit = TypeVar("AnyUnit", bound=Unit)

_open: dict[tuple[str, str], Subject] = {}


def opened(connect_string: str, cache: str) -> Subject:
    """The implementation a connect string names; this process keeps it for the next unit."""
    key = connect_string, cache
    if key not in _open:
        _open[key] = Subject(connect_string, connect(*key))
    return _open[key]


def close_all() -> None:
    """End everything that is open in this process."""
    while _open:
        _open.popitem()[1].implementation.close()


def available_workers() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Processes that judge units of work."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        if self.count > 1:
            self._pool = get_context("fork").Pool(self.count, _begin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.close() if kind is None else self._pool.terminate()
            self._pool.join()
        close_all()

    def results(self, units: Iterable[AnyUnit]) -> Iterator[tuple[AnyUnit, Judged]]:
        """Judge units; gives each with its result, in their order. Few are taken ahead of time."""
        if self._pool is None:
            yield from ((unit, unit.judge()) for unit in units)
            return
        waiting: deque[tuple[AnyUnit, AsyncResult[Judged]]] = deque()
        for unit in units:
            waiting.append((unit, self._pool.apply_async(unit.judge)))
            if len(waiting) >= AHEAD * self.count:
                yield _done(*waiting.popleft())
        while waiting:
            yield _done(*waiting.popleft())


def _done(unit: AnyUnit, result: AsyncResult[Judged]) -> tuple[AnyUnit, Judged]:
    return unit, result.get()


def _begin() -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Finalize(None, close_all, exitpriority=1)


@contextmanager
def terminating_interrupts() -> Iterator[None]:
    """SIGTERM is a KeyboardInterrupt, as ctrl-C is, where signals can be handled."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
