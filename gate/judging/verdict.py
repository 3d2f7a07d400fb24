"""How does a failure read? The law, the program with the step marked, expected and got, and how to run it again."""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from pathlib import Path

from gate.connect.implementation import Declaration
from gate.judging.judge import Fault
from reference.errors import printable
from reference.program_header import format_header
from reference.program_text import format_operation, format_program

MAX_OPERATIONS = 7
"""Operations shown, so that a failure fits on fifteen lines."""

MAX_WIDTH = 160


def failure_text(fault: Fault, declared: Declaration, connect: str, file: Path | None) -> str:
    """At most fifteen lines that an engineer who never saw the suite understands."""
    broken = fault.broken
    lines = [
        f"{fault.verdict.upper()} {fault.law.id} on {declared.name} {declared.version}",
        f"  law: {fault.law.sentence}",
        *_program_lines(fault, broken.step),
        f"  expected: {_cut(broken.expected)}",
        f"  got:      {_cut(broken.got)}",
    ]
    if file is not None:
        option = "" if connect.startswith("builtin") else f" --on {_quoted(connect)}"
        lines.append(f"  replay:   cachegate replay {shlex.quote(_from_here(file))}{option}")
    return "\n".join(lines)


def _quoted(connect: str) -> str:
    """A connect string as the shell takes it; it has blanks mostly."""
    return shlex.quote(connect) if "'" in connect else f"'{connect}'"


def _from_here(file: Path) -> str:
    """A file as it is named from the current folder, if it lies there or below."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _program_lines(fault: Fault, step: int) -> list[str]:
    """The program, the step that fails marked with `>`; the operations just before it when there are many."""
    operations = [format_operation(operation) for operation in fault.program.operations]
    shown = range(max(0, (step or len(operations)) - MAX_OPERATIONS), len(operations))
    header = [f"    {_cut(line)}" for line in format_header(fault.program.config)[:2]]
    skipped = [f"    … {shown.start} operations"] if shown.start else []
    body = [
        f"  {'>' if at + 1 == step else ' '} {_cut(operations[at])}"
        for at in list(shown)[:MAX_OPERATIONS]
    ]
    return [*header, *skipped, *body]


def _cut(text: str) -> str:
    """One line of the failure: no line ends of its own, and not too long."""
    return printable(text, MAX_WIDTH)


def write_counterexample(fault: Fault, declared: Declaration, folder: Path) -> Path:
    """Write the failing program to a file named after its law; gives the file.

    The same program is written to the same file, and a file is written whole or not at all.
    """
    text = format_program(fault.program)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    target = folder / f"{fault.law.id.replace('/', '-')}.{digest}.prog"
    folder.mkdir(parents=True, exist_ok=True)
    comment = f"# breaks {fault.law.id} on {declared.name} {declared.version}\n"
    handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
    with os.fdopen(handle, "w") as file:
        file.write(comment + text)
    Path(name).replace(target)
    return target
