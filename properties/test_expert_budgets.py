"""Which budget does a request give, and what does a change of it do to the cache?

One row a case of the engine's table (Helldez/BigMoeOnEdge at 2d4f2b1) and of the proposal's rules (BigMoeOnEdge#103).
All experts of the usual small model are six bytes.
"""

from __future__ import annotations

import pytest

from fixtures.expert_histories import ENGINE, history
from reference.errors import MIB

THREE = "decode 0: 0; decode 0: 1; decode 0: 2"

# What a request gives


@pytest.mark.parametrize(
    "request_bytes, granted", [(0, 0), (1, 0), (3, 0), (4, 4), (5, 4), (7, 4), (8, 8), (1 << 40, 8)]
)
def test_a_request_is_floored_to_whole_cycles(request_bytes: int, granted: int) -> None:
    """TD is 4 and all experts are 6: budgets are 0, 4 and 8, the least multiple that holds all."""
    opened = history("ask 0: 0", k=4, budget_bytes=request_bytes)
    changed = history(f"end; budget {request_bytes}", k=4, budget_bytes=4)
    assert (opened.count("budget_bytes"), changed.count("budget_bytes")) == (granted, granted)


@pytest.mark.parametrize(
    "entry_bytes, k, request_bytes, granted",
    [
        ("1,-", 2, 3, 2),  # a dense layer asks for nothing
        ("1,5", 1, 11, 6),  # each layer has its own size
        (f"{3 << 30},{3 << 30}", 1, 11 << 30, 6 << 30),  # beyond 2^32
    ],
)
def test_a_cycle_is_what_all_layers_ask_for(
    entry_bytes: str, k: int, request_bytes: int, granted: int
) -> None:
    """The sum over MoE layers of min(k, experts) * entry bytes, whatever its size."""
    opened = history("end", entry_bytes=entry_bytes, k=k, budget_bytes=request_bytes)
    assert opened.count("budget_bytes") == granted


def test_a_model_without_experts_has_no_budget() -> None:
    """No cycle, no cache: the budget is 0 whatever is asked for."""
    dense = history("end; budget 9", entry_bytes="-", budget_bytes=5)
    assert dense.count("budget_bytes") == 0


def test_a_model_without_experts_shrinks_by_layers_that_are_not_there() -> None:
    """Under policy layer a shrink divides the budget among the MoE layers, of which there may be none."""
    dense = history(
        "end; budget 0", entry_bytes="-", budget_bytes=1, policy="layer", budget_rule="bytes"
    )
    assert dense.count("budget_bytes") == 0


@pytest.mark.parametrize(
    "opened, requests, budget, resizes",
    [
        (0, "budget 4", 0, 0),  # opened without a cache: never to be turned on
        (4, "budget 4", 4, 0),
        (4, "budget 5", 5, 1),
        (4, "budget 100", 6, 1),  # a grow ends at all experts
        (6, "budget 100", 6, 1),  # and counts even where that changes nothing
        (4, "budget 2", 2, 1),
        (4, "budget 0", 1, 1),  # a shrink to 0 is one byte
        (4, "budget 0; budget 0", 1, 2),
        (100, "budget 100", 100, 0),  # the opening budget is not bounded
        (100, "budget 50", 50, 1),  # nor is a shrink
    ],
)
def test_the_engines_table(opened: int, requests: str, budget: int, resizes: int) -> None:
    """Each case of the engine's runtime resize, on a model of six bytes."""
    changed = history(f"end; {requests}", budget_bytes=opened, **ENGINE)
    assert changed.counts("budget_bytes", "resizes") == (budget, resizes)


def test_the_engines_quirk_a_grow_may_lower_the_budget() -> None:
    """1 MiB opened on a model of 4800 bytes, then 2 MB asked for: the budget falls to 4800."""
    quirk = history(
        "end; budget 2000000", entry_bytes=800, experts=6, budget_bytes=1 * MIB, **ENGINE
    )
    assert quirk.counts("budget_bytes", "resizes", "evictions") == (4800, 1, 0)


def test_a_request_that_floors_to_the_same_budget_is_no_resize() -> None:
    """With whole cycles a resize counts iff the budget changes."""
    changed = history("end; budget 5; budget 7; budget 8; budget 100", k=4, budget_bytes=4)
    assert changed.counts("budget_bytes", "resizes") == (8, 1)


# What a change does


def test_a_grow_evicts_nothing() -> None:
    """What was resident hits afterwards."""
    grown = history("decode 0: 0; decode 0: 1; end; budget 4; begin; decode 0: 0; decode 0: 2")
    assert grown.hits == "m m H m"
    assert grown.counts("evictions", "resizes", "resident_bytes") == (0, 1, 3)


