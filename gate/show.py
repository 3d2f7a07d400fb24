"""How is something shown on a terminal? Plain tables and lists, and progress where somebody is watching."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from textwrap import indent
from time import monotonic

from reference.errors import visible

SECONDS_BETWEEN = 0.1
"""Between two shown counts: nobody reads faster, and short steps must not wait for the terminal."""

NUMBER = re.compile(r"[-+]?[\d,.]*%?|off|-")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; numbers to the right, words to the left; a row is one line."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(headings, *rows, strict=True)]
    right = [
        bool(rows) and all(NUMBER.fullmatch(row[at]) for row in rows) for at in range(len(headings))
    ]
    for cells in (headings, *rows):
        print(
            "  ".join(
                cell.rjust(width) if to_the_right else cell.ljust(width)
                for cell, width, to_the_right in zip(cells, widths, right, strict=True)
            ).rstrip()
        )


def print_json(items: Iterable[object]) -> None:
    """One list, as `json.dumps(list, indent=1)` writes it, but an item at a time: a long list costs no memory."""
    before = "["
    for item in items:
        print(before + "\n" + indent(json.dumps(item, indent=1), " "), end="")
        before = ","
    print("[]" if before == "[" else "\n]")


def tell(text: str) -> None:
    """Say something on standard error, in place of a line of progress that may stand there."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(text, file=sys.stderr, flush=True)


class Progress:
    """A counter on standard error, only where it is a terminal and not under CI.

    Args:
        what: what is counted.
        total: how many there are; None if that is not known.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.shown = sys.stderr.isatty() and not os.environ.get("CI")
        self._due_s = 0.0

    def step(self, count: int = 1) -> None:
        """`count` more are done."""
        self.done += count
        if self.shown and monotonic() >= self._due_s:
            self._due_s = monotonic() + SECONDS_BETWEEN
            of = "" if self.total is None else f" of {self.total}"
            print(f"\r{self.what}: {self.done}{of}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clear the line."""
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
