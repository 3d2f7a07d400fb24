"""Does a session of the expert cache keep its turns, counters and refusals? Source: Helldez/BigMoeOnEdge at 2d4f2b1."""

from __future__ import annotations

import pytest

from fixtures.expert_histories import History, history, played, program
from reference.expert_counter_laws import CUMULATIVE
from reference.expert_session import NOT_AN_OPERATION, REFUSALS
from reference.program import Gather, Load, Program, Repeat

# Turns


def test_the_cache_stays_warm_between_turns() -> None:
    """What a turn loaded hits in the next one; no counter starts anew."""
    two = history("decode 0: 0; end; begin; decode 0: 0; end")
    assert two.hits == "m H"
    assert two.counts("turn", "lookups", "hits", "read_bytes") == (2, 2, 1, 1)


@pytest.mark.parametrize(
    "operations, turns",
    [
        ("end", 1),
        ("cancel", 0),
        ("prefill 0: 0; cancel", 0),
        ("decode 0: 0; cancel", 1),
        ("decode 0: 0; cancel; begin; cancel", 1),
        ("decode 0: 0; cancel; begin; prefill 0: 0; end", 2),
    ],
)
def test_a_turn_counts_once_it_decoded(operations: str, turns: int) -> None:
    """An end always counts; a cancel only after the first decode of its own generation."""
    assert history(operations).count("turn") == turns


def test_a_cancel_rolls_nothing_back() -> None:
    """What the aborted generation loaded stays, and its counters stand."""
    cancelled = history("decode 0: 0; decode 0: 1; cancel; begin; decode 0: 0")
    assert cancelled.hits == "m m H"
    assert cancelled.counts("lookups", "read_bytes") == (3, 2)


# Counters


def test_every_counter_reads_zero_at_the_start() -> None:
    """Before the first operation all cumulative counters are there, and 0."""
    opened = played(program("begin")).outcome.opened.counters
    assert {name: opened[name] for name in CUMULATIVE} == dict.fromkeys(CUMULATIVE, 0)


def test_prefill_and_decode_are_told_apart() -> None:
    """A prefill leaves the decode counters alone; the difference to the totals is the prefill's."""
    both = history("prefill 0: 0 1; decode 0: 0; decode 0: 2")
    assert both.counts("lookups", "hits", "read_bytes") == (4, 1, 3)
    assert both.counts("decode_lookups", "decode_hits", "decode_read_bytes") == (2, 1, 1)


def test_token_demand_lags_one_pass() -> None:
    """A pass over the layers is published when the next one begins: layer index not above the last."""
    layers = {"entry_bytes": "2,3", "budget_bytes": 5}
    first = history("decode 0: 0; decode 1: 0", **layers)
    second = history("decode 0: 0; decode 1: 0; decode 0: 1", **layers)
    third = history("decode 0: 0; decode 1: 0; decode 0: 1; decode 1: 1 2; decode 0: 0", **layers)
    demands = [h.counts("token_demand_bytes", "layer_demand_bytes") for h in (first, second, third)]
    assert demands == [(0, 0), (5, 3), (8, 6)]


def test_the_demand_after_one_token_is_the_prompts() -> None:
    """The last pass that is complete is the prefill, whose union is larger than any token."""
    union = history("prefill 0: 0 1 2 0; prefill 1: 0; decode 0: 0; decode 1: 0", entry_bytes="2,3")
    assert union.counts("token_demand_bytes", "layer_demand_bytes") == (9, 6)


def test_a_layer_that_comes_again_begins_a_pass() -> None:
    """With one MoE layer every load is a pass of its own."""
    assert history("decode 0: 0 1; decode 0: 0").count("token_demand_bytes") == 2


def test_retain_makes_recent_without_counting() -> None:
    """Expert 0 survives in place of 1; an absent expert is not fetched; no lookup, no read."""
    retained = history("decode 0: 0; decode 0: 1; retain 0: 0 5; decode 0: 2")
    assert retained.resident == {(0, 0), (0, 2)}
    assert retained.counts("lookups", "hits", "read_bytes") == (3, 0, 3)


def test_a_repeat_is_that_many_operations() -> None:
    """The answer is the last application's, the counters are of all."""
    repeated = history("repeat 3 decode 0: 0")
    assert repeated.last.hits == (True,)
    assert repeated.counts("lookups", "hits") == (3, 2)


# Refusals


REFUSED = [
    ("no-generation", "end; decode 0: 0", {}),
    ("no-generation", "end; prefetch 0: 0", {}),
    ("no-generation", "end; retain 0: 0", {}),
    ("no-generation", "end; end", {}),
    ("no-generation", "end; cancel", {}),
    ("in-generation", "decode 0: 0; begin", {}),
    ("in-generation", "decode 0: 0; budget 1", {}),
    ("in-generation", "decode 0: 0; k 2", {}),
    ("no-such-layer", "decode 0: 0; decode 1: 0", {}),
    ("dense-layer", "decode 0: 0; decode 1: 0", {"entry_bytes": "1,-"}),
    ("dense-layer", "decode 0: 0; prefetch 1: 0", {"entry_bytes": "1,-"}),
    ("no-experts", "decode 0: 0; decode 0:", {}),
    ("no-experts", "decode 0: 0; retain 0:", {}),
    ("cache-off", "decode 0: 0; prefetch 0: 1", {"budget_bytes": 0}),
    ("cache-off", "decode 0: 0; retain 0: 0", {"budget_bytes": 0}),
    ("not-queued", "decode 0: 0; arrive 0: 1", {}),
    ("not-queued", "decode 0: 0; lose 0: 0", {}),
    ("not-queued", "decode 0: 0; arrive 0:", {}),
]


@pytest.mark.parametrize("refusal, operations, settings", REFUSED)
def test_what_is_out_of_place_is_refused_by_name(
    refusal: str, operations: str, settings: dict[str, object]
) -> None:
    """And it changes nothing: no counter, no residency, no order."""
    refused = history(operations, **settings)
    assert refused.refusals == [refusal]
    before, after = refused.outcome.answers[-2:]
    assert (before.counters, before.resident, before.order) == (
        after.counters,
        after.resident,
        after.order,
    )


def test_an_operation_of_the_row_cache_is_refused() -> None:
    """No text says it, but a program is a value and may hold it."""
    small = program("begin")
    mixed = played(Program(small.config, (*small.operations, Gather((1,)))))
    assert mixed.refusals == [NOT_AN_OPERATION]


def test_every_refusal_has_its_example() -> None:
    """The list above leaves none out."""
    assert {refusal for refusal, _, _ in REFUSED} | {NOT_AN_OPERATION} == set(REFUSALS)


def test_a_refused_repeat_changes_nothing() -> None:
    """Many refusals are one refusal."""
    small = program("")
    refused: History = played(Program(small.config, (Repeat(300, Load(0, (0,))),)))
    assert refused.refusals == ["no-generation"]
    assert refused.last.counters == refused.outcome.opened.counters
