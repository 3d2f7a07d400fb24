"""What does the gate catch of the bugs in the example drivers? They are built and judged as any driver is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from fixtures.seeded_bugs.drivers import DRIVER_BUGS
from fixtures.seeded_bugs.drivers.registry import DriverBug
from gate.connect.connecting import connect
from gate.connect.implementation import HANG
from gate.judging.subject import Subject
from gate.power.cases import MOST_CASES, cases
from gate.power.score import Caught
from gate.power.summary import quantile
from gate.show import Progress, print_table

DEADLINE_S = 20
"""Seconds a driver may take for an answer: a bug that makes it hang is not caught by that."""

SLOWEST_S = 5.0
"""Target: CPU-seconds of the gate until a bug is caught, building it aside."""


@dataclass(frozen=True, slots=True)
class DriverScore:
    """One bug in some runs.

    Args:
        bug: its id.
        runs: what was caught first in each; None where nothing was.
    """

    bug: str
    runs: tuple[Caught | None, ...]


def driver_score(bug: DriverBug, seeds: Sequence[int], folder: Path) -> DriverScore:
    """Build a driver with a bug into `folder` and judge it in each run.

    Raises:
        fixtures.example_drivers.NoCompiler: the language's compiler is not here.
    """
    text = f"cmd+deadline={DEADLINE_S}:{bug.build(folder)}"
    subject = Subject(text, connect(text, bug.cache))
    try:
        return DriverScore(bug.id, tuple(_first_caught(subject, bug, seed) for seed in seeds))
    finally:
        subject.implementation.close()


def _first_caught(subject: Subject, bug: DriverBug, seed: int) -> Caught | None:
    judge, start = subject.judge(), time.process_time()
    for number, case in enumerate(cases(bug.cache, subject.declared.rules, seed), 1):
        program = subject.fitted(case.program)
        fault = judge.judge(program) if program is not None else None
        if fault is not None and fault.verdict != HANG:
            return Caught(fault.law.id, number, case.family, time.process_time() - start)
    return None


def print_drivers(seeds: Sequence[int], workers: int) -> bool:
    """Score every bug of a driver, print a row a language and cache, and those that were missed or slow; were none?"""
    done = list(_scores(seeds, workers))
    rows, wrong = [], []
    for language, kind in sorted({(bug.language, bug.kind) for bug in DRIVER_BUGS.values()}):
        mine = [score for score in done if _is_of(score.bug, language, kind)]
        found = [caught for score in mine for caught in score.runs]
        numbers = sorted(caught.case if caught else MOST_CASES + 1 for caught in found)
        slowest_s = max((caught.cpu_s for caught in found if caught), default=0.0)
        always = sum(None not in score.runs for score in mine)
        rows.append(
            (
                *(language, kind, str(len(mine)), f"{always / len(mine):.1%}"),
                *(str(quantile(numbers, 0.5)), str(numbers[-1]), f"{slowest_s:.2f}"),
            )
        )
        wrong += [score.bug for score in mine if None in score.runs]
        wrong += [s.bug for s in mine if any(c and c.cpu_s > SLOWEST_S for c in s.runs)]
    print("\nbugs of the example drivers:")
    print_table(("language", "cache", "bugs", "caught", "median", "last", "slowest CPU s"), rows)
    for bug in dict.fromkeys(wrong):
        print(f"  missed or slow: {bug}: {DRIVER_BUGS[bug].summary}")
    return not wrong


def _is_of(bug_id: str, language: str, kind: str) -> bool:
    bug = DRIVER_BUGS[bug_id]
    return (bug.language, bug.kind) == (language, kind)


def _scores(seeds: Sequence[int], workers: int) -> Iterator[DriverScore]:
    progress = Progress("driver bugs tried", len(DRIVER_BUGS))
    units = [(bug, tuple(seeds)) for bug in sorted(DRIVER_BUGS)]
    with get_context("fork").Pool(workers) as pool:
        for score in pool.imap(_scored, units):
            progress.step()
            yield score
    progress.close()


def _scored(unit: tuple[str, tuple[int, ...]]) -> DriverScore:
    bug, seeds = unit
    with TemporaryDirectory() as folder:
        return driver_score(DRIVER_BUGS[bug], seeds, Path(folder))
