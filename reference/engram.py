"""Which embedding rows does a token need? The n-gram hashing of the public Engram model.

A token at position t asks for 24 rows of each Engram layer's table: one for each order n in 2, 3, 4
and each of 8 heads, order by order, head by head. A table is the concatenation of 24 buckets, one
for each (order, head), of prime sizes. Before the start of a request stands the pad token.

    model rows        bucket offset + (XOR over j < n of id[t-j] * multiplier[j]) mod prime
    hashed rows       bucket offset + mix(digest(id[t-n+1] .. id[t]) XOR (8 n + head) * G) mod prime

The first are the exact rows of the public model, over ids of its compressed vocabulary. The second
need no vocabulary: they place any tokens the same way under an independent hash for each head, which
is what the RowCache report's emulation did. Both are rows of layer 1's table unless said otherwise.

Source: deepseek-ai/Engram, engram_demo_v1.py, with the sizes of the public model: layers 1 and 14,
buckets of 16,000,000 rows and more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import accumulate, islice
from math import isqrt
from operator import xor

from reference.backing_store import digest
from reference.hashing import GOLDEN_GAMMA, mix

LAYERS = (1, 14)
ORDERS = (2, 3, 4)
HEADS = 8
ROWS_A_TOKEN = len(ORDERS) * HEADS
PAD_ID = 2
MIN_BUCKET_ROWS = 16_000_000
COMPRESSED_VOCABULARY = 99_092

MULTIPLIERS = {
    1: (76632096046245, 4839876093313, 35959672319349, 73987337458391),
    14: (67716810739261, 51510806800915, 30921347202721, 82619226485591),
}
"""Odd factors of the ids, newest token first. Drawn by numpy's default generator; a test redraws."""


# Buckets


@cache
def bucket_rows(layer: int) -> tuple[int, ...]:
    """Rows of a layer's 24 buckets, order by order, head by head: ascending primes, all different.

    The model looks for each in turn from 16,000,000 on and never takes one twice, so the buckets
    of all layers together are the first 48 primes from there.
    """
    first = LAYERS.index(layer) * ROWS_A_TOKEN
    return tuple(islice(_primes_from(MIN_BUCKET_ROWS), first, first + ROWS_A_TOKEN))


@cache
def bucket_offsets(layer: int) -> tuple[int, ...]:
    """The first row of each of a layer's 24 buckets."""
    return tuple(accumulate(bucket_rows(layer)[:-1], initial=0))


def table_rows(layer: int) -> int:
    """Rows of a layer's table."""
    return sum(bucket_rows(layer))


def _primes_from(start: int) -> Iterator[int]:
    candidate = start
    while True:
        if all(candidate % divisor for divisor in range(2, isqrt(candidate) + 1)):
            yield candidate
        candidate += 1


# Rows of tokens


def model_rows(ids: Sequence[int], layer: int = 1) -> list[list[int]]:
    """The 24 rows that the model reads for each of a request's compressed token ids."""
    factors = MULTIPLIERS[layer]
    buckets = list(zip(bucket_offsets(layer), bucket_rows(layer), strict=True))
    rows: list[list[int]] = [[] for _ in ids]
    for position, of_token in enumerate(rows):
        for index, order in enumerate(ORDERS):
            newest_first = reversed(ngram(ids, position, order))
            # The products stay below 2^63, so no width has to be cut.
            mixed = reduce(xor, (i * m for i, m in zip(newest_first, factors, strict=False)))
            heads = buckets[index * HEADS : (index + 1) * HEADS]
            of_token.extend(offset + mixed % size for offset, size in heads)
    return rows


def hashed_rows(tokens: Sequence[int], heads: int = HEADS, layer: int = 1) -> list[list[int]]:
    """The rows of each of a request's tokens under an independent hash, 3 * `heads` a token.

    With fewer than 8 heads the first ones of each order are taken: the same rows, fewer of them.
    """
    buckets = list(zip(bucket_offsets(layer), bucket_rows(layer), strict=True))
    rows: list[list[int]] = [[] for _ in tokens]
    for position, of_token in enumerate(rows):
        for index, order in enumerate(ORDERS):
            text = digest(ngram(tokens, position, order))
            for head in range(heads):
                offset, size = buckets[index * HEADS + head]
                salt = (HEADS * order + head) * GOLDEN_GAMMA
                of_token.append(offset + mix(text ^ salt) % size)
    return rows


def ngram(tokens: Sequence[int], position: int, order: int) -> list[int]:
    """The `order` tokens that end at `position`, oldest first, padded before the start."""
    missing = max(order - 1 - position, 0)
    return [PAD_ID] * missing + list(tokens[position + 1 - order + missing : position + 1])


# The compressed vocabulary


def compressed_ids(vocabulary: Iterable[tuple[str, str]]) -> list[int]:
    """The compressed id of each token: tokens that read alike share one, in order of appearance.

    Args:
        vocabulary: for each token id in turn, the text it decodes to and its raw form.
    """
    ids: dict[str, int] = {}
    return [ids.setdefault(reading(text, raw), len(ids)) for text, raw in vocabulary]


def reading(text: str, raw: str) -> str:
    """What a token reads as: its text without accents, case and surplus white space.

    A token that is part of a character decodes to U+FFFD and is told by its raw form instead. A
    token of which nothing would be left keeps its text.
    """
    if "\ufffd" in text:
        return raw
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    # Every kind of mark goes, spacing and enclosing ones too: with the non-spacing ones alone the
    # vocabulary would be 99,510.
    plain = "".join(c for c in plain if not unicodedata.category(c).startswith("M"))
    plain = re.sub(r"[ \t\r\n]+", " ", plain.lower())
    return plain if plain == " " else plain.strip() or text
