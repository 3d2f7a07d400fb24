"""`cachegate replay FILE.prog`: one program step by step, implementations beside the reference."""

from __future__ import annotations

import argparse
from pathlib import Path

from gate.connect.capabilities import can_run
from gate.connect.connecting import connect
from gate.connect.implementation import Failure
from gate.judging.subject import Subject
from gate.show import print_table
from reference.errors import InputError, printable
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT, ROW
from reference.lockstep import differences
from reference.program import Answer, Outcome, Program
from reference.program_header import format_header
from reference.program_text import format_operation, parse
from reference.run import run as run_reference
from replay.lines import open_regular

REFERENCE = "reference"
MAX_PROGRAM_BYTES = 1 << 24
MAX_SHOWN = 48


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate replay`."""
    parser.add_argument("file", metavar="FILE", help="a program (.prog)")
    parser.add_argument(
        "--on", action="append", default=[], metavar="CONNECT", help="an implementation beside it"
    )
    parser.add_argument("--html", metavar="FILE", help="also draw it: what is held, step by step")


def run(args: argparse.Namespace) -> int:
    """Print the steps; exit code 1 when an implementation breaks a law or differs from the reference."""
    program = read_program(args.file)
    cache = EXPERT if isinstance(program.config, ExpertConfig) else ROW
    outcomes = {REFERENCE: run_reference(program)}
    verdicts: list[str] = []
    skips: list[str] = []
    for text in args.on:
        implementation = connect(text, cache)
        try:
            subject = Subject(text, implementation)
            fitted = subject.fitted(program)
            if fitted is None:
                skips.append(f"skip on {text}: {can_run(subject.declared, program)}")
                continue
            outcomes[text] = implementation.run(fitted)
            fault = subject.judge().judge(fitted)
            if fault is not None:
                verdicts.append(
                    f"{fault.verdict.upper()} {fault.law.id} on {text}: {fault.law.sentence}"
                )
                verdicts.append(f"  at step {fault.broken.step}: expected {fault.broken.expected}")
                verdicts.append(f"  got {fault.broken.got}")
        except Failure as failure:
            verdicts.append(f"{failure.verdict.upper()} on {text}: {failure.detail}")
        finally:
            implementation.close()
    differs: dict[str, int | None] = {
        name: next((f.step for f in differences(program, outcome) if f), None)
        for name, outcome in outcomes.items()
        if name != REFERENCE
    }
    if args.html is not None:
        _write_page(args.html, program, outcomes, differs)
    for line in format_header(program.config):
        print(line)
    _print_steps(program, outcomes, differs)
    for line in (*skips, *verdicts):
        print(line)
    return 1 if verdicts else 0


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


def _write_page(
    file_name: str, program: Program, outcomes: dict[str, Outcome], differs: dict[str, int | None]
) -> None:
    from gate.replay_page import to_page  # noqa: PLC0415 - only for those who ask

    try:
        Path(file_name).write_text(to_page(program, outcomes, differs), encoding="utf-8")
    except OSError as fault:
        problem = f"cannot write {printable(file_name)}: {fault.strerror}"
        raise InputError(problem, source="--html") from None


def _print_steps(
    program: Program, outcomes: dict[str, Outcome], differs: dict[str, int | None]
) -> None:
    rows = []
    for step, operation in enumerate(("(open)", *program.operations)):
        text = operation if isinstance(operation, str) else format_operation(operation)
        for name, outcome in outcomes.items():
            answer = (outcome.opened, *outcome.answers)[step]
            mark = ">" if differs.get(name) == step else ""
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
