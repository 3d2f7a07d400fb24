"""`cachegate replay FILE.prog`: one program step by step, implementations beside the reference."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from gate.connect.capabilities import can_run
from gate.connect.connecting import connect
from gate.connect.implementation import Failure
from gate.judging.judge import LOCKSTEP
from gate.judging.own_hash import has_one_set
from gate.judging.subject import Subject
from gate.replay_page import Shown, to_page
from gate.show import print_table
from reference.errors import InputError, printable
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT, ROW
from reference.program import Answer, Program
from reference.program_header import format_header
from reference.program_text import format_operation, parse
from reference.run import run as run_reference
from replay.lines import open_regular

REFERENCE = "reference"
MAX_PROGRAM_BYTES = 1 << 24
MAX_SHOWN = 48
QUIET = ("skip ", "note: ")
"""How lines begin that tell of no failure."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate replay`."""
    parser.add_argument("file", metavar="FILE", help="a program (.prog)")
    parser.add_argument(
        "--on", action="append", default=[], metavar="CONNECT", help="an implementation beside it"
    )
    parser.add_argument("--html", metavar="FILE", help="also draw it: what is held, step by step")


def run(args: argparse.Namespace) -> int:
    """Print the steps; exit code 1 when an implementation breaks a law, or differs where it can be told."""
    program = read_program(args.file)
    runs = {REFERENCE: Shown(program, run_reference(program))}
    told: list[str] = []
    for text in args.on:
        try:
            told += _run_on(text, program, runs)
        except Failure as failure:
            told.append(f"{failure.verdict.upper()} on {text}: {failure.detail}")
    if args.html is not None:
        _write_page(args.html, program, runs)
    for line in format_header(program.config):
        print(line)
    _print_steps(program, runs)
    for line in told:
        print(line)
    failed = any(not line.startswith(QUIET) for line in told)
    return 1 if failed or any(shown.differs is not None for shown in runs.values()) else 0


def _run_on(text: str, program: Program, runs: dict[str, Shown]) -> Iterator[str]:
    """Run it on one implementation, and judge it; gives what is to be told beside the steps."""
    implementation = connect(text, EXPERT if isinstance(program.config, ExpertConfig) else ROW)
    try:
        subject = Subject(text, implementation)
        fitted = subject.fitted(program)
        if fitted is None or fitted.operations != program.operations:
            yield f"skip on {text}: {can_run(subject.declared, program)}"
            return
        if (changed := format_header(fitted.config)[0]) != format_header(program.config)[0]:
            yield f"note: {text} ran it as {changed}"
        outcome = implementation.run(fitted)
        judge = subject.judge()
        beside = next((law for law in judge.laws if law.id in LOCKSTEP), None)
        other = judge.breaks(fitted, beside) if beside is not None else None
        known = subject.declared.places_are_known or has_one_set(fitted)
        runs[text] = Shown(fitted, outcome, other.step if other is not None else None, known)
        fault = judge.judge(fitted)
        if fault is not None:
            yield f"{fault.verdict.upper()} {fault.law.id} on {text}: {fault.law.sentence}"
            yield f"  at step {fault.broken.step}: expected {fault.broken.expected}"
            yield f"  got {fault.broken.got}"
    finally:
        implementation.close()


def read_program(path: str) -> Program:
    """The program in a file.

    Raises:
        InputError: it cannot be read, or is no program.
    """
    with open_regular(path) as file:
        data = file.read(MAX_PROGRAM_BYTES + 1)
    if len(data) > MAX_PROGRAM_BYTES:
        raise InputError("too long for a program", source=path, expected="at most 16 MiB")
    try:
        return parse(data.decode("ascii"), path)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            "a byte that is not ASCII", source=path, line=line, expected="a program text"
        ) from None


def _write_page(file_name: str, program: Program, runs: dict[str, Shown]) -> None:
    try:
        Path(file_name).write_text(to_page(program, runs), encoding="utf-8")
    except OSError as fault:
        problem = f"cannot write {printable(file_name)}: {fault.strerror}"
        raise InputError(problem, source="--html") from None


def _print_steps(program: Program, runs: dict[str, Shown]) -> None:
    rows = []
    for step, operation in enumerate(("(open)", *program.operations)):
        text = operation if isinstance(operation, str) else format_operation(operation)
        for name, shown in runs.items():
            answer = (shown.outcome.opened, *shown.outcome.answers)[step]
            mark = ">" if shown.differs == step else ""
            label = text if name == REFERENCE else ""
            rows.append([mark, str(step) if label else "", _short(label), name, *_cells(answer)])
    headings = ["", "step", "operation", "on", "answer", "read", "resident, next victim first"]
    print_table(headings, rows)


def _cells(answer: Answer) -> list[str]:
    hits = "" if answer.hits is None else "".join("H" if hit else "m" for hit in answer.hits)
    read = "" if answer.read_bytes is None else str(answer.read_bytes)
    shown = answer.order if answer.order is not None else sorted(answer.resident or ())
    return [answer.refusal or hits, read, _short(" ".join(f"{a}:{b}" for a, b in shown))]


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
