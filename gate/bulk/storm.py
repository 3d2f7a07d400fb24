"""`cachegate storm`: as many random programs as time allows; what fails is written at once, shrunk and told.

One by one: programs of the families that the laws are tried on, an implementation beside the reference
(gate/bulk/lockstep.py). In bulk: small programs made by numpy, judged when they are over (gate/bulk/bulk.py). With
nothing connected, the reference is held to all laws and the fast engines of replay/ are judged in bulk.
"""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from gate.bulk.bulk import BulkPrograms
from gate.bulk.faults import Found, Smaller
from gate.bulk.lockstep import RandomPrograms, is_reference
from gate.bulk.work import Judged, Workers, available_workers, terminating_interrupts
from gate.connect.connecting import connect
from gate.connect.implementation import Declaration
from gate.show import Progress
from reference.laws import EXPERT, ROW

FAILED, NOTHING_JUDGED = 1, 3

SLICE = 100
"""Programs judged one by one before a worker reports, and how far seeds go up a round."""

BULK, BULK_OF_ENGINES = 2000, 20_000
"""Programs of one bulk: of an implementation, and of the engines alone. Each takes about as long as a slice."""


@dataclass(slots=True)
class Quota:
    """How many programs are still to be taken; None is no limit."""

    left: int | None

    def take(self, most: int, among: int) -> int:
        """At most so many, and of what is left the share of one among so many."""
        if self.left is None:
            return most
        taken = min(most, -(-self.left // among))
        self.left -= taken
        return taken


@dataclass(slots=True)
class Tally:
    """What one thing under test went through.

    Args:
        connect, cache, declared: what it is.
        found: its faults.
        alone, bulk: programs judged one by one, and in bulk.
        beside: of those in bulk, how many were given to the reference as well.
        skipped: programs it could not be given.
        odd: how often something went wrong in bulk alone.
    """

    connect: str
    cache: str
    declared: Declaration
    found: Found
    alone: int = 0
    bulk: int = 0
    beside: int = 0
    skipped: int = 0
    odd: int = 0

    def add(self, judged: Judged, in_bulk: bool) -> None:
        """Take what a unit came to."""
        self.skipped += judged.skipped
        if in_bulk:
            self.bulk += judged.programs
            self.beside += judged.more
        else:
            self.alone += judged.programs
        if judged.odd:
            self.odd += 1
            print(f"FAIL {self.cache} {self.connect}: {judged.odd}", flush=True)

    def told(self) -> str:
        """One line."""
        by_laws = "by all laws" if is_reference(self.connect) else "in lockstep"
        of_engines = (
            f" for the engines, {self.beside} of them beside the reference"
            if is_reference(self.connect)
            else ""
        )
        skipped = f", {self.skipped} could not be given to it" if self.skipped else ""
        broken = ", ".join(sorted(self.found.laws))
        return (
            f"{self.cache} {self.connect}: {self.alone} programs {by_laws}, "
            f"{self.bulk} in bulk{of_engines}{skipped}; {'broke ' + broken if broken else 'no faults'}"
        )


Unit = RandomPrograms | BulkPrograms | Smaller


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate storm`."""
    for option in ("--expert-cache", "--row-cache"):
        parser.add_argument(
            option, action="append", default=[], metavar="CONNECT", help="what is judged"
        )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long at most (default 1)")
    parser.add_argument(
        "--lockstep", type=int, metavar="N", help="end after N programs one by one, and --bulk"
    )
    parser.add_argument(
        "--bulk", type=int, metavar="N", help="end after N programs in bulk, and --lockstep"
    )
    parser.add_argument(
        "--seed", type=int, help="where seeds begin (default: a fresh one); printed at the end"
    )
    parser.add_argument(
        "-n", dest="workers", type=int, default=available_workers(), help="processes (default all)"
    )
    parser.add_argument(
        "--counterexamples", metavar="DIR", type=Path, default=Path("counterexamples")
    )


def run(args: argparse.Namespace) -> int:
    """Judge until the time is up, there were enough, or an interrupt comes; exit code 1 when something failed."""
    named = [(EXPERT, text) for text in args.expert_cache] + [(ROW, t) for t in args.row_cache]
    pairs = named or [(EXPERT, "builtin"), (ROW, "builtin")]
    tallies = [_tally(*pair, args.counterexamples) for pair in pairs]
    seed = secrets.randbits(32) if args.seed is None else args.seed
    storm = Storm(tallies, seed, *_quotas(args))
    try:
        with terminating_interrupts(), Workers(args.workers) as workers:
            storm.rage(workers, time.monotonic() + 60 * args.minutes)
    except KeyboardInterrupt:
        print("interrupted: this is what there is so far")
    return storm.conclude()


def _tally(cache: str, text: str, folder: Path) -> Tally:
    implementation = connect(text, cache)
    implementation.close()
    declared = implementation.declaration
    return Tally(text, cache, declared, Found(text, cache, declared, folder))


def _quotas(args: argparse.Namespace) -> tuple[Quota, Quota]:
    """Of one by one and of bulk: without any number the clock alone counts; one alone leaves nothing of the other."""
    if args.lockstep is None and args.bulk is None:
        return Quota(None), Quota(None)
    return Quota(args.lockstep or 0), Quota(args.bulk or 0)


class Storm:
    """One storm over everything under test.

    Args:
        tallies: of each thing under test.
        seed: where the seeds begin.
        alone, bulk: how many programs to take one by one and in bulk, over all that is under test.
    """

    def __init__(self, tallies: Sequence[Tally], seed: int, alone: Quota, bulk: Quota) -> None:
        self.tallies = {(tally.connect, tally.cache): tally for tally in tallies}
        self.first_seed = self.next_seed = seed
        self.alone, self.bulk = alone, bulk
        totals = None if alone.left is None or bulk.left is None else alone.left + bulk.left
        self._progress = Progress("programs", totals)
        self._to_shrink: list[Smaller] = []

    def rage(self, workers: Workers, deadline: float) -> None:
        """Judge until the deadline, or until there were enough; then shrink what is left to be shrunk."""
        try:
            for unit, judged in workers.results(self._units(deadline)):
                self._take(unit, judged)
                self._progress.step(judged.programs)
            while self._to_shrink:
                for unit, judged in workers.results(self._shrinks()):
                    self._take(unit, judged)
        finally:
            self._progress.close()

    def _units(self, deadline: float) -> Iterator[Unit]:
        """Rounds over all that is under test; one at least."""
        for seed in count(self.first_seed, SLICE):
            for among, tally in zip(
                range(len(self.tallies), 0, -1), self.tallies.values(), strict=True
            ):
                yield from self._shrinks()
                yield from self._of_one(tally, seed, among)
            self.next_seed = seed + SLICE
            if time.monotonic() >= deadline or self.alone.left == self.bulk.left == 0:
                return

    def _of_one(self, tally: Tally, seed: int, among: int) -> Iterator[Unit]:
        of = (tally.connect, tally.cache, tally.declared.rules, seed)
        if taken := self.alone.take(SLICE, among):
            yield RandomPrograms(*of, taken)
        most = BULK_OF_ENGINES if is_reference(tally.connect) else BULK
        if taken := self.bulk.take(most, among):
            yield BulkPrograms(*of, taken)

    def _shrinks(self) -> Iterator[Smaller]:
        while self._to_shrink:
            yield self._to_shrink.pop()

    def _take(self, unit: Unit, judged: Judged) -> None:
        tally = self.tallies[unit.connect, unit.cache]
        if judged.odd or isinstance(unit, Smaller):
            self._progress.close()  # its line makes room for what is told
        if isinstance(unit, Smaller):
            assert judged.fault is not None
            tally.found.tell(judged.fault)
            return
        tally.add(judged, in_bulk=isinstance(unit, BulkPrograms))
        work = tally.found.meet(judged.fault) if judged.fault is not None else None
        if work is not None:
            self._to_shrink.append(work)

    def conclude(self) -> int:
        """Tell what was not told yet, and the sums; gives the exit code."""
        for tally in self.tallies.values():
            tally.found.tell_untold()
        for tally in self.tallies.values():
            print(tally.told())
        print(f"seeds {self.first_seed} to {self.next_seed}")
        if any(tally.found.laws or tally.odd for tally in self.tallies.values()):
            return FAILED
        judged = sum(tally.alone + tally.bulk for tally in self.tallies.values())
        return 0 if judged else NOTHING_JUDGED
