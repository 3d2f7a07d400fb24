"""How does a program become a message to a driver, and how are its answers taken?

A message is the program's own text, then a line `run`. The driver answers with one line for the opening, one for each
operation (gate/connect/columns.py), and a line `done`. Lines are read as they come, so a driver that says too much is
stopped at once, and one that says much is read while it works.
"""

from __future__ import annotations

from gate.connect.columns import Columns, Unreadable
from gate.connect.strict import Strict
from reference.errors import printable
from reference.expert_config import ExpertConfig
from reference.program import (
    Answer,
    Ask,
    AskRows,
    Gather,
    Load,
    Operation,
    Outcome,
    Program,
    plain,
)
from reference.program_text import format_operation, format_program

DONE = "done"
MAX_ANSWERS_BYTES = 64 << 20
"""Most that one program may be answered with."""


def encode(program: Program) -> bytes:
    """The message that sends a program."""
    return (format_program(program) + "run\n").encode("ascii")


class Reading:
    """The answers to one program, taken as they come in.

    Args:
        columns: of the driver.
        program: what was sent.
        strict: checks every answer, where that is wanted.
    """

    def __init__(self, columns: Columns, program: Program, strict: Strict | None) -> None:
        self.columns = columns
        self.config = program.config
        self.operations: list[Operation | None] = [None, *program.operations]
        self.answers: list[Answer] = []
        self.finished = False
        self._strict = strict
        self._parts: list[str] = []
        self._bytes = 0

    @property
    def progress(self) -> str:
        """How far it came."""
        return f"{len(self.answers)} of {len(self.operations)} answers"

    def take(self, data: bytes) -> bool:
        """Take what came in; True once the driver is done.

        Raises:
            Unreadable: it is no text, or too much, or not what the hello promised.
        """
        self._bytes += len(data)
        if self._bytes > MAX_ANSWERS_BYTES:
            raise Unreadable(f"more than {MAX_ANSWERS_BYTES >> 20} MiB of answers to one program")
        try:
            self._parts.append(data.decode("ascii"))
        except UnicodeDecodeError as error:
            raise Unreadable(f"byte 0x{data[error.start]:02x} is no plain text") from None
        if b"\n" in data:
            lines = "".join(self._parts).split("\n")
            rest = lines.pop()
            self._parts = [rest] if rest else []
            self._take(lines)
        if self.finished and self._parts:
            raise Unreadable(f"it goes on after `{DONE}`: '{printable(self._parts[0])}'")
        return self.finished

    def _take(self, lines: list[str]) -> None:
        """Whole lines: answers as long as some are due, then `done`."""
        due = self.operations[len(self.answers) : len(self.answers) + len(lines)]
        for line, operation in zip(lines, due, strict=False):
            try:
                answer = self.columns.answer(line, operation)
                if answer.hits == () and self._owes_flags(operation):
                    raise Unreadable(
                        f"column hit: nothing, but level {self.columns.level} owes a flag for each id"
                    )
                if self._strict is not None:
                    self._strict.check(line, answer, operation)
            except ValueError as error:
                if line == DONE:
                    raise Unreadable(f"`{DONE}` after {self.progress}") from None
                dos = line.endswith("\r")
                what = "the line ends with CR LF, expected LF alone" if dos else str(error)
                raise Unreadable(f"answer {self._place(operation)}: {what}") from None
            self.answers.append(answer)
        for line in lines[len(due) :]:
            if self.finished:
                raise Unreadable(f"it goes on after `{DONE}`: '{printable(line)}'")
            if line != DONE:
                raise Unreadable(
                    f"more than {len(self.operations)} answers: '{printable(line)}' in place of `{DONE}`"
                )
            self.finished = True

    def _owes_flags(self, operation: Operation | None) -> bool:
        """Has an operation that was carried out an id that is hit or missed?"""
        match operation and plain(operation):
            case Gather(rows=rows) | AskRows(rows=rows):
                return bool(rows)
            case Ask(experts=experts):
                return bool(experts)
            case Load(layer=layer, experts=experts):
                assert isinstance(self.config, ExpertConfig)
                known = self.config.shape.experts[layer : layer + 1]
                return any(expert < count for expert in experts for count in known)
        return False

    def _place(self, operation: Operation | None) -> str:
        """Which answer is read."""
        if operation is None:
            return "0, to the opening"
        return f"{len(self.answers)}, to `{printable(format_operation(operation))}`"

    def outcome(self) -> Outcome:
        """All answers, once it is finished."""
        return Outcome(self.answers[0], tuple(self.answers[1:]), self.columns.level)
