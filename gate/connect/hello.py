"""What does a driver say of itself? Its first line, the hello, and what follows from it.

    cachegate 1 expert-cache NAME VERSION level=1 columns=refusal,hit,… capabilities=resize budget_rule=bytes

`columns` names the columns of every answer, results first, then counters, as the heading of a table does. The other
settings are those of a program's first line: the rules of an expert cache, the choices of a row cache
(docs/protocol.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gate.connect.capabilities import fault_of_settings
from gate.connect.implementation import (
    EXPERT_CAPABILITIES,
    OWN,
    PLACEMENT,
    ROW_CAPABILITIES,
    SHARED,
    Declaration,
)
from reference.errors import InputError, printable
from reference.expert_config import Rules
from reference.laws import EXPERT, ROW
from reference.program_header import ROW_KEYS, RULE_KEYS

PROTOCOL = "1"
MAX_HELLO_BYTES = 1 << 16
MAX_LEVEL = 3

FROM_LEVEL = {
    "refusal": 1,
    "hit": 1,
    "read": 1,
    "digest": 1,
    "resident": 2,
    "order": 3,
    "estimates": 3,
}
"""The columns that are no counters, in the order in which they stand, and the lowest level that offers each."""
RESULTS = tuple(FROM_LEVEL)
ESTIMATES = "estimates"
OF_ONE_CACHE = {"read": EXPERT, ESTIMATES: ROW}
"""Columns that only one kind of cache has."""


SHAPE = f"cachegate {PROTOCOL} {EXPERT}|{ROW} NAME VERSION level=N columns=NAME,NAME,…"
WORD = re.compile(r"[!-~]+")
COLUMN = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Hello:
    """A driver's declaration, and the columns of its answers.

    Args:
        declaration: see gate/connect/implementation.py.
        results: those of RESULTS it gives.
        counters: names of its counters.
    """

    declaration: Declaration
    results: tuple[str, ...]
    counters: tuple[str, ...]


class HelloLine:
    """One hello as it came in; `source` is how the user named the driver."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source

    def fail(self, problem: str, expected: str = SHAPE, cure: str = "") -> InputError:
        """What is wrong with the hello."""
        return InputError(
            f"the driver's hello: {problem}", source=self.source, expected=expected, cure=cure
        )

    def read(self, cache: str) -> Hello:
        """The hello, for one kind of cache; "" takes either.

        Raises:
            InputError: it cannot be understood, promises what its columns do not hold, or is of the other kind.
        """
        words = self.text.split(" ")
        if not all(map(WORD.fullmatch, words)):
            raise self.fail(f"no line of plain words: '{printable(self.text)}'")
        if len(words) < 5 or words[0] != "cachegate":
            raise self.fail(f"cannot be understood: '{printable(self.text)}'")
        _, protocol, kind, name, version = words[:5]
        if protocol != PROTOCOL:
            raise self.fail(f"it speaks protocol {printable(protocol)}", f"protocol {PROTOCOL}")
        if kind not in (EXPERT, ROW) or (cache and kind != cache):
            raise self.fail(f"it is a driver of {printable(kind)}", cache or f"{EXPERT} or {ROW}")
        settings = self._settings(words[5:], kind)
        level = self._level(settings.pop("level", ""))
        results, counters = self._columns(settings.pop("columns", ""), kind, level)
        capabilities = self._capabilities(settings.pop("capabilities", "-"), kind)
        declaration = Declaration(
            name,
            version,
            kind,
            level,
            self._rules(settings) if kind == EXPERT else Rules(),
            capabilities,
            settings if kind == ROW else {},
            frozenset(counters) | ({ESTIMATES} & set(results)),
        )
        return Hello(declaration, results, counters)

    def _settings(self, words: list[str], kind: str) -> dict[str, str]:
        of_kind = RULE_KEYS if kind == EXPERT else (PLACEMENT, *ROW_KEYS)
        known = ("level", "columns", "capabilities", *of_kind)
        settings: dict[str, str] = {}
        for word in words:
            key, equals, value = word.partition("=")
            if not (equals and value) or key not in known or key in settings:
                raise self.fail(
                    f"'{printable(word)}' is no setting, or one given twice",
                    f"KEY=VALUE, KEY one of {', '.join(known)}",
                )
            settings[key] = value
        if settings.get(PLACEMENT, SHARED) not in (SHARED, OWN):
            raise self.fail("a placement that is not known", f"{PLACEMENT}={SHARED} or {OWN}")
        built_in = {key: value for key, value in settings.items() if key in ROW_KEYS}
        if kind == ROW and (fault := fault_of_settings(built_in)):
            raise self.fail(
                f"a setting it cannot have: {fault}", "what a program's first line has, or any"
            )
        return settings

    def _level(self, text: str) -> int:
        if text not in map(str, range(MAX_LEVEL + 1)):
            raise self.fail(f"level={printable(text)}", "level=0, 1, 2 or 3")
        return int(text)

    def _columns(self, text: str, kind: str, level: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = tuple(text.split(",")) if text else ()
        if not all(map(COLUMN.fullmatch, names)) or len(set(names)) < len(names):
            raise self.fail(
                f"columns={printable(text)}", "different names of a-z, 0-9 and _, comma between"
            )
        results = tuple(name for name in RESULTS if name in names)
        if names[: len(results)] != results:
            raise self.fail(
                "its columns are out of order",
                f"first {', '.join(results)}, in this order, then the counters",
            )
        self._promised(results, kind, level)
        if len(results) == len(names):
            raise self.fail("it names no counter", "columns=…,lookups,hits,…")
        return results, names[len(results) :]

    def _promised(self, results: tuple[str, ...], kind: str, level: int) -> None:
        """A level is a promise: its columns are there, and none that lies above it."""
        for name, from_level in FROM_LEVEL.items():
            of_this_cache = OF_ONE_CACHE.get(name, kind) == kind
            if name in results and not of_this_cache:
                raise self.fail(
                    f"its columns have {name}, which a {kind} does not give",
                    cure="leave the column out",
                )
            if name in results and from_level > level:
                raise self.fail(
                    f"its columns have {name}, which level {level} does not offer",
                    f"level={from_level} or more",
                    "raise the level, or leave the column out",
                )
            if name in results or from_level > level or not of_this_cache:
                continue
            if name != "estimates" and not (name == "resident" and kind == EXPERT and level == 3):
                raise self.fail(
                    f"it promises level {level}, but its columns lack {name}",
                    f"a column {name}, as every level from {from_level} has",
                    f"print it, or declare level={from_level - 1}",
                )

    def _capabilities(self, text: str, kind: str) -> frozenset[str]:
        """Those it names."""
        known = EXPERT_CAPABILITIES if kind == EXPERT else ROW_CAPABILITIES
        named = frozenset(text.split(",")) if text != "-" else frozenset()
        if not named <= known:
            raise self.fail(
                f"no capabilities: {printable(', '.join(sorted(named - known)))}",
                f"some of {', '.join(sorted(known))}, comma between, or -",
            )
        return named

    def _rules(self, settings: dict[str, str]) -> Rules:
        try:
            return Rules(**{RULE_KEYS[key]: value for key, value in settings.items()})
        except ValueError as error:
            raise self.fail("a rule it cannot have", str(error)) from None


def parse_hello(text: str, source: str, cache: str = "") -> Hello:
    """The hello in one line of text; see HelloLine.read."""
    return HelloLine(text, source).read(cache)
