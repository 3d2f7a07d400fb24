"""Does one batch of the expert cache do what the specification says: lookups, recency, protection, failed reads?

Scenarios small enough to follow by hand; every number was worked out from the rules. Source of the rules:
Helldez/BigMoeOnEdge at 2d4f2b1 and BigMoeOnEdge#103.
"""

from __future__ import annotations

from random import Random

import pytest

from fixtures.expert_histories import ENGINE, history, own_bytes
from reference.expert_counters import hit_pct

# Lookups and recency


def test_a_repeated_expert_is_one_lookup() -> None:
    """Three slots, two experts: two lookups, two reads, flags in order of first occurrence."""
    batch = history("decode 0: 1; prefill 0: 3 1 3")
    assert batch.hits == "m mH"
    assert batch.counts("lookups", "hits", "read_bytes") == (3, 1, 2)


def test_recency_is_that_of_the_last_occurrence() -> None:
    """0 1 2 0 leaves 1 as the next victim and 0 as the most recent."""
    assert history("prefill 0: 0 1 2 0", budget_bytes=3).order == ((0, 1), (0, 2), (0, 0))


def test_ids_outside_the_layer_are_skipped() -> None:
    """They are no lookup and deliver nothing; a batch of nothing else is carried out all the same."""
    batch = history("decode 0: 9 1; decode 0: 6")
    assert (batch.hits, batch.refusals) == ("m -", [])
    assert batch.counts("lookups", "read_bytes") == (1, 1)
    assert batch.outcome.answers[1].digest == own_bytes(0, 1)


def test_all_layers_share_one_list() -> None:
    """No quota: two experts of layer 0 take the whole budget, and layer 1 loses its own."""
    shared = history("decode 1: 0; decode 0: 0; decode 0: 1", entry_bytes="1,1")
    assert shared.resident == {(0, 0), (0, 1)}


def test_delivered_bytes_come_in_routing_order() -> None:
    """Each slot delivers its expert, repeats too; another order or another layer is another digest."""
    answer = history("prefill 1: 3 1 3", entry_bytes="1,1").last
    assert answer.digest == own_bytes(1, 3, 1, 3)
    assert answer.digest not in (own_bytes(1, 1, 3, 3), own_bytes(1, 3, 1), own_bytes(0, 3, 1, 3))
    mixed = history("decode 0: 1; prefill 0: 0 1 2").last
    assert (mixed.hits, mixed.digest) == ((False, True, False), own_bytes(0, 0, 1, 2))


@pytest.mark.parametrize("use", ["decode 0: 0", "prefill 0: 0"])
def test_a_hit_makes_recent_in_either_phase(use: str) -> None:
    """Expert 1 leaves in place of 0, which was used again."""
    assert history(f"decode 0: 0; decode 0: 1; {use}; decode 0: 2").resident == {(0, 0), (0, 2)}


def test_to_ask_is_no_use() -> None:
    """A query of residency leaves the order as it is."""
    assert history("decode 0: 0; decode 0: 1; ask 0: 0").order == ((0, 0), (0, 1))


def test_it_is_recency_that_counts_not_frequency() -> None:
    """Three uses long ago weigh less than one just now."""
    assert history("repeat 3 decode 0: 0; decode 0: 1; decode 0: 2").resident == {(0, 1), (0, 2)}


# Protection and eviction


def test_nothing_of_a_batch_is_evicted_by_it() -> None:
    """A batch above the budget stays whole; everything else leaves."""
    batch = history("decode 0: 0; decode 0: 1; prefill 0: 2 0 3")
    assert batch.hits == "m m mHm"
    assert batch.resident == {(0, 0), (0, 2), (0, 3)}
    assert batch.counts("resident_bytes", "evictions") == (3, 1)


def test_an_oversized_batch_persists_until_the_next_one() -> None:
    """Three bytes stand in a budget of two; a load of another layer brings it down to two."""
    before = history("prefill 0: 0 1 2", entry_bytes="1,1")
    after = history("prefill 0: 0 1 2; decode 1: 5", entry_bytes="1,1")
    assert before.counts("resident_bytes", "evictions") == (3, 0)
    assert after.order == ((0, 2), (1, 5))
    assert after.counts("resident_bytes", "evictions") == (2, 2)


