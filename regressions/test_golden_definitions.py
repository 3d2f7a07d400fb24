"""Do the pieces that compute the golden cells do what they say, on examples small enough to see?"""

from __future__ import annotations

import pytest

from gate.golden.definitions.ranks import rank_correlation, ranks
from gate.golden.definitions.runs import dense_residency, tokens_per_second, windows
from replay.prompts import prefill_as_decode
from replay.traces import DECODE, PREFILL, Batch, RouteTrace


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    """The two 5s take ranks 2 and 3, so both are 2.5."""
    assert ranks([9, 5, 1, 5]) == [4, 2.5, 1, 2.5]


def test_rank_correlation_sees_order_alone() -> None:
    """Any rising series correlates fully with any other, a falling one inversely."""
    assert rank_correlation([1, 2, 3], [10, 11, 1000]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [7, 6, -9]) == pytest.approx(-1)


def test_rank_correlation_with_ties_is_pearsons_of_the_ranks() -> None:
    """Ranks 1.5 1.5 3 against 1 2 3: covariance 3/2 over sqrt(3/2 * 2), which is sqrt(3)/2."""
    assert rank_correlation([4, 4, 8], [1, 2, 3]) == pytest.approx(3**0.5 / 2)


def test_a_constant_series_has_no_rank_correlation() -> None:
    """There is nothing to rank: the answer is none, not 0."""
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None


def test_speed_is_taken_over_all_tokens_together() -> None:
    """Two tokens in 100 and 300 ms are 5 a second; the mean of their speeds would be 6.7."""
    assert tokens_per_second([100, 300]) == 5


def test_windows_are_full_and_do_not_overlap() -> None:
    """Seven values in windows of three leave the last one out."""
    assert windows([1, 2, 3, 4, 5, 6, 7], 3) == [[1, 2, 3], [4, 5, 6]]
    assert windows([1, 2], 3) == []


def test_tokens_before_the_first_sample_of_residency_do_not_count() -> None:
    """-1 marks them; the mean is over what was sampled."""
    assert dense_residency([-1, -1, 0.5, 1]) == 0.75


def test_a_prefill_is_replayed_token_by_token_through_the_layers() -> None:
    """Two tokens, two layers, k = 2: the last layer holds the final token's rows alone."""
    trace = RouteTrace(
        "tiny",
        expert_used=2,
        entry_bytes={0: 1, 1: 1},
        batches=[
            Batch(0, PREFILL, 0, 0, 0, 4),
            Batch(0, PREFILL, 0, 1, 4, 2),
            Batch(0, DECODE, 2, 0, 6, 2),
            Batch(0, DECODE, 2, 1, 8, 2),
        ],
        expert=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    )
    steps = prefill_as_decode(trace).batches
    assert steps == [
        Batch(0, DECODE, 0, 0, 0, 2),
        Batch(0, DECODE, 1, 0, 2, 2),
        Batch(0, DECODE, 1, 1, 4, 2),
    ]
