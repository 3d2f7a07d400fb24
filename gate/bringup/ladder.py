"""Which tiny programs does a new driver climb first? From an empty one to each capability, each rung one step more.

A row cache is tried with one set, so that any hash places the rows alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference.laws import EXPERT
from reference.program import Program
from reference.program_text import parse


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder.

    Args:
        title: what the driver does when it passes.
        program: what it is given.
        capability: what it needs, "" for nothing.
    """

    title: str
    program: Program
    capability: str = ""


EXPERT_HEADER = "expert-cache v1 entry_bytes=2,3,- experts=4 k=2 budget_bytes=20"
"""Two MoE layers and a dense one; a token asks for 10 bytes, so two cycles fit."""

EXPERT_RUNGS: Sequence[tuple[str, str, str]] = (
    ("opens a cache", "", ""),
    ("begins and ends a generation", "begin/end", ""),
    ("reads an expert it has not", "begin/decode 0: 1", ""),
    ("keeps it: the second load hits", "begin/decode 0: 1/decode 0: 1", ""),
    ("delivers every slot in routing order", "begin/prefill 0: 3 1 3/prefill 1: 2 0 2 1", ""),
    ("skips ids the layer does not have", "begin/decode 0: 9 1/decode 1: 7", ""),
    ("tells who is resident", "begin/decode 0: 1 2/ask 0: 0 1 2 3/ask 1: 0", ""),
    ("counts tokens, demand and turns", "begin/decode 0: 1/decode 1: 0 2/decode 0: 3/end", ""),
    ("refuses outside a generation", "decode 0: 1/end/cancel", ""),
    ("refuses inside a generation", "begin/begin", ""),
    ("refuses layers without experts", "begin/decode 2: 0/decode 5: 0/decode 0:", ""),
    ("evicts the least recent", "begin/prefill 0: 0 1 2 3/prefill 1: 0 1 2 3/prefill 0: 0", ""),
    ("repeats an operation", "begin/repeat 40 decode 0: 1 2", ""),
    ("is off without a budget", "OFF/begin/decode 0: 1/decode 0: 1", ""),
    ("shrinks and grows", "begin/prefill 0: 0 1 2 3/end/budget 10/budget 0/budget 20", "resize"),
    ("changes the top-k", "begin/prefill 0: 0 1 2 3/end/k 1/k 4", "change-k"),
    (
        "prefetches",
        "begin/prefetch 0: 1 2/arrive 0: 1/lose 0: 2/decode 1: 0/decode 0: 1/arrive 0: 3",
        "prefetch",
    ),
    ("retains", "begin/decode 0: 1/decode 0: 2/retain 0: 1", "retain"),
    ("survives a failed read", "begin/decode 0: 1! 2/decode 0: 1 2", "failed-read"),
    ("drops cold experts", "DROP/begin/decode 0: 1@0.9 2@0.1/decode 0: 3@0.9 0@0.1", "dropping"),
    ("gives each layer its slice", "LAYER/begin/prefill 0: 0 1 2 3/decode 1: 0 1", "policy-layer"),
)

ROW_HEADER = "row-cache v1 sets=1 ways=2"

ROW_RUNGS: Sequence[tuple[str, str, str]] = (
    ("opens a cache", "", ""),
    ("reads a row it has not", "gather 7", ""),
    ("keeps it: the second gather hits", "gather 7/gather 7", ""),
    ("counts a row once a gather", "gather 7 7 7", ""),
    ("delivers each row in order of first occurrence", "gather 9 7 9 8589934592 7", ""),
    ("answers an empty gather", "gather", ""),
    ("tells who is resident", "gather 7/ask-rows 7 8 7", ""),
    ("admits at equal use and evicts the least recent", "gather 1/gather 2/gather 3/gather 1", ""),
    ("refuses a row used less", "repeat 3 gather 1/repeat 3 gather 2/gather 3/gather 4", ""),
    ("looks up before it inserts", "gather 1 2 3 4/gather 1 2 3 4", ""),
    ("lets its counts saturate", "repeat 300 gather 1/repeat 254 gather 2/gather 3", ""),
    ("refuses a table it does not have", "gather 9: 1", ""),
    ("keeps nothing without sets", "EMPTY/gather 1/gather 1", ""),
    ("serves two tables", "TABLES/gather 1: 7/gather 7/gather 1: 7", "tables"),
    ("chooses between two sets", "TWO/gather 1 2 3 4 5/gather 1 6", "two-sets"),
    ("places rows as told", "PLACED/gather 1 2 3/gather 1 2 3", "injected-placement"),
    ("halves its counts", "HALVE/gather 1/repeat 5 gather 2/gather 3/gather 4", "halving"),
    ("reads ahead", "insert 1/insert 1 2 3/gather 1 3", "read-ahead"),
    ("holds pinned rows", "gather 1 2/pin 1 2/gather 3/unpin 1/gather 3/unpin 9", "pins"),
)

HEADERS = {
    "OFF": EXPERT_HEADER.replace("=20", "=0"),
    "DROP": f"{EXPERT_HEADER} drop_fraction=0.5",
    "LAYER": f"{EXPERT_HEADER} policy=layer",
    "EMPTY": ROW_HEADER.replace("sets=1", "sets=0"),
    "TABLES": ROW_HEADER.replace("sets=1", "sets=1,1"),
    "TWO": "row-cache v1 sets=2 ways=2 candidate_sets=2"
    + "".join(f"\nplace {row} sets {row % 2} {1 - row % 2}" for row in range(1, 7)),
    "PLACED": "row-cache v1 sets=2 ways=1\nplace 1 sets 0\nplace 2 sets 1\nplace 3 sets 1",
    "HALVE": f"{ROW_HEADER} halve_every=4",
}
"""The first lines of rungs that are not opened as the others are."""

LONG, WIDE = 800, 40
"""Operations of the last rung, and ids of each: more bytes than the pipes hold, both ways."""


def ladder(cache: str) -> list[Rung]:
    """The rungs of one kind of cache, in the order in which they are climbed."""
    of_expert = cache == EXPERT
    header, texts = (EXPERT_HEADER, EXPERT_RUNGS) if of_expert else (ROW_HEADER, ROW_RUNGS)
    rungs = [Rung(title, _program(header, body), needed) for title, body, needed in texts]
    acts = ("prefill 0:" + " 1 2" * WIDE, "prefill 1:" + " 3 0" * WIDE)
    if not of_expert:
        acts = ("gather" + " 1 2 3" * WIDE, "gather" + " 4 1" * WIDE)
    body = "begin/" * of_expert + "/".join(acts * (LONG // 2))
    return [*rungs, Rung("takes a long program", _program(header, body))]


def _program(header: str, body: str) -> Program:
    """A program of operations with slashes between; a first word in capitals names its header."""
    named, _, rest = body.partition("/")
    if named in HEADERS:
        header, body = HEADERS[named], rest
    return parse(header + "\n" + body.replace("/", "\n"))