def test_a_batch_of_hits_brings_an_oversized_one_down() -> None:
    """Eviction runs after every batch, also one that reads nothing."""
    trimmed = history("prefill 0: 0 1 2; decode 0: 1")
    assert trimmed.order == ((0, 2), (0, 1))


def test_eviction_stops_as_soon_as_the_rest_fits() -> None:
    """Six bytes in a budget of five: one byte leaves, and exactly the budget stays."""
    unequal = {"entry_bytes": "1,3", "budget_bytes": 5, "budget_rule": "bytes"}
    filled = history("decode 0: 0; decode 0: 1; decode 1: 0; decode 0: 2", **unequal)
    assert filled.order == ((0, 1), (1, 0), (0, 2))
    assert filled.counts("resident_bytes", "evictions") == (5, 1)


def test_the_victim_is_the_least_recent_whatever_its_size() -> None:
    """Three bytes leave although one would have been enough."""
    unequal = {"entry_bytes": "1,3", "budget_bytes": 5, "budget_rule": "bytes"}
    filled = history("decode 1: 0; decode 0: 0; decode 0: 1; decode 0: 2", **unequal)
    assert filled.resident == {(0, 0), (0, 1), (0, 2)}
    assert filled.counts("resident_bytes", "evictions") == (3, 1)


def test_a_miss_of_what_was_evicted_is_a_re_read() -> None:
    """A first miss is none; each later miss of an expert that was evicted is one."""
    loop = "decode 0: 0; decode 0: 1; decode 0: 2"
    assert history(f"{loop}; {loop}").counts("evictions", "rereads") == (4, 3)
    assert history(f"{loop}; {loop}; {loop}").counts("evictions", "rereads") == (7, 6)


def test_what_was_used_256_batches_ago_is_not_in_use() -> None:
    """A long generation: the least recent leaves, however the batches are numbered."""
    long = history("decode 0: 0; repeat 255 decode 1: 0; decode 0: 1", entry_bytes="1,1")
    assert long.order == ((1, 0), (0, 1))


# The cache off


def test_a_budget_of_zero_counts_no_lookup() -> None:
    """Every distinct expert is read each time, nothing is kept, the hit rate is -1."""
    off = history("decode 0: 0 1 0; decode 0: 0; ask 0: 0 1", budget_bytes=0)
    assert off.hits == "mm m"
    assert off.counts("lookups", "hits", "read_bytes", "resident_bytes") == (0, 0, 3, 0)
    assert off.last.hits == (False, False)
    assert hit_pct(off.count("hits"), off.count("lookups")) == -1.0


def test_demand_is_measured_with_the_cache_off() -> None:
    """The pass of two experts is published when the next one begins, budget or not."""
    assert history("decode 0: 0 1; decode 0: 0", budget_bytes=0).count("token_demand_bytes") == 2


# Failed reads


def test_an_expert_whose_read_failed_is_absent() -> None:
    """The batch delivers nothing, what was read stays, and the next access is a miss that is no re-read."""
    failed = history("decode 0: 0! 1; decode 0: 0")
    assert failed.outcome.answers[1].digest is None
    assert failed.outcome.answers[1].resident == {(0, 1)}
    assert (failed.hits, failed.last.digest) == ("mm m", own_bytes(0, 0))
    assert failed.count("rereads") == 0


def test_a_failed_read_counts_as_what_it_was() -> None:
    """A lookup that missed and a read; but no bytes are held for it."""
    failed = history("decode 0: 0! 1")
    assert failed.counts("lookups", "hits", "read_bytes") == (2, 0, 2)
    assert failed.counts("resident_bytes", "resident_entries", "evictions") == (1, 1, 0)


