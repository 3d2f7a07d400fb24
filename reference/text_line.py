"""One line of a program text, read from left to right; an error knows its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from reference.errors import InputError, printable

MAX_NUMBER = (1 << 64) - 1
MAX_WORDS = 1 << 17
"""Most words of a line, and of a text."""

WORD = re.compile(r"\S+")


class Line:
    """The tokens of a line with their columns; `#` starts a comment."""

    def __init__(self, text: str, number: int, source: str) -> None:
        self.number = number
        self.source = source
        body = text.split("#", 1)[0]
        words = islice(WORD.finditer(body), MAX_WORDS + 1)
        self.tokens = [(match.group(), match.start() + 1) for match in words]
        self.next = len(self.tokens)
        if self.next > MAX_WORDS:
            raise self.fail("the line is too long", f"at most {MAX_WORDS} words")
        self.next = 0

    def fail(self, problem: str, expected: str, cure: str = "") -> InputError:
        """An error at the token last taken."""
        taken = max(self.next - 1, 0)
        column = self.tokens[taken][1] if self.tokens else 1
        return InputError(
            problem,
            source=self.source,
            line=self.number,
            column=column,
            expected=expected,
            cure=cure,
        )

    def peek(self) -> str:
        """The next token, or "" at the end."""
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def take(self, expected: str) -> str:
        """The next token."""
        if self.next >= len(self.tokens):
            raise self.fail("the line ends too early", expected)
        self.next += 1
        return self.tokens[self.next - 1][0]

    def rest(self) -> Iterable[str]:
        """The remaining tokens, one by one."""
        while self.next < len(self.tokens):
            self.next += 1
            yield self.tokens[self.next - 1][0]

    def number_of(self, text: str, expected: str, least: int = 0, most: int = MAX_NUMBER) -> int:
        """`text` as an integer of the range."""
        if not (text.isascii() and text.isdigit() and len(text) <= 20):
            raise self.fail(f"{printable(text)} is not a whole number", expected)
        if not least <= int(text) <= most:
            raise self.fail(f"{text} is out of range", f"{expected}, from {least} to {most}")
        return int(text)

    def integer(self, expected: str, least: int = 0, most: int = MAX_NUMBER) -> int:
        """The next token as an integer."""
        return self.number_of(self.take(expected), expected, least, most)

    def scope(self, expected: str) -> int:
        """The next token, a number with a colon behind it: a layer or a table."""
        token = self.take(expected)
        if not token.endswith(":"):
            raise self.fail(f"{printable(token)} has no colon behind it", expected)
        return self.number_of(token[:-1], expected, most=1 << 32)

    def done(self) -> None:
        """Nothing may follow."""
        if self.peek():
            self.next += 1
            raise self.fail(
                f"{printable(self.tokens[self.next - 1][0])} is too much", "the end of the line"
            )
