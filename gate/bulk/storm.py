"""`cachegate storm`: as many random programs as time allows; what fails is shrunk and written at once.

Implementations are run beside the reference; the reference itself is held to every law, and the fast engines of replay/
to the reference and to what must always add up (gate/bulk/engines.py).
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from multiprocessing.pool import AsyncResult, Pool
from pathlib import Path
from random import Random

from fixtures import expert_programs, row_programs
from gate.bulk.engines import Blast, blast
from gate.bulk.sweep import Judged, available_workers, judge_slice
from gate.bulk.telling import tell_faults
from gate.connect.connecting import connect
from gate.connect.implementation import Declaration
from gate.show import Progress
from reference.expert_config import Rules
from reference.laws import EXPERT, ROW
from reference.program import Program

SLICE = 100
"""Programs a process judges before it reports."""


@dataclass(frozen=True, slots=True)
class RandomSlice:
    """The programs of so many seeds from `start` on, the families in turn."""

    connect: str
    cache: str
    rules: Rules
    start: int

    def programs(self) -> Iterator[Program]:
        """The programs of this slice."""
        expert = self.cache == EXPERT
        families = sorted(expert_programs.FAMILIES if expert else row_programs.FAMILIES)
        if expert and self.rules.failed_read == "resident":
            families.remove("failure")
        for number in range(self.start, self.start + SLICE):
            random, family = Random(number), families[number % len(families)]
            if expert:
                yield expert_programs.expert_program(random, family, self.rules)
            else:
                yield row_programs.row_program(random, family)


@dataclass(slots=True)
class Tally:
    """What one thing under test went through.

    Args:
        connect, cache, declared: what it is.
        programs: programs judged.
        told: ids of the laws whose faults were told; of each the first is.
    """

    connect: str
    cache: str
    declared: Declaration
    programs: int = 0
    told: set[str] = field(default_factory=set)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate storm`."""
    for option in ("--expert-cache", "--row-cache"):
        parser.add_argument(
            option, action="append", default=[], metavar="CONNECT", help="what is judged"
        )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument(
        "--seed", type=int, default=0, help="where the seeds begin (default 0); printed at the end"
    )
    parser.add_argument(
        "-n", dest="workers", type=int, default=available_workers(), help="processes (default all)"
    )
    parser.add_argument(
        "--counterexamples", metavar="DIR", type=Path, default=Path("counterexamples")
    )


def run(args: argparse.Namespace) -> int:
    """Judge until the time is up, or an interrupt comes; exit code 1 when something failed."""
    named = [(EXPERT, text) for text in args.expert_cache] + [(ROW, t) for t in args.row_cache]
    tallies = [_tally(*pair) for pair in named or [(EXPERT, "builtin"), (ROW, "builtin")]]
    storm = Storm(tallies, args.counterexamples, with_engines=not named)
    try:
        storm.rage(time.monotonic() + 60 * args.minutes, args.seed, args.workers)
    except KeyboardInterrupt:
        print("interrupted: this is what there is so far")
    return storm.conclude(args.seed)


def _tally(cache: str, text: str) -> Tally:
    implementation = connect(text, cache)
    implementation.close()
    return Tally(text, cache, implementation.declaration)


Unit = tuple[int, RandomSlice | None, int]
"""Whose slice it is, the slice, and where its seeds begin; no slice for the engines."""


class Storm:
    """One storm over everything under test."""

    def __init__(self, tallies: list[Tally], folder: Path, with_engines: bool) -> None:
        self.tallies = tallies
        self.folder = folder
        self.with_engines = with_engines
        self.seeds = 0
        self.blasts = Blast()

    def rage(self, deadline: float, seed: int, workers: int) -> None:
        """Judge slices until the deadline."""
        progress = Progress("programs")
        with get_context("fork").Pool(workers) as pool:
            for whose, came in _ahead(pool, self._units(deadline, seed), 3 * workers):
                progress.step(self._take(whose, came))
        progress.close()

    def _units(self, deadline: float, seed: int) -> Iterator[Unit]:
        """Slices without end, until the time is up."""
        for start in count(seed, SLICE):
            for whose, tally in enumerate(self.tallies):
                rules = tally.declared.rules
                yield whose, RandomSlice(tally.connect, tally.cache, rules, start), start
            if self.with_engines:
                yield -1, None, start
            self.seeds = start + SLICE - seed
            if time.monotonic() >= deadline:
                return

    def _take(self, whose: int, came: Judged | Blast) -> int:
        if isinstance(came, Blast):
            self.blasts.add(came)
            return came.programs
        tally = self.tallies[whose]
        tally.programs += came.programs
        if came.fault is not None and came.fault.law.id not in tally.told:
            tally.told.add(came.fault.law.id)
            tell_faults([came.fault], tally.declared, tally.connect, self.folder)
        return came.programs

    def conclude(self, seed: int) -> int:
        """Print the sums; gives the exit code."""
        for tally in self.tallies:
            broken = f"broke {', '.join(sorted(tally.told))}" if tally.told else "no faults"
            print(f"{tally.cache} {tally.connect}: {tally.programs} programs, {broken}")
        if self.with_engines:
            print(f"engines: {self.blasts.told()}")
        print(f"seeds {seed} to {seed + self.seeds}")
        return 1 if self.blasts.wrong or any(tally.told for tally in self.tallies) else 0


def _ahead(pool: Pool, units: Iterator[Unit], most: int) -> Iterator[tuple[int, Judged | Blast]]:
    """Judge units in order, never more than `most` of them waiting: so the clock decides when to end."""
    waiting: deque[AsyncResult[tuple[int, Judged | Blast]]] = deque()
    for unit in units:
        waiting.append(pool.apply_async(_judge, (unit,)))
        if len(waiting) >= most:
            yield waiting.popleft().get()
    while waiting:
        yield waiting.popleft().get()


def _judge(unit: Unit) -> tuple[int, Judged | Blast]:
    whose, part, start = unit
    return whose, blast(start) if part is None else judge_slice(part)
