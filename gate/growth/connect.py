"""How is a self-sizing rule connected? `builtin`, `python:MODULE:CLASS` or `cmd:COMMAND`.

`builtin` is the rule of reference/growth.py; `builtin:hull` and `builtin:literal` decide open points otherwise. A
Python class is made with (shape, drop_fraction, platform) and has `opened()` and `tell(event)`
(reference/growth_events.py). A command speaks the lines of gate/growth/wire.py: one process for all sessions.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gate.connect.child import Child
from gate.connect.implementation import CRASH, GARBAGE, Failure
from gate.connect.options import DEFAULTS
from gate.growth.wire import MAX_REPLY_BYTES, Unreadable, format_event, format_opening, parse_reply
from reference.errors import InputError, printable
from reference.growth import Growth
from reference.growth_decisions import LITERAL, Decisions
from reference.growth_events import Event, MakeSizing, Reply, Sizing
from reference.sizing import ModelShape

LOOPS = {
    "greedy": Decisions(),
    "hull": Decisions(gain="hull"),
    "literal": LITERAL,
}
"""The built-in rule by how it decides: the proposal's loop, the same on the concave hull, the formula to the letter."""


def built_in(decisions: Decisions) -> MakeSizing:
    """The rule of reference/growth.py with these decisions."""
    return partial(Growth, decisions=decisions)


def decided(text: str, decisions: Decisions) -> Decisions:
    """`decisions` with those fields replaced that `text` names, as in `cost=faults,least_tokens=8`.

    Raises:
        InputError: there is no such decision, or not with that value.
    """
    kinds = {name: type(getattr(decisions, name)) for name in Decisions.__dataclass_fields__}
    for item in text.split(",") if text else ():
        name, _, value = item.partition("=")
        try:
            decisions = replace(decisions, **{name: kinds[name](value)})
        except (KeyError, ValueError) as error:
            reason = f"no decision {printable(name)}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                reason,
                source="--decide",
                expected=f"NAME=VALUE,… with NAME one of {', '.join(kinds)}",
                cure="reference/growth_decisions.py explains each",
            ) from None
    return decisions


def connect_sizing(connect: str, deadline_s: float = DEFAULTS.deadline_s) -> MakeSizing:
    """What makes the rule that `connect` names.

    Raises:
        InputError: it names none, or what it names cannot be loaded or started.
    """
    kind, _, target = connect.partition(":")
    if kind == "builtin" and (target or "greedy") in LOOPS:
        return built_in(LOOPS[target or "greedy"])
    if kind == "python" and target:
        return Guarded(_imported(target, connect))
    if kind == "cmd" and target:
        return Driver(target, deadline_s).open
    raise InputError(
        f"cannot connect {printable(connect)}",
        source="--sizing",
        expected="builtin, builtin:hull, builtin:literal, python:MODULE:CLASS or cmd:COMMAND",
    )


def _imported(target: str, source: str) -> Any:
    module_name, _, class_name = target.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module_name), class_name)
    except Exception as error:
        raise InputError(
            f"cannot be imported: {type(error).__name__}: {error}",
            source=source,
            expected="python:MODULE:CLASS, MODULE importable from the current folder",
        ) from error


class Guarded:
    """A class whose exceptions are its own crashes, not faults of the gate."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def __call__(self, shape: ModelShape, drop_fraction: float, platform: str) -> Sizing:
        """A session of it."""
        return _GuardedSizing(self._called(self.make, shape, drop_fraction, platform), self._called)

    @staticmethod
    def _called(act: Any, *arguments: object) -> Any:
        try:
            return act(*arguments)
        except Exception as error:
            raise Failure(CRASH, f"{type(error).__name__}: {printable(str(error), 100)}") from error


class _GuardedSizing:
    def __init__(self, sizing: Any, called: Callable[..., Any]) -> None:
        self._sizing = sizing
        self._called = called

    def opened(self) -> Reply:
        return self._reply(self._sizing.opened)

    def tell(self, event: Event) -> Reply:
        return self._reply(self._sizing.tell, event)

    def _reply(self, act: Any, *arguments: object) -> Reply:
        reply = self._called(act, *arguments)
        if not isinstance(reply, Reply):
            raise Failure(GARBAGE, f"answers with a {type(reply).__name__}, not a Reply")
        return reply


class Driver:
    """A process that speaks the lines of gate/growth/wire.py; every session is opened on it anew.

    Raises:
        InputError: it cannot be started.
    """

    def __init__(self, command: str, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        try:
            self._child = Child(shlex.split(command), f"cmd:{command}")
        except ValueError as error:
            raise InputError(str(error), source=f"cmd:{command}") from None

    def open(self, shape: ModelShape, drop_fraction: float, platform: str) -> Sizing:
        """A session on it. Sessions do not overlap: each ends where the next is opened."""
        return _Session(self, format_opening(shape, drop_fraction, platform))

    def ask(self, line: str) -> Reply:
        """Send a line and read the one that answers it.

        Raises:
            Failure: crash, hang or garbage.
        """
        said = bytearray()

        def take(data: bytes) -> bool:
            said.extend(data)
            if len(said) > MAX_REPLY_BYTES or b"\n" in said[:-1]:
                raise Failure(GARBAGE, "more than one line for one event")
            return said.endswith(b"\n")

        try:
            self._child.exchange(f"{line}\n".encode("ascii"), take, self._deadline_s)
            return parse_reply(said.decode("ascii").rstrip("\n"))
        except (Unreadable, UnicodeDecodeError) as error:
            self._child.end()
            raise Failure(GARBAGE, printable(str(error), 200)) from None
        except BaseException:
            self._child.end()
            raise

    def close(self) -> None:
        """End the process."""
        self._child.end(b"bye\n")


class _Session:
    def __init__(self, driver: Driver, opening: str) -> None:
        self._driver = driver
        self._opened = driver.ask(opening)

    def opened(self) -> Reply:
        return self._opened

    def tell(self, event: Event) -> Reply:
        return self._driver.ask(format_event(event))
