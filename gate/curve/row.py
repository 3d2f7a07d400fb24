"""What is one row of a hit curve?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CurveRow:
    """One budget of one policy on one trace; the fields are those of `--json`.

    turn: None when the row is over all turns of a trace that has several. hit_pct, decode_hit_pct: None with the cache
    off or without lookups. read_bytes: logical, prefill included.
    """

    trace: str
    turn: int | None
    policy: str
    budget_bytes: int
    cycles: float
    hit_pct: float | None
    decode_hit_pct: float | None
    hits: int
    lookups: int
    decode_hits: int
    decode_lookups: int
    read_bytes: int
    decode_read_bytes: int
    evictions: int
    rereads: int
