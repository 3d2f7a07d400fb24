"""Does the expert cache agree with a well-kept library where both are the same? LRU with sizes, one expert a batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.program import Begin, Load, Program
from reference.run import run
from reference.sizing import ModelShape

cachetools = pytest.importorskip("cachetools", reason="cachetools comes with the extra `test`")

SIZES = (2, 3, 7)
"""Bytes of one expert of each layer; every budget below holds the largest."""

EXPERTS = 5
ACCESSES = st.lists(
    st.tuples(st.integers(0, len(SIZES) - 1), st.integers(0, EXPERTS - 1)), min_size=1, max_size=80
)


def library_states(
    accesses: Sequence[tuple[int, int]], budget_bytes: int
) -> list[tuple[bool, frozenset[tuple[int, int]]]]:
    """Hit or miss, and what is held, after each access to `cachetools.LRUCache`."""
    library = cachetools.LRUCache(budget_bytes, getsizeof=lambda layer: SIZES[layer])
    states = []
    for key in accesses:
        hit = library.get(key) is not None
        if not hit:
            library[key] = key[0]
        states.append((hit, frozenset(library)))
    return states


@given(ACCESSES, st.integers(max(SIZES), sum(SIZES) * EXPERTS + 1))
def test_one_expert_a_batch_is_the_librarys_lru(
    accesses: list[tuple[int, int]], budget_bytes: int
) -> None:
    """Same hits and same residents after every access, at every budget that holds the largest expert."""
    shape = ModelShape(SIZES, (EXPERTS,) * len(SIZES), 1)
    loads = tuple(Load(layer, (expert,)) for layer, expert in accesses)
    answers = run(
        Program(ExpertConfig(shape, budget_bytes, rules=EXACT_BYTES), (Begin(), *loads))
    ).answers[1:]
    ours = [(answer.hits == (True,), answer.resident) for answer in answers]
    assert ours == library_states(accesses, budget_bytes)
