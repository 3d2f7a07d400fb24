"""Which tiny programs does a new driver climb first? From an empty one to each capability, each rung one step more.

Each rung names what its step is seen by: a level, or a column. A row cache is tried with one set, so that any hash
places the rows alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.connect.offers import KNOWN_PLACES
from reference.laws import EXPERT, Needs, all_of, one_column
from reference.program import Program
from reference.program_text import parse


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder.

    Args:
        title: what the driver does when it passes.
        program: what it is given.
        needs: what the driver must offer for it, and for the gate to see it.
    """

    title: str
    program: Program
    needs: Needs = ()


def results(*also: str) -> Needs:
    """A step that is seen by the results of operations alone, and what else it needs."""
    return all_of(*also, "level 1")


def seen(*columns: str, also: tuple[str, ...] = ()) -> Needs:
    """A step that is seen by the results of operations, or by one of these columns."""
    return results(*also) + one_column(*columns, also=also)


HITS = ("hits", "decode_hits", "read_bytes", "decode_read_bytes")
LOOKUPS = ("lookups", "decode_lookups")
DEMAND = ("token_demand_bytes", "layer_demand_bytes")
HELD = ("evictions", "resident_bytes", "resident_entries")
SPECULATION = ("spec_experts", "spec_useful")

EXPERT_HEADER = "expert-cache v1 entry_bytes=2,3,- experts=4 k=2 budget_bytes=20"
"""Two MoE layers and a dense one; a token asks for 10 bytes, so two cycles, which are all experts, fit."""

EXPERT_RUNGS: Sequence[tuple[str, str, Needs]] = (
    ("opens a cache", "", ()),
    ("begins and ends a generation", "begin/end", seen("turn")),
    ("reads an expert it has not", "begin/decode 0: 1", seen(*HITS[2:])),
    ("keeps it: the second load hits", "begin/decode 0: 1/decode 0: 1", seen(*HITS)),
    (
        "delivers every slot in routing order",
        "begin/prefill 0: 3 1 3/prefill 1: 2 0 2 1",
        results(),
    ),
    ("skips ids the layer does not have", "begin/decode 0: 9 1/decode 1: 7", seen(*LOOKUPS)),
    ("tells who is resident", "begin/decode 0: 1 2/ask 0: 0 1 2 3/ask 1: 0", results()),
    ("counts its turns", "begin/decode 0: 1/end/begin/cancel", one_column("turn")),
    ("counts the token demand", "begin/decode 0: 1/decode 1: 0 2/decode 0: 3", one_column(*DEMAND)),
    ("refuses outside a generation", "decode 0: 1/end/cancel", seen(*LOOKUPS)),
    ("refuses inside a generation", "begin/begin", results()),
    ("refuses layers without experts", "begin/decode 2: 0/decode 5: 0/decode 0:", results()),
    (
        "evicts the least recent",
        "TIGHT/begin/decode 0: 0 1/decode 1: 0 1/decode 0: 0/decode 0: 2/decode 0: 0/decode 0: 1",
        seen(*HITS),
    ),
    (
        "keeps a batch larger than the budget",
        "TIGHT/begin/decode 0: 0/prefill 1: 0 1 2 3/decode 1: 0 1/decode 0: 0",
        seen(*HITS),
    ),
    (
        "reads an expert again whose slot another had",
        "TIGHT/begin/decode 0: 0 1/decode 1: 0 1/decode 0: 2 3/decode 0: 0 1/decode 1: 2/decode 1: 0",
        results(),
    ),
    ("repeats an operation", "begin/repeat 40 decode 0: 1 2", seen(*LOOKUPS)),
    ("is off without a budget", "OFF/begin/decode 0: 1/decode 0: 1", seen(*LOOKUPS, *HITS)),
    (
        "shrinks and grows",
        "begin/prefill 0: 0 1 2 3/prefill 1: 0/end/budget 10/begin/decode 0: 0/decode 0: 3/end/"
        "budget 0/budget 20/begin/decode 0: 3",
        seen(*HITS, *HELD, also=("resize",)),
    ),
    (
        "changes the top-k",
        "TOP/begin/prefill 0: 0 1 2 3/end/k 4/begin/decode 0: 1/end/k 1/begin/decode 0: 1/decode 0: 1",
        seen(*HITS, *HELD, "budget_bytes", also=("change-k", "budget=cycles")),
    ),
    (
        "prefetches",
        "begin/prefetch 0: 1 2/arrive 0: 1/lose 0: 2/decode 1: 0/decode 0: 1/decode 0: 2/arrive 0: 3",
        seen(*HITS, *SPECULATION, also=("prefetch",)),
    ),
    (
        "retains",
        "TIGHT/begin/decode 0: 0 1/decode 1: 0 1/retain 0: 0/decode 0: 2/decode 0: 0",
        seen(*HITS, also=("retain",)),
    ),
    (
        "survives a failed read",
        "begin/decode 0: 1! 2/decode 0: 1 2",
        seen(*HITS, also=("failed-read",)),
    ),
    (
        "drops cold experts",
        "DROP/begin/decode 0: 1@0.9 2@0.1/decode 0: 3@0.9 0@0.1",
        seen("experts_dropped", *LOOKUPS, also=("dropping",)),
    ),
    (
        "gives each layer its slice",
        "LAYER/begin/decode 0: 0 1/decode 0: 2/decode 0: 0",
        seen(*HITS, also=("policy-layer",)),
    ),
)