def test_a_shrink_keeps_the_most_recent() -> None:
    """Its evictions are counted, and a miss of what it evicted is a re-read."""
    shrunk = history(f"{THREE}; end; budget 1; begin; decode 0: 2; decode 0: 0", budget_bytes=3)
    assert shrunk.hits == "m m m H m"
    assert shrunk.counts("evictions", "rereads") == (3, 1)


def test_a_shrink_protects_nothing() -> None:
    """Not even the batch just loaded, which alone exceeds the new budget."""
    shrunk = history("prefill 0: 0 1 2; end; budget 1")
    assert shrunk.resident == {(0, 2)}


def test_after_a_shrink_the_budget_holds_for_every_batch() -> None:
    """The cache does not grow back to what it was."""
    shrunk = history(f"{THREE}; end; budget 1; begin; {THREE}", budget_bytes=3)
    assert [answer.counters["resident_bytes"] for answer in shrunk.outcome.answers[-3:]] == [1] * 3


def test_a_shrink_to_zero_is_off_and_a_grow_turns_it_on() -> None:
    """Everything leaves, loads are not counted while it is off, and afterwards it fills from nothing."""
    off_and_on = history(
        "decode 0: 0; end; budget 0; begin; decode 0: 0; end; budget 2; begin; decode 0: 0; decode 0: 0"
    )
    assert off_and_on.hits == "m m m H"
    assert off_and_on.counts("lookups", "evictions", "rereads", "resizes") == (3, 1, 1, 2)


def test_one_byte_is_not_off() -> None:
    """The engine's shrink to 0: everything leaves, but lookups are counted and the last batch hits again."""
    one_byte = history(
        "decode 0: 0; end; budget 0; begin; decode 0: 0; decode 0: 0", entry_bytes=3, **ENGINE
    )
    assert one_byte.hits == "m m H"
    assert one_byte.counts("budget_bytes", "lookups", "resident_bytes") == (1, 3, 3)


@pytest.mark.parametrize("budget_bytes", [0, 1, 3, 4])
def test_every_edge_opens_and_serves(budget_bytes: int) -> None:
    """0, one byte, one byte below a cycle and exactly one: each opens; a repeated load hits from a cycle up."""
    edge = history("decode 0: 0 1 2 3; decode 0: 0 1 2 3", k=4, budget_bytes=budget_bytes)
    assert edge.hits == ("mmmm HHHH" if budget_bytes == 4 else "mmmm mmmm")


# When it may change


def test_no_resize_inside_a_generation() -> None:
    """It is refused by name and changes nothing; the engine's rules carry it out at once."""
    asked = "decode 0: 0; decode 0: 1; budget 1"
    refused = history(asked)
    assert refused.refusals == ["in-generation"]
    assert refused.counts("budget_bytes", "resident_bytes", "resizes") == (2, 2, 0)
    later = history(f"{asked}; decode 0: 0; end; begin; decode 0: 1")
    assert (later.refusals, later.hits) == (["in-generation"], "m m H H")
    assert later.count("budget_bytes") == 2
    applied = history(asked, **ENGINE)
    assert (applied.refusals, applied.resident) == ([], {(0, 1)})


# The top-k changes


def test_a_new_k_floors_the_budget_at_once() -> None:
    """3 bytes were asked for: three cycles of 1 byte, but only one of 2; the least recent leaves at once."""
    changed = history(f"{THREE}; end; k 2", budget_bytes=3)
    assert changed.counts("budget_bytes", "evictions", "resizes") == (2, 1, 1)
    assert changed.resident == {(0, 1), (0, 2)}


def test_it_is_the_request_that_is_floored_again() -> None:
    """Back at k = 1 the three bytes asked for are granted again, not what was left of them."""
    assert history("end; k 2; k 1", budget_bytes=3).counts("budget_bytes", "resizes") == (3, 2)


def test_the_top_budget_follows_k() -> None:
    """All six experts fit in exactly six cycles of 1 byte, or in eight bytes of two cycles of 4."""
    assert history("end; budget 100; k 4", k=1).count("budget_bytes") == 8
    assert history("end; budget 100; k 1", k=4).count("budget_bytes") == 6


def test_a_k_above_the_experts_counts_the_experts() -> None:
    """k = 9 of six experts: a cycle is six bytes."""
    assert history("end; k 9; budget 7").count("budget_bytes") == 6


def test_the_engine_keeps_its_bytes_when_k_changes() -> None:
    """No cycle, so nothing to floor; k is never touched by sizing, nor sizing by k."""
    kept = history(f"{THREE}; end; k 2", budget_bytes=3, **ENGINE)
    assert kept.counts("budget_bytes", "resident_bytes", "resizes") == (3, 3, 0)


def test_k_does_not_change_inside_a_generation() -> None:
    """It is refused by name."""
    refused = history("k 2; end; budget 3", budget_bytes=2)
    assert (refused.refusals, refused.count("budget_bytes")) == (["in-generation"], 3)
