"""How strongly do two series rise and fall together? Spearman's rank correlation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import StatisticsError, correlation


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [
        (bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values
    ]


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's rho, from -1 to 1: the correlation of the ranks; None where a series is constant.

    The standard library has it from Python 3.12 on (`correlation(method="ranked")`).
    """
    try:
        return correlation(ranks(left), ranks(right))
    except StatisticsError:
        return None
