"""How unusable input is reported: what is wrong, where, what was expected, and the cure."""

from __future__ import annotations

MIB = 1 << 20
"""Bytes of one MiB: every size at a public surface that says MiB means this."""


class InputError(Exception):
    """A file, a program text or an argument that cannot be used.

    The command line prints it and exits with code 2. Nothing has been written when it is raised.

    Args:
        problem: what is wrong, in one clause.
        source: the file or argument it stands in, as the user named it.
        line: 1-based line in `source`, if there is one.
        column: 1-based column in that line, if it is known.
        expected: what would have been right.
        cure: what the user can do about it.
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str = "",
        line: int | None = None,
        column: int | None = None,
        expected: str = "",
        cure: str = "",
    ) -> None:
        self.problem = problem
        self.source = source
        self.line = line
        self.column = column
        self.expected = expected
        self.cure = cure
        super().__init__(self.render())

    def render(self) -> str:
        """The message as printed: `FILE:LINE:COLUMN: problem`, then what was expected and the cure."""
        place = visible(self.source)
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        lines = [f"{place}: {self.problem}" if place else self.problem]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.cure:
            lines.append(f"  cure: {self.cure}")
        return "\n".join(lines)


def visible(text: str) -> str:
    """`text` on one line, with an escape in place of every sign that would not show, or would steer a terminal."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def printable(text: str, limit: int = 60) -> str:
    """`text` as it may stand in an error message: escaped, and cut after `limit` characters."""
    shown = repr(text[: limit + 1])[1:-1]
    return shown if len(text) <= limit else shown[:limit] + "…"
