"""How is a cache judged that is a Python class? `python:MODULE:CLASS`: one object a program.

    class MyCache:
        declaration = Declaration("mine", "1.0", "expert-cache")      # or: name, version, cache, level, …
        def __init__(self, config): ...                               # ExpertConfig or RowCacheConfig
        def opened(self) -> Answer: ...                               # what it says before the first operation
        def apply(self, operation) -> Answer: ...                     # reference/program.py; never a Repeat

An exception it raises is a crash, an answer that is none is garbage. A loop that does not end is a hang where alarms
can be set: in the main thread of a POSIX system.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import FrameType
from typing import Any

from gate.connect.capabilities import fault_of_settings
from gate.connect.fitting import fit
from gate.connect.hello import ESTIMATES
from gate.connect.implementation import CRASH, GARBAGE, HANG, Declaration, Failure, at_level
from gate.connect.options import DEFAULTS, Options
from reference.errors import InputError, printable
from reference.laws import EXPERT
from reference.program import Answer, Operation, Outcome, Program, plain, times
from reference.program_text import parse

PROMISED = {1: ("refusal",), 2: ("refusal", "resident"), 3: ("refusal", "resident", "order")}
"""What an answer of each level may not leave None."""


class Objects:
    """A class as an implementation.

    Args:
        make: the class; called with a program's configuration.
        declaration: what it says of itself.
        deadline_s: what one program may take.
    """

    def __init__(self, make: Any, declaration: Declaration, deadline_s: float) -> None:
        self.make = make
        self.declaration = declaration
        self.deadline_s = deadline_s
        if declaration.columns is None:
            self.declaration = replace(declaration, columns=self._shown_columns())

    def run(self, program: Program) -> Outcome:
        """The answers of a new object to one program."""
        with _alarm(self.deadline_s):
            cache = self._called(self.make, program.config)
            opened = self._answer(cache.opened)
            answers = tuple(self._applied(cache, operation) for operation in program.operations)
        return at_level(Outcome(opened, answers), self.declaration.level)

    def close(self) -> None:
        """Nothing to give back."""

    def _shown_columns(self) -> frozenset[str] | None:
        """The columns of the answer to an opening; None where there is none."""
        header = "entry_bytes=1" if self.declaration.cache == EXPERT else "sets=1"
        smallest = parse(f"{self.declaration.cache} v1 {header}")
        try:
            opened = self.run(fit(smallest, self.declaration)).opened
        except Failure:
            return None
        return frozenset(opened.counters) | ({ESTIMATES} if opened.estimates is not None else set())

    def _applied(self, cache: Any, operation: Operation) -> Answer:
        """The answer to an operation: of a repeat, to its last application."""
        for _ in range(times(operation) - 1):
            self._called(cache.apply, plain(operation))
        return self._answer(cache.apply, plain(operation))

    def _answer(self, act: Any, *arguments: object) -> Answer:
        answer = self._called(act, *arguments)
        if not isinstance(answer, Answer):
            raise Failure(GARBAGE, f"{act.__name__} gives a {type(answer).__name__}, not an Answer")
        for name in PROMISED.get(self.declaration.level, ()):
            if getattr(answer, name) is None:
                raise Failure(
                    GARBAGE,
                    f"declares level {self.declaration.level}, but {act.__name__} gives no {name}",
                )
        return answer

    def _called(self, act: Any, *arguments: object) -> Any:
        try:
            return act(*arguments)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            raise Failure(
                CRASH, f"{type(error).__name__} at {where}: {printable(str(error), 100)}"
            ) from error


class _TooLate(BaseException):
    """The alarm; no `except Exception` of the object may swallow it."""


@contextmanager
def _alarm(deadline_s: float) -> Iterator[None]:
    """Failure(HANG) when the block takes longer, where alarms can be set."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TooLate

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, deadline_s)
    try:
        yield
    except _TooLate:
        raise Failure(HANG, f"no end within {deadline_s:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def connect_object(target: str, cache: str = "", options: Options = DEFAULTS) -> Objects:
    """The class that `python:MODULE:CLASS` names; modules of the current folder are found.

    Raises:
        InputError: there is no such module or class, or it does not say what it is.
    """
    source = f"python:{target}"
    made = _imported(target, source)
    declaration = _declared(made, source)
    if cache and declaration.cache != cache:
        raise InputError(
            f"is a {declaration.cache}", source=source, expected=f"a class that is a {cache}"
        )
    if fault := fault_of_settings(declaration.row_settings):
        raise InputError(f"row_settings: {fault}", source=source)
    return Objects(made, declaration, options.deadline_s)


def _imported(target: str, source: str) -> Any:
    module_name, _, class_name = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
        for name in class_name.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise InputError(
            f"cannot be imported: {type(error).__name__}: {error}",
            source=source,
            expected="python:MODULE:CLASS, MODULE importable from the current folder",
        ) from error
    if not (callable(getattr(found, "apply", None)) and callable(getattr(found, "opened", None))):
        raise InputError(
            "lacks apply(operation) or opened()",
            source=source,
            expected="see gate/connect/objects.py",
        )
    return found


def _declared(made: Any, source: str) -> Declaration:
    """The class's `declaration`, or one made of its plain attributes."""
    declared = getattr(made, "declaration", None)
    if isinstance(declared, Declaration):
        return declared
    named = {f.name: getattr(made, f.name) for f in fields(Declaration) if hasattr(made, f.name)}
    try:
        return Declaration(**{"name": made.__name__, "version": "0", **named})
    except TypeError as error:
        raise InputError(
            f"does not say what it is: {error}",
            source=source,
            expected="an attribute `declaration`, or at least `cache`",
            cure='declaration = Declaration("mine", "1.0", "expert-cache") in the class',
        ) from None
