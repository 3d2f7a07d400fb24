"""What does one more cycle gain on a sampled hit curve, by itself or on the concave hull?

Marginal gains need not fall: a poor cycle may stand before a good one. On the least concave curve above the sample they
do, so what a loop reads there is what the poor and the good cycle are worth together.
"""

from __future__ import annotations

from bisect import bisect_left

from reference.growth_events import Sample


def gain_share(sample: Sample, cycle: int, *, hull: bool) -> float:
    """How much the share of hits rises with the `cycle`-th cycle; with `hull`, on the least concave curve above it."""
    if not hull:
        return sample.share(cycle) - sample.share(cycle - 1)
    corners = hull_corners(sample)
    end = bisect_left(corners, cycle)
    low, high = corners[end - 1], corners[end]
    return (sample.share(high) - sample.share(low)) / (high - low)


def hull_corners(sample: Sample) -> list[int]:
    """The numbers of cycles at which the least concave curve above the sample touches it, from 0 to the last."""
    corners: list[int] = []
    for at in range(len(sample.hits)):
        while len(corners) > 1 and _bends_up(sample, corners[-2], corners[-1], at):
            corners.pop()
        corners.append(at)
    return corners


def _bends_up(sample: Sample, left: int, middle: int, right: int) -> bool:
    """Does the curve rise no faster up to `middle` than from there on?"""
    before = (sample.hits[middle] - sample.hits[left]) * (right - middle)
    after = (sample.hits[right] - sample.hits[middle]) * (middle - left)
    return before <= after
