"""How is a cache judged that runs as a process? `cmd:COMMAND`: one long-lived driver, spoken to in plain lines.

    start → hello                   InputError when it cannot be started or its hello cannot be used
    program, run → answers, done    Failure: crash, hang or garbage; the next program starts another child
    bye → exit                      at close; at exit and after ctrl-C it is ended without it

docs/protocol.md has the protocol, gate/connect/options.py the options.
"""

from __future__ import annotations

import shlex

from gate.connect.child import Child
from gate.connect.columns import Columns, Unreadable
from gate.connect.hello import MAX_HELLO_BYTES, Hello, parse_hello
from gate.connect.implementation import CRASH, GARBAGE, Declaration, Failure
from gate.connect.options import DEFAULTS, Options
from gate.connect.strict import Strict
from gate.connect.wire import Reading, encode
from reference.errors import InputError, printable
from reference.program import Outcome, Program

MOST_FAILED_STARTS = 3
"""After so many in a row no further start is tried: each would cost a deadline."""

PATIENCE_S = 0.25
"""How long a child may take to end by itself after a program that is suspected."""

BYE = b"bye\n"


class Process:
    """A driver's process as an implementation.

    Args:
        command: as the shell would split it.
        cache: the kind of cache expected; "" takes either.
        options: strict checks, and the deadline of each program and of the hello.

    Raises:
        InputError: it cannot be started, or its hello cannot be used.
    """

    def __init__(self, command: str, cache: str = "", options: Options = DEFAULTS) -> None:
        self.source = f"cmd:{command}"
        self.options = options
        self._arguments = _split(command, self.source)
        self._failed_starts = 0
        self._child: Child | None = None
        self._before: Program | None = None
        """The program that the child of now answered last."""
        self.hello = self._first_hello(cache)
        self.declaration: Declaration = self.hello.declaration
        self._columns = Columns(self.hello)

    @property
    def pid(self) -> int | None:
        """The process id of the child of now, if one runs."""
        return self._child.pid if self._child else None

    def run(self, program: Program) -> Outcome:
        """The answers to one program; starts another child where the last one has failed.

        A failure is charged to the program before where the child failed once that was done (`Failure.program`).
        """
        before = self._before
        if before is not None and self._child is not None and (late := self._child.unasked()):
            raise self._failed_late(late, before)
        child = self._child or self._restarted()
        strict = Strict(self.hello, program) if self.options.strict else None
        reading = Reading(self._columns, program, strict)
        try:
            child.exchange(encode(program), reading.take, self.options.deadline_s)
        except Failure as failure:
            failed = self._failed(failure.verdict, f"{failure.detail} after {reading.progress}")
            if before is not None and failure.verdict == CRASH and not reading.answers:
                self._try_again(before)
            raise failed from None
        except Unreadable as error:
            raise self._failed(GARBAGE, str(error)) from None
        except BaseException:
            self._end()  # what it would say next belongs to no program
            raise
        self._before = program
        return reading.outcome()

    def _try_again(self, program: Program) -> None:
        """Run a program in a new child and wait: does that end by itself, though it answers?

        Raises:
            Failure: it does. Other failures are none of this program's: it did answer.
        """
        try:
            child = self._restarted()
            reading = Reading(self._columns, program, None)
            child.exchange(encode(program), reading.take, self.options.deadline_s)
            late = child.unasked(PATIENCE_S)
        except (Failure, Unreadable):
            self._end()
            return
        if late is not None:
            raise self._failed_late(late, program)

    def _failed_late(self, failure: Failure, program: Program) -> Failure:
        """The child failed when a program was done."""
        failed = self._failed(failure.verdict, f"{failure.detail} after `done`")
        return Failure(failed.verdict, failed.detail, program)

    def close(self) -> None:
        """Say bye and end the child."""
        self._end(BYE)

    # --- starting and ending ------------------------------------------------------------------------

    def _first_hello(self, cache: str) -> Hello:
        try:
            text = self._start()
            return parse_hello(text, self.source, cache)
        except Failure as failure:
            raise InputError(
                f"the driver gives no hello: {failure}",
                source=self.source,
                expected="a line `cachegate 1 …` on its stdout, flushed, as soon as it starts",
                cure="run it by hand and look at its first line",
            ) from None
        except InputError:
            self._end()
            raise

    def _restarted(self) -> Child:
        """Another child, which must say the same hello."""
        if self._failed_starts >= MOST_FAILED_STARTS:
            raise Failure(
                CRASH, f"does not come up again: {MOST_FAILED_STARTS} starts in a row failed"
            )
        self._failed_starts += 1
        try:
            hello = parse_hello(self._start(), self.source, self.declaration.cache)
        except InputError as error:
            raise self._failed(GARBAGE, f"started again: {error.problem}") from None
        if hello != self.hello:
            raise self._failed(GARBAGE, "started again, it says another hello than before")
        self._failed_starts = 0
        assert self._child is not None
        return self._child

    def _start(self) -> str:
        """Start a child; gives its first line."""
        self._child = Child(self._arguments, self.source)
        said = bytearray()

        def take(data: bytes) -> bool:
            said.extend(data)
            if len(said) > MAX_HELLO_BYTES:
                raise Failure(
                    GARBAGE, f"more than {MAX_HELLO_BYTES >> 10} KiB before the hello ends"
                )
            return b"\n" in said

        try:
            self._child.exchange(b"", take, self.options.deadline_s)
            line, _, rest = bytes(said).partition(b"\n")
            if rest:
                raise Failure(GARBAGE, f"it goes on after the hello: {_shown(rest)}")
            return line.decode("ascii")
        except Failure as failure:
            raise self._failed(failure.verdict, f"{failure.detail}, before any hello") from None
        except UnicodeDecodeError:
            raise self._failed(GARBAGE, f"no plain text: {_shown(bytes(said))}") from None
        except BaseException:
            self._end()
            raise

    def _failed(self, verdict: str, reason: str) -> Failure:
        """End the child; the failure to raise, with its last words."""
        child = self._child
        self._end()
        last_words = child.stderr if child else ""
        return Failure(verdict, f"{reason}; stderr: {last_words}" if last_words else reason)

    def _end(self, farewell: bytes = b"") -> None:
        self._before = None
        if self._child is not None:
            self._child.end(farewell)
            self._child = None


def _shown(data: bytes) -> str:
    return f"'{printable(data[:80].decode('latin-1'))}'"


def _split(command: str, source: str) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise InputError(str(error), source=source, expected="a command line") from None
    if not arguments:
        raise InputError("names no program", source=source, expected="cmd:./driver --flag")
    return arguments


def connect_process(command: str, cache: str = "", options: Options = DEFAULTS) -> Process:
    """The driver that `cmd:COMMAND` names; see Process."""
    return Process(command, cache, options)
