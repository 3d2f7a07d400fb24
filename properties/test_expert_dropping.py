"""Does dropping cold experts do what the specification says? Source: Helldez/BigMoeOnEdge at 2d4f2b1.

With k = 2 and F = 1 the threshold F / k is 0.5, with F = 0.5 it is 0.25.
"""

from __future__ import annotations

import pytest

from fixtures.expert_histories import History, history, own_bytes

FIRST = "decode 0: 0@0.9 1@0.1"
"""The first graph of the layer: both experts are loaded, whatever their weight."""


def dropping(operations: str, **settings: object) -> History:
    """k = 2, four bytes of budget, F = 1 unless said otherwise."""
    usual: dict[str, object] = {"k": 2, "budget_bytes": 4, "drop_fraction": 1.0}
    return history(operations, **(usual | settings))


def test_a_cold_slot_is_pointed_at_the_top_expert() -> None:
    """Missing, not the top, below F / k: no lookup, no read, no entry; the top is delivered in its place."""
    cold = dropping(f"{FIRST}; decode 0: 2@0.9 3@0.1")
    assert cold.hits == "mm m"
    assert cold.last.digest == own_bytes(0, 2, 2)
    assert (0, 3) not in cold.resident
    assert cold.counts("experts_routed", "experts_dropped", "lookups") == (4, 1, 3)


def test_the_first_graph_of_a_layer_is_never_dropped() -> None:
    """Each layer has its own first graph; it counts as routed."""
    first = dropping(
        f"{FIRST}; decode 1: 0@0.9 1@0.1; decode 1: 2@0.9 3@0.1", entry_bytes="1,1", budget_bytes=8
    )
    assert first.hits == "mm mm m"
    assert first.counts("experts_routed", "experts_dropped") == (6, 1)


def test_what_is_resident_is_kept_however_cold() -> None:
    """Dropping saves a read; where there is none to save, nothing is dropped."""
    assert dropping(f"{FIRST}; decode 0: 2@0.9 1@0.1").hits == "mm mH"


def test_the_top_expert_is_never_dropped() -> None:
    """Both lie below the threshold: the larger stays; with k = 1 dropping does nothing."""
    low = dropping(f"{FIRST}; decode 0: 2@0.1 3@0.2")
    assert (low.hits, low.last.digest) == ("mm m", own_bytes(0, 3, 3))
    single = dropping("decode 0: 0@0.1; decode 0: 1@0.1", k=1)
    assert (single.hits, single.count("experts_dropped")) == ("m m", 0)


@pytest.mark.parametrize(
    "fraction, weight, dropped", [(1.0, 0.5, 0), (1.0, 0.49, 1), (0.5, 0.25, 0), (0.5, 0.24, 1)]
)
def test_the_threshold_is_the_fraction_over_k(fraction: float, weight: float, dropped: int) -> None:
    """A weight of exactly F / k is kept, one below it is dropped."""
    at = dropping(f"{FIRST}; decode 0: 2@0.9 3@{weight}", drop_fraction=fraction)
    assert at.count("experts_dropped") == dropped


def test_each_token_has_its_own_top() -> None:
    """In a prompt of two tokens each cold slot is pointed at the top of its own token."""
    prompt = dropping(
        f"{FIRST}; prefill 0: 2@0.9 3@0.1 4@0.9 5@0.1", budget_bytes=6, drop_in_prefill="yes"
    )
    assert prompt.last.digest == own_bytes(0, 2, 2, 4, 4)
    assert prompt.count("experts_dropped") == 2


def test_prefill_is_spared_unless_asked_for() -> None:
    """Nothing of a prompt is dropped, nor counted as routed."""
    prompt = dropping(f"{FIRST}; prefill 0: 2@0.9 3@0.1")
    assert prompt.hits == "mm mm"
    assert prompt.counts("experts_routed", "experts_dropped") == (2, 0)


def test_without_a_cache_nothing_is_dropped() -> None:
    """Dropping asks what is resident; with the cache off there is no answer, so all is read."""
    off = dropping(f"{FIRST}; decode 0: 2@0.9 3@0.1", budget_bytes=0)
    assert off.hits == "mm mm"
    assert off.counts("experts_routed", "experts_dropped") == (0, 0)


def test_without_weights_nothing_is_dropped() -> None:
    """A load that gives no router weights is carried out whole."""
    assert dropping(f"{FIRST}; decode 0: 2 3").hits == "mm mm"


def test_demand_is_what_was_staged() -> None:
    """The dropped expert is not in the token demand."""
    assert dropping(f"{FIRST}; decode 0: 2@0.9 3@0.1; {FIRST}").count("token_demand_bytes") == 1
