"""Does speculation leave demanded experts alone, and is it counted once? Source: Helldez/BigMoeOnEdge at 2d4f2b1."""

from __future__ import annotations

import pytest

from fixtures.expert_histories import history

FULL = "decode 0: 0; decode 0: 1"
"""The budget of two is taken."""


def test_a_finished_prefetch_enters_at_the_cold_end() -> None:
    """It is the next victim, before any demanded expert."""
    cold = history("decode 0: 0; prefetch 0: 1; arrive 0: 1; decode 0: 0")
    assert cold.order == ((0, 1), (0, 0))


def test_a_guess_never_displaces_a_demanded_expert() -> None:
    """With the budget taken, the unused guess leaves at the next batch and both others stay."""
    displaced = history(f"{FULL}; prefetch 0: 2; arrive 0: 2; decode 0: 0")
    assert displaced.resident == {(0, 0), (0, 1)}
    assert displaced.counts("evictions", "spec_experts", "lookups") == (1, 1, 3)


def test_it_is_resident_from_the_next_batch_on() -> None:
    """Completed reads are integrated when a batch begins, not before."""
    waiting = history("prefetch 0: 1; arrive 0: 1; ask 0: 1")
    assert (waiting.last.hits, waiting.count("spec_experts")) == ((False,), 0)
    assert history("prefetch 0: 1; arrive 0: 1; decode 0: 0; ask 0: 1").last.hits == (True,)


def test_its_first_use_is_a_hit_and_useful_once() -> None:
    """Two hits, one useful, no demand read; its bytes are speculative ones."""
    used = history("prefetch 0: 1; arrive 0: 1; decode 0: 1; decode 0: 1")
    assert used.hits == "H H"
    assert used.counts("spec_useful", "spec_experts", "spec_read_bytes", "read_bytes") == (
        1,
        1,
        1,
        0,
    )


def test_retain_is_no_use() -> None:
    """A retained guess is still unused: its first hit is the useful one."""
    retained = history("prefetch 0: 1; arrive 0: 1; decode 0: 0; retain 0: 1; decode 0: 1")
    assert (retained.hits, retained.count("spec_useful")) == ("m H", 1)


def test_a_late_one_is_discarded() -> None:
    """The next batch clears the queue: what arrives afterwards is refused and not resident."""
    late = history("prefetch 0: 1 2; arrive 0: 1; decode 0: 0; arrive 0: 2")
    assert late.refusals == ["not-queued"]
    assert late.resident == {(0, 0), (0, 1)}
    assert late.counts("spec_experts", "spec_read_bytes") == (1, 1)
    then = history("prefetch 0: 1; decode 0: 0; arrive 0: 1; decode 0: 0; decode 0: 1")
    assert then.hits == "m H m"


def test_a_batch_of_any_layer_settles_the_queue() -> None:
    """What is queued for layer 1 is discarded by a load of layer 0, what is complete comes in."""
    settled = history(
        "prefetch 1: 0 1; arrive 1: 0; decode 0: 0; arrive 1: 1; ask 1: 0 1", entry_bytes="1,1"
    )
    assert settled.refusals == ["not-queued"]
    assert settled.last.hits == (True, False)


def test_a_lost_one_leaves_no_trace() -> None:
    """State and counters are as before, and it can be queued again."""
    lost = history(f"{FULL}; prefetch 0: 2; lose 0: 2")
    before = lost.outcome.answers[-3]
    assert (lost.last.counters, lost.order) == (before.counters, before.order)
    assert history("prefetch 0: 2; lose 0: 2; decode 0: 2").hits == "m"
    again = history("prefetch 0: 2; lose 0: 2; prefetch 0: 2; arrive 0: 2; decode 0: 2")
    assert again.hits == "H"


def test_any_number_of_failures_leaves_the_capacity() -> None:
    """After 300 failed prefetches two experts still fit."""
    many = history("prefetch 0: 5; lose 0: 5; " * 300 + f"{FULL}; {FULL}")
    assert many.hits == "m m H H"


@pytest.mark.parametrize("expert", [0, 6, 9])
def test_what_is_resident_or_invalid_is_not_queued(expert: int) -> None:
    """Expert 0 is resident, 6 and 9 are none of the layer: there is nothing that could arrive."""
    skipped = history(f"decode 0: 0; prefetch 0: {expert}; arrive 0: {expert}")
    assert skipped.refusals == ["not-queued"]


def test_what_is_queued_is_not_queued_again() -> None:
    """Two prefetches of one expert read it once."""
    twice = history("prefetch 0: 1; prefetch 0: 1; arrive 0: 1; arrive 0: 1; decode 0: 1")
    assert twice.refusals == ["not-queued"]
    assert twice.counts("spec_read_bytes", "spec_experts") == (1, 1)


def test_several_keep_their_order_at_the_cold_end() -> None:
    """Each enters below all others, so the last to arrive is the next victim."""
    several = history("prefetch 0: 1 2; arrive 0: 1 2; decode 0: 0", budget_bytes=3)
    assert several.order == ((0, 2), (0, 1), (0, 0))


def test_staging_what_was_evicted_is_the_re_read() -> None:
    """It is counted when it is queued, and not again when it is used."""
    staged = history(f"{FULL}; decode 0: 2; prefetch 0: 0; arrive 0: 0; decode 0: 0")
    assert staged.hits == "m m m H"
    assert staged.count("rereads") == 1


def test_an_unused_guess_that_left_can_be_missed() -> None:
    """Its eviction counts, and a later demand for it is a miss and a re-read."""
    missed = history(f"{FULL}; prefetch 0: 2; arrive 0: 2; decode 0: 0; decode 0: 2")
    assert missed.hits == "m m H m"
    assert missed.counts("rereads", "spec_useful") == (1, 0)


def test_a_shrink_settles_what_is_under_way() -> None:
    """What is complete comes in at the cold end and may leave at once; the rest is discarded."""
    shrunk = history(f"{FULL}; prefetch 0: 2 3; arrive 0: 2; end; budget 1; arrive 0: 3")
    assert shrunk.refusals == ["not-queued"]
    assert shrunk.resident == {(0, 1)}
    assert shrunk.counts("spec_experts", "evictions") == (1, 2)


def test_a_grow_settles_nothing() -> None:
    """Queued reads may still arrive after it."""
    grown = history("prefetch 0: 2; end; budget 4; arrive 0: 2; begin; decode 0: 2")
    assert (grown.hits, grown.refusals) == ("H", [])
