"""`cachegate smoke CONNECT`: does a new adapter work? Goes up rung by rung and names the first thing that is wrong.

Every rung is a tiny program (gate/bringup/ladder.py), compared with the reference at the level the driver declares, and
with the form of every answer checked. It takes seconds; the gate itself is `cachegate check`.
"""

from __future__ import annotations

import argparse
import shlex

from gate.bringup.cures import RESULTS, cure_of_difference, cure_of_failure
from gate.bringup.ladder import Rung, ladder
from gate.connect.connecting import connect
from gate.connect.fitting import fit
from gate.connect.implementation import HANG, Declaration, Failure, Implementation
from gate.connect.offers import offers_of
from gate.show import print_table
from reference.errors import InputError, printable
from reference.laws import EXPERT, ROW, Broken, missing
from reference.lockstep import differences
from reference.program import Outcome, Program
from reference.program_header import RULE_KEYS
from reference.program_text import format_operation, format_program

PASSED, FAILED = 0, 1
DEADLINE_S = 3
MOST_LINES_BY_HAND = 12
MAX_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate smoke`."""
    parser.add_argument("connect", metavar="CONNECT", help="cmd:COMMAND or python:MODULE:CLASS")


def run(args: argparse.Namespace) -> int:
    """Climb the ladder; 0 when every rung held, 1 at a fault, 2 where nothing could be started."""
    implementation = connect(_with_checks(args.connect), "")
    try:
        _introduce(implementation.declaration)
        return _climb(implementation, args.connect)
    finally:
        implementation.close()


def _with_checks(text: str) -> str:
    """The connect string with strict checks and a short deadline, unless it gives one itself."""
    kind, colon, rest = text.partition(":")
    way = kind.split("+")[0]
    if not (colon and rest and way in ("cmd", "python")):
        raise InputError(
            "only a driver or an object is brought up",
            source=text,
            expected="cmd:COMMAND or python:MODULE:CLASS",
        )
    if way == "cmd" and "strict" not in kind:
        kind += "+strict"
    if "deadline" not in kind:
        kind += f"+deadline={DEADLINE_S}"
    return kind + colon + rest


def _introduce(declared: Declaration) -> None:
    """What the driver says of itself."""
    lines = [f"{declared.name} {declared.version}: {declared.cache}, level {declared.level}"]
    if declared.cache == EXPERT:
        rules = [f"{key}={getattr(declared.rules, name)}" for key, name in RULE_KEYS.items()]
        lines.append(f"rules         {' '.join(rules)}")
    elif declared.cache == ROW and declared.row_settings:
        settings = [f"{key}={value}" for key, value in declared.row_settings.items()]
        lines.append(f"settings      {' '.join(settings)}")
    lines.append(f"capabilities  {' '.join(sorted(declared.capabilities)) or 'none'}")
    print("\n".join(lines), end="\n\n")


def _climb(implementation: Implementation, named: str) -> int:
    """Every rung, and the first fault in full."""
    rows: list[tuple[str, str, str]] = []
    first: list[str] = []
    hung = False
    for number, rung in enumerate(ladder(implementation.declaration.cache), 1):
        verdict, fault = climb(implementation, rung, named, reached=not hung)
        hung |= verdict == HANG
        rows.append((str(number), rung.title, verdict))
        first = first or ([f"first thing wrong: rung {number}, {rung.title}", *fault] * bool(fault))
    print_table(("", "the driver …", ""), rows)
    print("\n" + ("\n".join(first) if first else _all_held(rows)))
    return FAILED if first else PASSED


def _all_held(rows: list[tuple[str, str, str]]) -> str:
    """What is said when nothing is wrong; a rung that was skipped holds nothing."""
    skipped = sum(verdict.startswith("skip") for *_, verdict in rows)
    but = f" but {skipped} that were skipped" if skipped else ""
    return f"every rung holds{but}; next: cachegate check"


def climb(
    implementation: Implementation, rung: Rung, named: str = "", *, reached: bool = True
) -> tuple[str, list[str]]:
    """A rung's verdict, and what is wrong in full; a rung that is not reached is not tried."""
    if unseen := missing(rung.needs, offers_of(implementation.declaration)):
        return f"skip: {unseen}", []
    return _try(implementation, rung, named) if reached else ("not reached", [])


def _try(implementation: Implementation, rung: Rung, named: str) -> tuple[str, list[str]]:
    program = fit(rung.program, implementation.declaration)
    try:
        outcome = implementation.run(program)
        again = implementation.run(program)
    except Failure as failure:
        fault = [
            "  expected: an answer to the opening and to every operation",
            f"  got:      {failure}",
            f"  cure:     {cure_of_failure(failure)}",
            *_by_hand(program, named),
        ]
        return failure.verdict, fault
    broken = next(filter(None, differences(program, outcome)), None)
    if broken is not None:
        return "fail", _difference(program, outcome, broken) + _by_hand(program, named)
    if again != outcome:
        return "fail", [
            "  expected: the same answers when the program is run once more",
            "  got:      others",
            "  cure:     open a new cache at every program's first line, and forget the last one",
            *_by_hand(program, named),
        ]
    return "pass", []


def _difference(program: Program, outcome: Outcome, broken: Broken) -> list[str]:
    """Where the reference answers otherwise, and what that most likely means."""
    operation = program.operations[broken.step - 1] if broken.step else None
    answer = outcome.answers[broken.step - 1] if broken.step else outcome.opened
    told = (name for name in RESULTS if broken.expected.startswith(f"{name} "))
    what = next(told, broken.expected.rpartition(" ")[0])
    place = (
        f"answer {broken.step}, to `{printable(format_operation(operation), MAX_WIDTH)}`"
        if operation
        else "the opening"
    )
    return [
        f"  at:       {place}",
        f"  expected: {broken.expected}",
        f"  got:      {broken.got}",
        f"  cure:     {cure_of_difference(what, operation, answer.digest)}",
    ]


def _by_hand(program: Program, named: str) -> list[str]:
    """The lines to type to see it, for a driver and a short program."""
    lines = format_program(program).splitlines()
    way, _, command = named.partition(":")
    if not way.startswith("cmd") or len(lines) > MOST_LINES_BY_HAND:
        return []
    text = "\\n".join([*lines, "run", "bye", ""])
    return [f"  by hand:  printf {shlex.quote(text)} | {command}"]