FOUND = ("hits", "misses")
TURNED_AWAY = ("refusals", "evictions")

ROW_HEADER = "row-cache v1 sets=1 ways=2"

ROW_RUNGS: Sequence[tuple[str, str, Needs]] = (
    ("opens a cache", "", ()),
    ("reads a row it has not", "gather 7", seen(*FOUND, "added")),
    ("keeps it: the second gather hits", "gather 7/gather 7", seen(*FOUND)),
    ("counts a row once a gather", "gather 7 7 7", one_column("lookups", "misses")),
    ("delivers each row in order of first occurrence", "gather 9 7 9 8589934592 7", results()),
    ("answers an empty gather", "gather", ()),
    ("tells who is resident", "gather 7/ask-rows 7 8 7", results()),
    (
        "admits at equal use and evicts the least recent",
        "gather 1/gather 2/gather 3/gather 2/gather 1",
        seen(*FOUND),
    ),
    ("evicts the least used", "repeat 2 gather 1/gather 2/gather 3/gather 1 2", seen(*FOUND)),
    (
        "refuses a row used less",
        "repeat 3 gather 1/repeat 3 gather 2/gather 3/gather 4/gather 1 2",
        seen(*FOUND, *TURNED_AWAY),
    ),
    ("looks up before it inserts", "gather 1 2 3 4/gather 1 2 3 4", seen(*FOUND)),
    (
        "lets its counts saturate",
        "repeat 300 gather 1/repeat 260 gather 2/repeat 254 gather 3/gather 3/gather 2 1",
        seen(*FOUND, *TURNED_AWAY),
    ),
    ("refuses a table it does not have", "gather 9: 1", results()),
    ("keeps nothing without sets", "EMPTY/gather 1/gather 1", seen(*FOUND, "resident_rows")),
    (
        "reads a row again whose slot another had",
        "gather 1 2/gather 3 4/gather 4 3/gather 1 2/gather 2 1 3",
        results(),
    ),
    (
        "serves two tables",
        "TABLES/gather 1: 7/gather 7/gather 1: 7",
        seen(*FOUND, also=("tables",)),
    ),
    (
        "chooses between two sets",
        "TWO/gather 1/gather 3/gather 5/gather 1 3 5/gather 2 4/gather 6 1",
        seen(*FOUND, also=("two-sets", KNOWN_PLACES)),
    ),
    (
        "places rows as told",
        "PLACED/gather 1 2 3 4 5 6 7 8/gather 8 7 6 5 4 3 2 1",
        seen(*FOUND, also=("injected-placement",)),
    ),
    (
        "halves its counts",
        "HALVE/repeat 3 gather 1/gather 2/gather 3/gather 4/gather 1",
        seen(*FOUND, also=("halving",)),
    ),
    ("reads ahead", "insert 1/insert 1 2 3/gather 1 3", seen(*FOUND, also=("read-ahead",))),
    (
        "holds pinned rows",
        "gather 1 2/pin 1 2/gather 3/unpin 1/gather 3/unpin 9/gather 1 2",
        seen(*FOUND, also=("pins",)),
    ),
)

HEADERS = {
    "TIGHT": EXPERT_HEADER.replace("=20", "=10"),
    "TOP": EXPERT_HEADER.replace("=20", "=17"),
    "OFF": EXPERT_HEADER.replace("=20", "=0"),
    "DROP": f"{EXPERT_HEADER} drop_fraction=0.5",
    "LAYER": f"{EXPERT_HEADER} policy=layer".replace("=20", "=10"),
    "EMPTY": ROW_HEADER.replace("sets=1", "sets=0"),
    "TABLES": ROW_HEADER.replace("sets=1", "sets=1,1"),
    "TWO": "row-cache v1 sets=2 ways=2 candidate_sets=2"
    + "".join(f"\nplace {row} sets {row % 2} {1 - row % 2}" for row in range(1, 7)),
    "PLACED": "row-cache v1 sets=8 ways=1"
    + "".join(f"\nplace {row} sets {row - 1}" for row in range(1, 9)),
    "HALVE": f"{ROW_HEADER} halve_every=4",
}
"""The first lines of rungs that are not opened as the others are."""

LONG, WIDE = 800, 40
"""Operations of the last rung, and ids of each: more bytes than the pipes hold, both ways."""


def ladder(cache: str) -> list[Rung]:
    """The rungs of one kind of cache, in the order in which they are climbed."""
    of_expert = cache == EXPERT
    header, texts = (EXPERT_HEADER, EXPERT_RUNGS) if of_expert else (ROW_HEADER, ROW_RUNGS)
    rungs = [Rung(title, _program(header, body), needs) for title, body, needs in texts]
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
