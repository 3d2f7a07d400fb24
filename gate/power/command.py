"""`cachegate power`: every seeded bug under the gate, and what that says of the laws."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from fixtures.seeded_bugs import BUGS
from fixtures.seeded_bugs.functions import FUNCTION_BUGS
from fixtures.seeded_bugs.requirements import REQUIREMENTS
from gate.power.cases import DERANDOMIZED, programs
from gate.power.coverage import SITUATIONS, coverage
from gate.power.functions import MOST_QUESTIONS, first_caught
from gate.power.matrix import KEPT, LAWS, Matrix, matrix
from gate.power.score import Score, scores
from gate.power.summary import FAST_S, Row, Trouble, as_json, quantile, rows, times, troubles
from gate.power.views import VIEWS
from gate.show import print_table
from reference.errors import InputError
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES
from reference.laws import EXPERT, ROW

REACHED, MISSED = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate power`."""
    parser.add_argument(
        "--seeds",
        type=int,
        default=3,
        metavar="N",
        help="runs with fresh seeds beside the derandomized one (default 3)",
    )
    parser.add_argument("--level", type=int, choices=range(4), help="one observation level only")
    parser.add_argument(
        "--bug", action="append", default=[], metavar="ID", help="these bugs only (default all)"
    )
    parser.add_argument(
        "--no-matrix", action="store_true", help="do not try every law on every bug"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="also tell how often each situation is reached"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every score to a file")
    parser.add_argument(
        "-n", dest="workers", type=int, default=os.cpu_count() or 1, help="processes (default all)"
    )


def run(args: argparse.Namespace) -> int:
    """Score the bugs and print the tables."""
    bugs = args.bug or sorted(BUGS)
    unknown = [bug for bug in bugs if bug not in BUGS]
    if unknown:
        raise InputError(
            f"no seeded bug is called {unknown[0]}", source="--bug", expected="an id as in O-E01"
        )
    views = [view for view in VIEWS if args.level in (None, view.level)]
    seeds = [DERANDOMIZED, *range(args.seeds)]
    done, alarms = scores(bugs, seeds, views, args.workers)
    table = rows(done, views)
    _print_rows(table)
    spent = times(done)
    print(
        f"within {FAST_S} s CPU: {spent.fast:.1%} of the gate's runs; slowest {spent.slowest_s:.2f} s"
    )
    late = [trouble for view in views for trouble in troubles(done, view)]
    _print_troubles(late)
    _print_functions(seeds)
    laws = None if args.no_matrix else matrix(bugs, args.workers)
    if laws is not None:
        _print_matrix(laws)
    _print_requirements(bugs)
    if args.coverage:
        _print_coverage()
    tried = len(alarms) if set(bugs) == BUGS.keys() else "not looked for"
    print(f"\nfalse alarms on unmodified implementations: {tried}")
    for alarm in alarms:
        print(f"  {alarm}")
    if args.json:
        _write(args.json, done, laws)
    reached = all(row.holds for row in table) and spent.holds and not alarms
    print(f"verdict: {'targets reached' if reached else 'targets MISSED'}")
    return REACHED if reached else MISSED


def _print_rows(table: Sequence[Row]) -> None:
    titles = {view.id: view.title for view in VIEWS}
    headings = ("view", "cache", "bugs", "caught", "floor", "median", "p99", "last")
    print_table(
        (*headings, ""),
        [
            (
                *(titles[row.view], row.cache, str(row.bugs)),
                *(f"{row.caught / row.bugs:.1%}", f"{row.floor:.0%}"),
                *(str(row.median), str(row.late), str(row.last), "" if row.holds else "MISSED"),
            )
            for row in table
        ],
    )
    print(
        "caught: in every run; median, p99, last: case of the first failure; fast: within 0.1 s CPU"
    )


def _print_troubles(late: Sequence[Trouble]) -> None:
    print("\nmissed in some run, or late:" if late else "\nnothing missed, nothing late")
    for trouble in late:
        bug = BUGS[trouble.bug]
        print(
            f"  {trouble.view:5} {bug.id:7} missed {trouble.missed} of {trouble.runs}, "
            f"last {trouble.last}, {trouble.slowest_s:.2f} s: {bug.summary}"
        )


def _print_functions(seeds: Sequence[int]) -> None:
    found = [first_caught(bug, seed) for bug in FUNCTION_BUGS for seed in seeds]
    numbers = sorted(caught[0] if caught else MOST_QUESTIONS + 1 for caught in found)
    caught = sum(number <= MOST_QUESTIONS for number in numbers)
    print(
        f"\nsizing functions: {len(FUNCTION_BUGS)} bugs, caught in {caught} of {len(found)} runs, "
        f"first at question {quantile(numbers, 0.5)} in the median, {numbers[-1]} at most"
    )


def _print_matrix(laws: Matrix) -> None:
    print("\nlaws but lockstep, what each catches, and what it alone catches somewhere")
    print("(L1: seen at level 1; own: of a cache that places rows by its own hash):")
    for law in LAWS:
        caught = laws.bugs_of(law.id)
        alone = [f"{bug}@{where}" for bug, where in laws.only_catcher_of(law.id)]
        print(f"  L{law.level} {law.id}: {len(caught)}; alone {len(alone)}: {' '.join(alone)}")
    print("\nbugs and the laws that catch them:")
    for bug, caught_by in sorted(laws.catches.items()):
        print(f"  {bug}: {' '.join(sorted(caught_by[False])) or '-'}")
    never = [law.id for law in LAWS if not laws.only_catcher_of(law.id)]
    print("\nnever the only catcher:" if never else "\nnone is never the only catcher")
    for law_id in never:
        print(f"  {law_id}: {KEPT.get(law_id, 'of none of these bugs')}")


def _print_coverage() -> None:
    for cache, rules in ((EXPERT, PROPOSAL_RULES), (EXPERT, EXACT_BYTES), (ROW, PROPOSAL_RULES)):
        drawn = [program for _, program in programs(cache, rules, DERANDOMIZED)]
        under = f", budget in {rules.budget}," if cache == EXPERT else ""
        print(f"\nsituations of the {cache}{under} in {len(drawn)} programs of the gate's run:")
        print_table(
            ("programs", "times", "situation"),
            [
                (str(reached.programs), str(reached.times), SITUATIONS[cache][reached.name])
                for reached in coverage(cache, drawn)
            ],
        )


def _print_requirements(bugs: Sequence[str]) -> None:
    broken = {BUGS[bug].requirement for bug in bugs} | {bug.requirement for bug in FUNCTION_BUGS}
    without = [name for name in REQUIREMENTS if name not in broken]
    print(f"requirements with no bug: {' '.join(without) or 'none'}")


def _write(target: Path, done: Sequence[Score], laws: Matrix | None) -> None:
    plain = {"scores": as_json(done)}
    if laws is not None:
        plain["matrix"] = [
            {"bug": bug, "laws": sorted(caught_by[False])}
            for bug, caught_by in laws.catches.items()
        ]
    target.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