def test_a_hit_reads_nothing_and_cannot_fail() -> None:
    """A failure of the storage does not touch what is resident."""
    resident = history("decode 0: 0; decode 0: 0!")
    assert (resident.hits, resident.last.digest) == ("m H", own_bytes(0, 0))


def test_the_engine_serves_a_failed_read_as_a_hit() -> None:
    """Its known fault: the entry stays marked, the next load hits, and what it delivers is not the expert."""
    served = history("decode 0: 0!; decode 0: 0", **ENGINE)
    assert served.hits == "m H"
    assert served.last.digest not in (None, own_bytes(0, 0))


@pytest.mark.parametrize("rules, resident_bytes", [({}, 2), (ENGINE, 4)])
def test_after_a_failure_the_engine_skips_eviction(
    rules: dict[str, str], resident_bytes: int
) -> None:
    """A failed batch evicts like any other here; in the engine it leaves the cache above its budget."""
    failed = history("decode 0: 0; decode 0: 1; decode 0: 2! 3", **rules)
    assert failed.count("resident_bytes") == resident_bytes


def test_with_the_cache_off_a_failed_read_delivers_nothing() -> None:
    """And the next load reads again."""
    off = history("decode 0: 0!; decode 0: 0", budget_bytes=0)
    assert off.outcome.answers[1].digest is None
    assert off.last.digest == own_bytes(0, 0)


# Other policies


def test_layer_evicts_from_its_own_slice() -> None:
    """Two layers, four bytes: a third expert of layer 0 displaces one of its own, although a byte is free."""
    sliced = history(
        "decode 0: 0; decode 1: 0; decode 0: 1; decode 0: 2",
        entry_bytes="1,1",
        budget_bytes=4,
        policy="layer",
    )
    assert sliced.resident == {(0, 1), (0, 2), (1, 0)}


def test_slices_are_those_of_the_moe_layers() -> None:
    """A dense layer takes no part: two slices of two bytes, and a shrink cuts each of them."""
    layers = {"entry_bytes": "1,-,1", "budget_bytes": 4, "policy": "layer"}
    full = "decode 0: 0; decode 0: 1; decode 2: 0; decode 2: 1"
    assert history(full, **layers).count("resident_bytes") == 4
    assert history(f"{full}; end; budget 2", **layers).resident == {(0, 1), (2, 1)}


def test_lfu_evicts_the_least_looked_up() -> None:
    """Two lookups against one; of equals the least recent leaves."""
    counted = history("decode 0: 0; decode 0: 0; decode 0: 1; decode 0: 2", policy="lfu")
    tied = history("decode 0: 0; decode 0: 1; decode 0: 2", policy="lfu")
    assert (counted.resident, tied.resident) == ({(0, 0), (0, 2)}, {(0, 1), (0, 2)})


def test_lfu_does_not_forget_lookups_of_what_left() -> None:
    """Expert 0 comes back with its two lookups and one more, so 2 leaves before it."""
    returned = history(
        "decode 0: 0; decode 0: 0; prefill 0: 1 2 3; decode 0: 0; decode 0: 4", policy="lfu"
    )
    assert (0, 0) in returned.resident


def test_layerlfu_counts_within_its_slice() -> None:
    """Layer 0 has room for two: the one looked up twice stays; layer 1 is left alone."""
    sliced = history(
        "decode 1: 0; decode 0: 0; decode 0: 0; decode 0: 1; decode 0: 2",
        entry_bytes="1,1",
        budget_bytes=4,
        policy="layerlfu",
    )
    assert sliced.resident == {(0, 0), (0, 2), (1, 0)}


def test_random_draws_among_the_unprotected_in_order_of_insertion() -> None:
    """One `choice` of random.Random(1234) an eviction, as the published curves were made."""
    draws, kept = Random(1234), [0, 1]
    for new in (2, 3, 4, 5):
        kept.remove(draws.choice(kept))
        kept.append(new)
    loads = "; ".join(f"decode 0: {expert}" for expert in range(6))
    assert history(loads, policy="random").resident == {(0, expert) for expert in kept}
