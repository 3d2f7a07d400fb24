"""What does a difference from the reference most likely mean, and what cures it? For those who write a driver."""

from __future__ import annotations

from collections.abc import Iterator

from gate.connect.implementation import CRASH, HANG, Failure
from reference.backing_store import digest, expert_key, row_key, value
from reference.hashing import MASK64, mix
from reference.program import Gather, Load, Operation, plain

CURES = {
    "refusal": "refuse what is out of place by its name, change nothing; what is in place is answered with -",
    "hits": "one flag for each distinct valid id, in order of first occurrence, as it was before the operation",
    "read bytes": "the entry bytes of every distinct expert that was not resident, 0 when all were",
    "digest": "d = 0; for each delivered value v: d = mix(d XOR v); one value a valid slot, in routing order",
    "resident": "every resident entry after the operation, as LAYER:EXPERT or TABLE:ROW",
    "victim order": "the resident entries after the operation, the next victim first",
    "estimates": "the least of the row's cells in the sketch, after the operation",
    "lookups": "one a distinct valid id of a batch or gather; repeats count nothing",
    "budget_bytes": "the budget in force: whole cycles where budget_rule=cycles, the request where it is bytes",
    "token_demand_bytes": "the distinct bytes of one pass over the layers, told when the next pass begins",
    "layer_demand_bytes": "the largest layer of that pass, told when the next pass begins",
    "turn": "generations that ended; one cancelled before its first decode does not count",
    "evictions": "entries that left, those of a shrink included",
    "rereads": "misses, and queued prefetches, of an entry that was evicted before",
    "capacity_rows": "sets * ways over all tables",
}
"""By what differs: a result, or the name of a counter."""

RESULTS = ("refusal", "hits", "read bytes", "digest", "resident", "victim order", "estimates")
"""What differs and is no counter."""

OTHERWISE = "docs/protocol.md says what every column means"
UNANSWERED = {
    HANG: "print a line for the opening and one for each operation, then `done`, and flush stdout after it",
    CRASH: "run it by hand with the lines below and look at where it ends",
}


def cure_of_failure(failure: Failure) -> str:
    """What to do about a crash, a hang or garbage."""
    return UNANSWERED.get(failure.verdict, OTHERWISE)


def cure_of_difference(what: str, operation: Operation | None, got: int | None) -> str:
    """What to do about a column that differs.

    Args:
        what: the result or counter, as reference/lockstep.py names it.
        operation: what was answered, None for the opening.
        got: the digest that came, where that is what differs.
    """
    general = CURES.get(what, OTHERWISE)
    if what not in RESULTS:
        return f"{general}; what your cache does not count, leave out of the columns"
    if what != "digest" or got is None or operation is None:
        return general
    for mistake, wrong in _mistaken_digests(operation):
        if wrong == got:
            return f"{mistake}; {general}"
    return general


def _mistaken_digests(operation: Operation) -> Iterator[tuple[str, int]]:
    """Digests that a driver gives which makes one known mistake."""
    act = plain(operation)
    if isinstance(act, Load):
        keys = [expert_key(act.layer, expert) for expert in act.experts]
    elif isinstance(act, Gather):
        keys = [row_key(act.table, row) for row in act.rows]
    else:
        return
    distinct = list(dict.fromkeys(keys))
    yield (
        "each distinct id is digested once, its repeats are left out",
        digest(map(value, distinct)),
    )
    yield "repeats are digested too, a row counts once a gather", digest(map(value, keys))
    yield "the ids are digested in ascending order", digest(map(value, sorted(keys)))
    yield "the ids are digested in ascending order", digest(map(value, sorted(distinct)))
    yield "the keys are digested in place of their values", digest(keys)
    yield "value(key) lacks the addition before mix", digest(map(mix, keys))
    yield "the layer, or table, is not in the key", digest(value(key & 0xFFFFFFFF) for key in keys)
    yield "the values are only XORed", _xor(map(value, keys))
    swapped = digest(map(value, keys)).to_bytes(8, "little")
    yield "the bytes of the digest are printed in reverse", int.from_bytes(swapped, "big")


def _xor(values: Iterator[int]) -> int:
    together = 0
    for each in values:
        together ^= each
    return together & MASK64
