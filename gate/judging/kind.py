"""What kind of fault is it? Shrinking keeps the kind, so that a wrong counter does not end as a wrong digest.

The kind of a broken law is what expected and got say alike before they part: `evictions` of "evictions 1" and
"evictions 2". Only names count: numbers become smaller.
"""

from __future__ import annotations

import re
from itertools import takewhile

from gate.connect.implementation import CRASH
from gate.judging.judge import Fault
from reference.laws import Broken

WORD = re.compile(r"[A-Za-z_][\w-]*|\S")
NAME = re.compile(r"[A-Za-z_][\w-]*")
VALUES = frozenset(("True", "False", "None", "none", "nothing"))
END_OF_A_PROCESS = re.compile(r"ended by signal \w+|exited with code \d+|\w+ at \S+:\d+")
"""What a crash is told by: a signal, an exit code, or an exception and its place."""

Kind = tuple[str, ...]


def kind_of(fault: Fault) -> Kind:
    """The verdict, and which difference it is."""
    if fault.verdict == "fail":
        return (fault.verdict, *_told_alike(fault.broken))
    ended = END_OF_A_PROCESS.match(fault.broken.got) if fault.verdict == CRASH else None
    return (fault.verdict, ended.group() if ended else "")


def _told_alike(broken: Broken) -> Kind:
    """The names with which expected and got begin, until they differ."""
    words = zip(WORD.findall(broken.expected), WORD.findall(broken.got), strict=False)
    alike = takewhile(lambda pair: pair[0] == pair[1], words)
    return tuple(word for word, _ in alike if NAME.fullmatch(word) and word not in VALUES)
