"""How are very many programs judged? In slices over processes, each with its own implementation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Protocol

from gate.connect.connecting import connect
from gate.judging.judge import Fault, Judge
from gate.judging.subject import Subject
from gate.power.views import LOCKSTEP
from reference.laws import Law
from reference.program import Program


class Slice(Protocol):
    """A part of the programs to judge, small enough to be sent to another process."""

    @property
    def connect(self) -> str:
        """The connect string of what is judged."""

    @property
    def cache(self) -> str:
        """Its kind of cache."""

    def programs(self) -> Iterable[Program]:
        """The programs of this slice."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a slice.

    Args:
        programs: how many programs were judged.
        skipped: how many the implementation could not be given.
        fault: the first fault, shrunk; judging stops there.
    """

    programs: int
    skipped: int
    fault: Fault | None


def judge_slice(part: Slice) -> Judged:
    """Judge a slice: the reference by all laws, everything else beside the reference."""
    subject = Subject(part.connect, connect(part.connect, part.cache))
    judged = skipped = 0
    try:
        judge = Judge(subject.implementation, _laws(subject))
        for program in part.programs():
            fitted = subject.fitted(program)
            if fitted is None:
                skipped += 1
                continue
            judged += 1
            fault = judge.judge(fitted)
            if fault is not None:
                return Judged(judged, skipped, _plain(subject.smallest(judge, fault)))
        return Judged(judged, skipped, None)
    finally:
        subject.implementation.close()


def _laws(subject: Subject) -> list[Law]:
    laws = list(subject.judge().laws)
    beside = [law for law in laws if law.id in LOCKSTEP]
    return laws if subject.connect.startswith("builtin") or not beside else beside


def _plain(fault: Fault) -> Fault:
    """The fault without the function in its law, which cannot be sent to another process."""
    law = fault.law
    return Fault(
        Law(law.id, law.sentence, law.cache, law.level, _no_findings, law.needs),
        fault.verdict,
        fault.program,
        fault.broken,
    )


def _no_findings(case: object) -> tuple[()]:
    return ()


def sweep(slices: Iterable[Slice], workers: int) -> Iterator[Judged]:
    """Judge slices, as many at once as there are workers."""
    if workers < 2:
        yield from map(judge_slice, slices)
        return
    with get_context("fork").Pool(workers) as pool:
        yield from pool.imap_unordered(judge_slice, slices)


def available_workers() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
