"""Which laws does an audit judge, and when must it not?

Every law of every turn gets a verdict. A law of the cache is `unknown` in a mode that the model
does not cover; every law is `unknown` from a cancelled or failed request on. I8 and the outputs
compare runs with one another: gate/audit_twins.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gate.audit import cache_laws as cache
from gate.audit import row_laws as row
from gate.audit.facts import Facts, Turn
from gate.audit.findings import FAIL, Finding, Judgement, skipped, unknown
from gate.audit.sums import sums
from reference.expert_counters import hit_pct


class Law(NamedTuple):
    """A law on one turn of one run; `of_cache` if it holds only in the modes that the model covers."""

    sentence: str
    judge: Callable[[Facts, Turn], Judgement]
    of_cache: bool


LAWS = {
    "I1": Law("the replay gives residency and bytes of every trace row", cache.residency, True),
    "I2": Law("the replayed hit rate is the printed one at every token", cache.hit_rate, True),
    "I3": Law("bytes read are those of the missed experts, and alignment", row.bytes_read, True),
    "I4": Law("the summary and the output say what the rows say", sums, False),
    "I5": Law("one budget in a turn, and what is resident fits it", row.budget, False),
    "I6": Law("a token reads at most one token demand", row.reads_against_demand, True),
    "I7": Law("one count of prefill lookups explains every hit rate", row.hidden_lookups, True),
    "I9": Law("token demand is that of the model's shape", cache.token_demand, True),
    "I10": Law("evictions are misses less what is resident", cache.evictions, True),
    "I11": Law("no decode hit below the cliff; from one cycle up, repeats hit", cache.cliff, True),
    "I12": Law("memory columns agree", row.memory, False),
    "I13": Law("with dropping, every routed expert is counted", row.dropping, False),
}

TWIN_LAWS = {
    "I8": "runs of one model, prompt, k and budget have the same hits and reads",
    "output": "runs of one model, prompt and k say the same",
}

LAW_IDS = (*(f"I{number}" for number in range(1, 14)), "output")
"""All laws of an audit, in the order they are shown."""


def sentence(law: str) -> str:
    """What a law states, in one line."""
    return LAWS[law].sentence if law in LAWS else TWIN_LAWS[law]


def judge_turn(facts: Facts, turn: Turn) -> Iterator[Finding]:
    """The verdict on every law that concerns one turn alone."""
    for name, law in LAWS.items():
        found = _judgement(law, facts, turn)
        if found.verdict == FAIL and name in turn.doubted:
            found = unknown(f"{turn.doubt} ({found.detail})")
        if turn.naive:
            found = unknown(found.detail + _naive(name, turn))
        yield Finding(name, *found)


def _judgement(law: Law, facts: Facts, turn: Turn) -> Judgement:
    if turn.silence:
        return unknown(turn.silence)
    if law.of_cache and not facts.streams:
        return skipped("experts are not streamed")
    if law.of_cache and facts.mode:
        return unknown(facts.mode)
    return law.judge(facts, turn)


def _naive(law: str, turn: Turn) -> str:
    """What a replay that ignores the break would give, where it differs."""
    rows, naive = turn.rows, turn.naive
    if law == "I1" and naive and naive.bad_rows:
        return f"; a naive replay differs in {len(naive.bad_rows)} rows"
    if law == "I2" and naive and rows and rows.total("cache_hit_pct"):
        replayed = hit_pct(naive.hits, naive.lookups)
        return f"; a naive replay gives {replayed:.1f} %, recorded {rows.total('cache_hit_pct')} %"
    return ""
