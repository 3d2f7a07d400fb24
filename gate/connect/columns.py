"""How is one line of a driver read? Its cells by the columns of the hello; `-` is nothing.

    refusal hit read digest           resident order   lookups hits …
    -       01  4096 3fb0c1a29d5e7c44 0:1,1:2  1:2,0:1 2       1    …

This is the hot path of every run: gate/connect/_answers.c reads most lines where there is a compiler;
benchmarks/transport.py measures it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import TypeVar

from gate.connect.hello import Hello
from reference.errors import printable
from reference.program import Answer, Ask, AskRows, Gather, Load, Operation, plain
from replay import kernel

T = TypeVar("T")
Key = tuple[int, int]

NOTHING = "-"
MOST_REMEMBERED = 1 << 15
LONGEST_REMEMBERED = 40
NUMBER = re.compile(r"-?[0-9]{1,20}")
FLAGS = re.compile(r"[01]+")
ENTRY = re.compile(r"([0-9]{1,20}):([0-9]{1,20})")
LETTERS = {"refusal": "f", "hit": "h", "read": "b", "digest": "d", "resident": "s", "order": "o"}
"""The columns that gate/connect/_answers.c can read, and the letters it knows them by."""

DELIVERS = (Load, Gather, Ask, AskRows)
"""Operations whose answer has a flag for each id, maybe none."""


class Unreadable(ValueError):
    """What a driver said cannot be read; the message says why."""


class Memo(dict[str, T]):
    """A function of a cell's text that remembers: most cells of a run repeat. Bounded."""

    def __init__(self, compute: Callable[[str], T]) -> None:
        super().__init__()
        self.compute = compute

    def __missing__(self, text: str) -> T:
        value = self.compute(text)
        if len(text) <= LONGEST_REMEMBERED:
            if len(self) >= MOST_REMEMBERED:
                self.clear()
            self[text] = value
        return value


def _matched(pattern: re.Pattern[str], expected: str, text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise Unreadable(f"expected {expected}, got '{printable(text)}'")
    return match


def _number(text: str) -> int:
    return int(_matched(NUMBER, "a whole number", text).group())


def _size(text: str) -> int | None:
    return None if text == NOTHING else _number(text)


def _flags(text: str) -> tuple[bool, ...] | None:
    if text == NOTHING:
        return None
    return tuple(flag == "1" for flag in _matched(FLAGS, "0 and 1, or -", text).group())


def _digest(text: str) -> int | None:
    if text == NOTHING:
        return None
    try:
        if len(text) <= 16 and text.isalnum():
            return int(text, 16)
    except ValueError:
        pass
    raise Unreadable(f"expected up to 16 hexadecimal digits or -, got '{printable(text)}'")


def _entry(text: str) -> Key:
    first, second = _matched(ENTRY, "LAYER:EXPERT or TABLE:ROW, comma between", text).groups()
    return int(first), int(second)


QuickReader = Callable[[str, type[Answer], str, tuple[str, ...]], Answer | None]


def _quick_reader() -> QuickReader | None:
    """The reader in C, where it is built and CACHEGATE_ENGINE does not ask for plain Python."""
    if kernel.engine_name() == "python":
        return None
    try:
        reader: QuickReader = importlib.import_module("gate.connect._answers").read
    except ImportError:
        return None
    return reader


class Columns:
    """Reads the answers of one driver, whose columns its hello names."""

    def __init__(self, hello: Hello) -> None:
        self.names = (*hello.results, *hello.counters)
        self.counters = hello.counters
        self.level = hello.declaration.level
        self._at = {name: at for at, name in enumerate(hello.results)}
        self.layout = "".join(LETTERS.get(name, "?") for name in hello.results)
        self.quick = None if "?" in self.layout else _quick_reader()
        self._number = Memo(_number)
        self._size = Memo(_size)
        self._flags = Memo(_flags)
        self._entry = Memo(_entry)

    def answer(self, line: str, operation: Operation | None) -> Answer:
        """The answer in one line; `operation` is None for the opening.

        Raises:
            Unreadable: it has other columns than the hello names, or a cell that cannot be read.
        """
        if self.quick is not None:
            answer = self.quick(line, Answer, self.layout, self.counters)
            if answer is not None:
                return answer
        cells = line.split(" ")
        if len(cells) != len(self.names):
            raise Unreadable(
                f"{len(cells)} columns where the hello names {len(self.names)}: '{printable(line)}'"
            )
        try:
            return self._answer(cells, operation)
        except Unreadable:
            raise Unreadable(self._culprit(cells)) from None

    def _answer(self, cells: list[str], operation: Operation | None) -> Answer:
        at = self._at
        numbers = map(self._number.__getitem__, cells[len(at) :])
        counters = dict(zip(self.counters, numbers, strict=True))
        if not at:
            return Answer(counters)
        refusal = "" if cells[0] == NOTHING else cells[0]
        hits = self._flags[cells[1]]
        if hits is None and not refusal and _delivers(operation):
            hits = ()
        read_bytes = self._size[cells[2]] if "read" in at else None
        digest = _digest(cells[at["digest"]])
        if self.level == 1:
            return Answer(counters, refusal, hits, read_bytes, digest)
        order = self._entries(cells[at["order"]]) if "order" in at else None
        resident = self._entries(cells[at["resident"]]) if "resident" in at else order or ()
        held = frozenset(resident)
        if len(held) < len(resident):
            raise Unreadable("an entry is resident twice")
        estimates = None
        if "estimates" in at:
            estimates = dict(zip(resident, self._counts(cells, len(resident)), strict=True))
        return Answer(counters, refusal, hits, read_bytes, digest, held, order, estimates)

    def _counts(self, cells: list[str], due: int) -> list[int]:
        """The estimates in a line, one for each resident row."""
        cell = cells[self._at["estimates"]]
        counts = [] if cell == NOTHING else [self._number[text] for text in cell.split(",")]
        if len(counts) != due:
            raise Unreadable(f"{len(counts)} estimates for {due} resident rows")
        return counts

    def _entries(self, cell: str) -> tuple[Key, ...]:
        if cell == NOTHING:
            return ()
        return tuple(map(self._entry.__getitem__, cell.split(",")))

    def _culprit(self, cells: list[str]) -> str:
        """Which cell cannot be read, and why."""
        readers: dict[str, Callable[[str], object]] = {
            "refusal": str,
            "hit": _flags,
            "read": _size,
            "digest": _digest,
            "resident": self._distinct,
            "order": self._distinct,
        }
        if "estimates" in self._at:
            due = len(self._entries(cells[self._at["resident"]]))
            readers["estimates"] = lambda _: self._counts(cells, due)
        for name, cell in zip(self.names, cells, strict=True):
            try:
                readers.get(name, _number)(cell)
            except Unreadable as error:
                return f"column {name}: {error}"
        return "an answer that cannot be read"

    def _distinct(self, cell: str) -> None:
        seen: set[Key] = set()
        for entry in self._entries(cell):
            if entry in seen:
                raise Unreadable(f"{entry[0]}:{entry[1]} stands there twice")
            seen.add(entry)


def _delivers(operation: Operation | None) -> bool:
    return operation is not None and isinstance(plain(operation), DELIVERS)
