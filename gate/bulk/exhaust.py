"""`cachegate exhaust`: every program of a small scope, modulo renaming (gate/bulk/small.py).

An implementation is run in lockstep with the reference; the reference in lockstep with the fast engine of replay/, and
every tenth program is held to all laws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gate.bulk import small
from gate.bulk.bulk import fault_of, unlike_the_reference
from gate.bulk.faults import Found, Smaller, plain
from gate.bulk.lockstep import is_reference, judge_programs
from gate.bulk.work import Judged, Workers, available_workers, opened, terminating_interrupts
from gate.connect.connecting import connect
from gate.judging.judge import Fault
from gate.show import Progress
from reference.expert_config import ExpertConfig, Rules
from reference.laws import EXPERT, ROW
from reference.program import Program

FAILED, NOTHING_JUDGED = 1, 3
SLICES = 64
LAWS_SHARE = 10
"""Of the reference's programs, every so manieth is held to all laws."""

SCOPES = {"slice": (3, (5, 2)), "whole": (5, (8, 4))}
"""Batches of the expert cache; single-row gathers and gathers of any rows of the row cache."""

GEOMETRY = ("sets", "ways", "candidate_sets", "admission", "hash_seed")
"""Settings of a row cache without which a program is another one."""


@dataclass(frozen=True, slots=True)
class SmallSlice:
    """The programs of every `SLICES`-th sequence of the scope, from `start` on."""

    connect: str
    cache: str
    rules: Rules
    scope: str
    start: int

    def judge(self) -> Judged:
        """Judge them as far as the first fault."""
        subject = opened(self.connect, self.cache)
        if not is_reference(self.connect):
            known = subject.declared.places_are_known
            return judge_programs(
                subject, self.programs(), lambda one, fitted: _is_same(one, fitted, known)
            )
        programs = list(self.programs())
        wrong = unlike_the_reference(programs, engines=1)
        fault = None if wrong is None else fault_of(wrong, None)
        by_laws = judge_programs(subject, programs[self.start % LAWS_SHARE :: LAWS_SHARE])
        found = fault and plain(fault)
        return Judged(len(programs), more=by_laws.programs, fault=found or by_laws.fault)

    def programs(self) -> Iterator[Program]:
        """The programs of this slice."""
        batches, gathers = SCOPES[self.scope]
        part = (self.start, None, SLICES)
        if self.cache == EXPERT:
            for batch_sequence in islice(small.batch_sequences(batches), *part):
                yield from small.expert_programs(batch_sequence, self.rules)
        else:
            for gather_sequence in islice(small.gather_sequences(*gathers), *part):
                yield from small.row_programs(gather_sequence)


def _is_same(program: Program, fitted: Program, places_are_known: bool) -> bool:
    """Is a fitted program still the one of the scope?"""
    one, other = program.config, fitted.config
    if isinstance(one, ExpertConfig):
        return True
    assert not isinstance(other, ExpertConfig)
    alike = all(getattr(one, name) == getattr(other, name) for name in GEOMETRY)
    return alike and (places_are_known or one.sets == (1,))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate exhaust`."""
    for option in ("--expert-cache", "--row-cache"):
        parser.add_argument(
            option, action="append", default=[], metavar="CONNECT", help="what is judged"
        )
    parser.add_argument(
        "--scope", choices=SCOPES, default="slice", help="how much (default slice; nightly whole)"
    )
    parser.add_argument(
        "-n", dest="workers", type=int, default=available_workers(), help="processes (default all)"
    )
    parser.add_argument(
        "--counterexamples", metavar="DIR", type=Path, default=Path("counterexamples")
    )


def run(args: argparse.Namespace) -> int:
    """Judge every program; exit code 1 when one fails. An interrupt ends it without a verdict."""
    named = [(EXPERT, text) for text in args.expert_cache] + [(ROW, t) for t in args.row_cache]
    pairs = named or [(EXPERT, "builtin"), (EXPERT, "builtin:exact"), (ROW, "builtin")]
    scopes = [Scope(*pair, args.scope, args.counterexamples) for pair in pairs]
    try:
        with terminating_interrupts(), Workers(args.workers) as workers:
            for scope in scopes:
                scope.exhaust(workers)
                print(scope.told(), flush=True)
    except KeyboardInterrupt:
        for scope in scopes:
            scope.found.tell_untold()
        raise
    if not any(scope.programs for scope in scopes):
        return NOTHING_JUDGED
    return FAILED if any(scope.found.laws for scope in scopes) else 0


class Scope:
    """All programs of a scope on one implementation."""

    def __init__(self, cache: str, text: str, scope: str, folder: Path) -> None:
        implementation = connect(text, cache)
        implementation.close()
        declared = implementation.declaration
        self.cache, self.connect = cache, text
        self.found = Found(text, cache, declared, folder)
        self.programs = self.skipped = self.by_laws = 0
        self._slices = [
            SmallSlice(text, cache, declared.rules, scope, start) for start in range(SLICES)
        ]

    def exhaust(self, workers: Workers) -> None:
        """Judge them all; of each law the first fault is shrunk and told."""
        progress = Progress(f"{self.cache} {self.connect}, slices", SLICES)
        to_shrink: list[Smaller] = []
        try:
            for _, judged in workers.results(self._slices):
                progress.step()
                self.programs += judged.programs
                self.skipped += judged.skipped
                self.by_laws += judged.more
                to_shrink += self._met(judged.fault)
            progress.close()  # its line makes room for what is told
            for _, judged in workers.results(to_shrink):
                assert judged.fault is not None
                self.found.tell(judged.fault)
        finally:
            progress.close()

    def _met(self, fault: Fault | None) -> list[Smaller]:
        work = self.found.meet(fault) if fault is not None else None
        return [] if work is None else [work]

    def told(self) -> str:
        """One line."""
        beside = (
            f"{self.programs} programs beside the fast engine, {self.by_laws} of them by all laws"
            if is_reference(self.connect)
            else f"{self.programs} programs in lockstep"
        )
        broken = ", ".join(sorted(self.found.laws))
        end = (
            "a slice ends at its first fault: not all were judged" if broken else "all of the scope"
        )
        if self.skipped and not broken:
            end = f"all of the scope but {self.skipped} that could not be given to it"
        return f"{self.cache} {self.connect}: {beside}, {end}; {'broke ' + broken if broken else 'no faults'}"
