"""Which embedding rows do the tokens of a request need, all at once? reference/engram.py in numpy.

Shapes: tokens (n,); rows (n, 3 * heads), order by order, head by head. A property holds both
functions equal to the reference.
"""

from __future__ import annotations

import numpy as np

from reference.engram import (
    HEADS,
    MULTIPLIERS,
    ORDERS,
    PAD_ID,
    bucket_offsets,
    bucket_rows,
)
from reference.hashing import GOLDEN_GAMMA, MASK64
from replay.hashing import U64, mix


def model_rows(ids: U64, layer: int = 1) -> U64:
    """The rows of the public model for compressed token ids (all below 99,092)."""
    factors = [np.uint64(factor) for factor in MULTIPLIERS[layer]]
    mixed, products = [], np.zeros_like(ids)
    for back, factor in enumerate(factors):
        products = products ^ (_looking_back(ids, back) * factor)
        mixed.append(products)
    return _rows(
        np.column_stack([mixed[n - 1] for n in ORDERS for _ in range(HEADS)]), HEADS, layer
    )


def hashed_rows(tokens: U64, heads: int = HEADS, layer: int = 1) -> U64:
    """The rows under an independent hash of the n tokens, the order and the head."""
    columns = []
    for order in ORDERS:
        text = np.zeros_like(tokens)
        for back in reversed(range(order)):
            text = mix(text ^ _looking_back(tokens, back))
        salts = [(HEADS * order + head) * GOLDEN_GAMMA & MASK64 for head in range(heads)]
        columns += [mix(text ^ np.uint64(salt)) for salt in salts]
    return _rows(np.column_stack(columns), heads, layer)


def _looking_back(tokens: U64, steps: int) -> U64:
    """The token `steps` before each one; the pad before the start."""
    pad = np.full(min(steps, len(tokens)), PAD_ID, dtype=np.uint64)
    return np.concatenate((pad, tokens[: max(len(tokens) - steps, 0)]))


def _rows(numbers: U64, heads: int, layer: int) -> U64:
    """A number for each (order, head) as a row of its bucket."""
    taken = [order * HEADS + head for order in range(len(ORDERS)) for head in range(heads)]
    sizes = np.array(bucket_rows(layer), dtype=np.uint64)[taken]
    return numbers % sizes + np.array(bucket_offsets(layer), dtype=np.uint64)[taken]
