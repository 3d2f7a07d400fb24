"""Is the synthetic text the published one, and are its requests cut as the emulation cut them?"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from fixtures.text import (
    Request,
    equal_bounds,
    new_starts,
    request_sequence,
    synthetic_tokens,
    token_digest,
)
from reference.engram import hashed_rows


@pytest.fixture(scope="module")
def text() -> list[int]:
    return synthetic_tokens()


@pytest.fixture(scope="module")
def requests(text: list[int]) -> list[Request]:
    return request_sequence(text)


def test_the_text_is_bit_identical_to_the_published_one(text: list[int]) -> None:
    """120,000 tokens, the twelve first ones, and the digest over all."""
    assert len(text) == 120_000
    assert text[:12] == [423, 19, 99, 22, 25, 447, 3, 5, 25, 211, 26, 450]
    assert token_digest(text).startswith("cab4b3859e598a26")


def test_a_shorter_text_is_the_start_of_a_longer_one(text: list[int]) -> None:
    """The generator makes one token after the other and never looks ahead."""
    assert synthetic_tokens(1_000) == text[:1_000]
    assert synthetic_tokens(0) == []
    assert synthetic_tokens(1_000, seed=13) != text[:1_000]


def test_the_text_is_skewed_and_repeats_itself(text: list[int]) -> None:
    """What makes a cache worth having: frequent tokens, and pairs that come again and again."""
    assert set(text) <= set(range(3, 3 + 544))
    assert Counter(text).most_common(1)[0][1] > 120_000 // 50
    assert len(set(itertools.pairwise(text))) < 60_000


def test_the_requests_are_the_five_of_the_report(requests: list[Request]) -> None:
    """A, A2, B, B2, A3: 20,000 tokens an A and 60,000 a B."""
    assert [r.name for r in requests] == ["A", "A2", "B", "B2", "A3"]
    assert [len(r.tokens) for r in requests] == [20_000, 20_000, 60_000, 60_000, 20_000]


def test_a_reread_differs_in_its_16_first_tokens_alone(
    text: list[int], requests: list[Request]
) -> None:
    """Every repeated request has a start of its own, and then the very tokens of the first read."""
    a, a2, b, b2, a3 = (r.tokens for r in requests)
    assert (list(a), list(b)) == (text[1_000:21_000], text[60_000:120_000])
    assert a[16:] == a2[16:] == a3[16:]
    assert b[16:] == b2[16:]
    assert [list(r[:16]) for r in (a2, b2, a3)] == new_starts(3)
    assert len({a[:16], a2[:16], a3[:16]}) == 3


def test_first_reads_are_gathered_in_equal_parts_and_rereads_by_4096(
    requests: list[Request],
) -> None:
    """12 parts for A, 16 for the first B, whole 4,096-token steps with a rest for the others."""
    parts = [len(r.bounds) - 1 for r in requests]
    assert parts == [12, 5, 16, 15, 5]
    assert requests[0].bounds[:3] == (0, 1_666, 3_333)
    assert requests[1].bounds == (0, 4_096, 8_192, 12_288, 16_384, 20_000)


@pytest.mark.parametrize("count, parts", [(20_000, 12), (10, 3), (2, 5), (0, 4)])
def test_equal_parts_differ_by_one_token_at_most(count: int, parts: int) -> None:
    """The bounds are floor(i n / parts): all tokens, no overlap, sizes within one."""
    bounds = equal_bounds(count, parts)
    sizes = {end - start for start, end in itertools.pairwise(bounds)}
    assert (bounds[0], bounds[-1], len(bounds)) == (0, count, parts + 1)
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.usefixtures("more_than_quick")
def test_the_emulation_looks_up_as_often_as_published(requests: list[Request]) -> None:
    """One head per order: 463 thousand lookups, an eighth of 3.70 million, of 177 thousand rows."""
    lookups, distinct = 0, set()
    for request in requests:
        for gather in request.gathers(hashed_rows(request.tokens, heads=1)):
            rows = set(gather)
            lookups += len(rows)
            distinct |= rows
    assert round(8 * lookups / 1e6, 2) == 3.70
    assert round(8 * len(distinct) / 1e6, 2) == 1.41


def test_a_text_too_short_for_the_requests_is_refused() -> None:
    """The sequence reads up to token 120,000; a shorter text is named, not cut silently."""
    with pytest.raises(ValueError, match=r"need 120000 tokens, this text has 5"):
        request_sequence([3] * 5)
