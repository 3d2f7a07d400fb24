"""How do 64-bit keys become places and values: splitmix64, its finaliser, XXH3-64 of 8 bytes.

Everything is plain integer arithmetic modulo 2^64, so any language computes the same in one line
each. A test compares the XXH3 half with the xxhash package.
"""

from __future__ import annotations

MASK64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
"""The step of splitmix64: 2^64 divided by the golden ratio, made odd."""

_XXH3_FLIP = 0xC73AB174C5ECD5A2
"""XXH3's default secret, bytes 8–15 XOR bytes 16–23, as a little-endian number."""
_XXH3_PRIME = 0x9FB21C651E98DF25


def mix(x: int) -> int:
    """The finaliser of splitmix64: a bijection of 64 bits in which every bit moves every other.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    x &= MASK64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK64
    return x ^ (x >> 31)


class SplitMix64:
    """The splitmix64 sequence from a seed: the n-th draw is `mix(seed + n * GOLDEN_GAMMA)`."""

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK64

    def next(self) -> int:
        """The next 64-bit number."""
        self._state = (self._state + GOLDEN_GAMMA) & MASK64
        return mix(self._state)


def xxh3_64(key: int, seed: int = 0) -> int:
    """XXH3-64 of the 8 little-endian bytes of `key`, a number from 0 to 2^64-1.

    Only this length is written out: it is the one a row id needs. Source: the xxHash
    specification, the branch for inputs of 4 to 8 bytes.
    """
    seed ^= _swap32(seed) << 32
    h = _rotl(key, 32) ^ ((_XXH3_FLIP - seed) & MASK64)
    h ^= _rotl(h, 49) ^ _rotl(h, 24)
    h = h * _XXH3_PRIME & MASK64
    h ^= (h >> 35) + 8
    h = h * _XXH3_PRIME & MASK64
    return h ^ (h >> 28)


def _rotl(x: int, bits: int) -> int:
    """`x` rotated to the left in 64 bits."""
    return (x << bits | x >> (64 - bits)) & MASK64


def _swap32(x: int) -> int:
    """The low 32 bits of `x` with their four bytes reversed."""
    return int.from_bytes((x & 0xFFFFFFFF).to_bytes(4, "little"), "big")
