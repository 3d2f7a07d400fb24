"""How are many row ids hashed at once? reference/hashing.py and row_placement.py over numpy arrays.

All arithmetic is modulo 2^64, which is what numpy's uint64 does; a property holds every function
here equal to the reference, number by number.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reference.hashing import GOLDEN_GAMMA, MASK64

U64: TypeAlias = NDArray[np.uint64]
I64: TypeAlias = NDArray[np.int64]

_XXH3_FLIP = 0xC73AB174C5ECD5A2
_XXH3_PRIME = np.uint64(0x9FB21C651E98DF25)


def mix(x: U64) -> U64:
    """The finaliser of splitmix64, item by item."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def xxh3_64(keys: U64, seed: int = 0) -> U64:
    """XXH3-64 of the 8 little-endian bytes of each key."""
    swapped = int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big")
    flip = np.uint64((_XXH3_FLIP - (seed ^ swapped << 32)) & MASK64)
    h = _rotl(keys, 32) ^ flip
    h = h ^ _rotl(h, 49) ^ _rotl(h, 24)
    h = h * _XXH3_PRIME
    h = (h ^ ((h >> np.uint64(35)) + np.uint64(8))) * _XXH3_PRIME
    return h ^ (h >> np.uint64(28))


def sketch_cells(hashes: U64, rows: int, width: int) -> I64:
    """Index of each hash's cell in every array of a sketch stored array after array.

    Shape (len(hashes), rows).
    """
    salts = np.array([(j + 1) * GOLDEN_GAMMA & MASK64 for j in range(rows)], dtype=np.uint64)
    columns = mix(hashes[:, None] ^ salts) % np.uint64(width)
    return columns.astype(np.int64) + np.arange(rows) * width


def _rotl(x: U64, bits: int) -> U64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))
