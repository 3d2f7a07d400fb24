"""What bytes does a key stand for, and how is one sequence of delivered bytes told from another?

The store behind both caches is a function, so a driver in any language computes it in one line:

    value(key)  = mix((key + 0x9E3779B97F4A7C15) mod 2^64)     mix: the finaliser of splitmix64
    digest      : d = 0; for each delivered value v: d = mix(d XOR v)

A cache stores the value it filled an entry with and delivers it again on a hit; an entry that
serves another key's bytes therefore shows in the digest at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference.hashing import GOLDEN_GAMMA, mix


def value(key: int) -> int:
    """The 64-bit content of `key` in the store: the first draw of splitmix64 seeded with it."""
    return mix(key + GOLDEN_GAMMA)


def digest(values: Iterable[int]) -> int:
    """One 64-bit number for a sequence of delivered values: order and length count; 0 if empty."""
    d = 0
    for delivered in values:
        d = mix(d ^ delivered)
    return d


def expert_key(layer: int, expert: int) -> int:
    """The key of an expert's weights: the layer in the upper 32 bits, the expert in the lower."""
    return (layer << 32) + expert


def row_key(table: int, row: int) -> int:
    """The key of an embedding row: the row id with the table XORed into the top 8 bits."""
    return (table << 56) ^ row
