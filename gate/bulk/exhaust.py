"""`cachegate exhaust`: every program of a small scope, modulo renaming (gate/bulk/small.py)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gate.bulk import small
from gate.bulk.sweep import available_workers, sweep
from gate.bulk.telling import tell_faults
from gate.connect.connecting import connect
from gate.show import Progress
from reference.expert_config import Rules
from reference.laws import EXPERT, ROW
from reference.program import Program

SLICES = 32
NOTHING_JUDGED = 3

SCOPES = {"slice": (3, (6, 2)), "whole": (5, (8, 4))}
"""Batches of the expert cache; single-row gathers and gathers of any rows of the row cache."""


@dataclass(frozen=True, slots=True)
class SmallSlice:
    """Every `SLICES`-th program of the scope, from `start` on."""

    connect: str
    cache: str
    rules: Rules
    scope: str
    start: int

    def programs(self) -> Iterable[Program]:
        """The programs of this slice."""
        return islice(scope_programs(self.cache, self.scope, self.rules), self.start, None, SLICES)


def scope_programs(cache: str, scope: str, rules: Rules) -> Iterable[Program]:
    """All longest programs of a scope."""
    batches, (singles, gathers) = SCOPES[scope]
    if cache == EXPERT:
        return small.expert_programs(batches, rules)
    return small.row_programs(singles, gathers)


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
    """Judge every program; exit code 1 when one fails."""
    named = [(EXPERT, text) for text in args.expert_cache] + [(ROW, t) for t in args.row_cache]
    failed = judged = 0
    for cache, text in named or [(EXPERT, "builtin"), (EXPERT, "builtin:exact"), (ROW, "builtin")]:
        faults, programs = exhaust(cache, text, args.scope, args.workers, args.counterexamples)
        failed += faults
        judged += programs
    if not judged:
        return NOTHING_JUDGED
    return 1 if failed else 0


def exhaust(cache: str, text: str, scope: str, workers: int, folder: Path) -> tuple[int, int]:
    """Judge one implementation; gives the number of faults told and of programs judged."""
    implementation = connect(text, cache)
    declared = implementation.declaration
    implementation.close()
    slices = [SmallSlice(text, cache, declared.rules, scope, start) for start in range(SLICES)]
    progress = Progress(f"{cache} {text}, slices", SLICES)
    programs = skipped = 0
    faults = []
    for judged in sweep(slices, workers):
        progress.step()
        programs += judged.programs
        skipped += judged.skipped
        if judged.fault is not None:
            faults.append(judged.fault)
    progress.close()
    told = tell_faults(faults, declared, text, folder)
    batches, gathers = SCOPES[scope]
    lengths = (batches,) if cache == EXPERT else gathers
    stand_for = small.covered(cache, lengths, declared.rules)
    without = f", {skipped} could not be given to it" if skipped else ""
    print(
        f"{cache} {text}: {programs} programs judged{without}, "
        f"which stand for all {stand_for} of the scope; {told or 'no'} fault{'s' * (told != 1)}"
    )
    return told, programs
