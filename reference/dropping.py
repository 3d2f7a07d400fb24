"""Which router slots of a token are dropped because their expert is cold?

Per token: with thr = F / k, a slot is dropped iff it is not the slot of the largest weight, its expert is not resident,
and its weight is below thr. A dropped slot is pointed at the token's top expert, so it costs no lookup and no read.
Dropping makes the output depend on what the cache holds. Source: Helldez/BigMoeOnEdge at 2d4f2b1,
`--drop-cold-experts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def drop_cold(
    experts: Sequence[int],
    weights: Sequence[float],
    width: int,
    threshold: float,
    is_resident: Callable[[int], bool],
) -> tuple[tuple[int, ...], int]:
    """The ids that are loaded in place of `experts`, and how many slots were dropped.

    Args:
        experts: ids in routing order, `width` slots a token.
        weights: the router weight of each slot.
        width: slots a token.
        threshold: F / k.
        is_resident: residency before this batch.
    """
    kept: list[int] = []
    dropped = 0
    for start in range(0, len(experts), width):
        row, row_weights = experts[start : start + width], weights[start : start + width]
        top = max(range(len(row)), key=row_weights.__getitem__)
        for slot, expert in enumerate(row):
            cold = slot != top and row_weights[slot] < threshold and not is_resident(expert)
            kept.append(row[top] if cold else expert)
            dropped += cold
    return tuple(kept), dropped
