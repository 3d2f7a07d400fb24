"""What does `cachegate rows` replay: which requests, which gathers, of which tables?

Tokens become the five requests of the RowCache report and the rows of their n-grams; a trace of
row ids is a request a file. Either way the gathers come in parts, in order, each row once.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from fixtures import tokenizer
from fixtures.text import TOKENS, Request, request_sequence, synthetic_tokens
from reference.engram import HEADS, LAYERS, compressed_ids
from reference.errors import InputError
from replay.engram import hashed_rows, model_rows
from replay.gathers import Gathers
from replay.hashing import U64
from replay.lines import open_regular
from replay.row_traces import read_row_trace

TEXT_BYTES = 1 << 24
"""Of a text no more than this is read: 140 bytes a token needed."""
BYTES_PER_TOKEN = 5
"""How much text is encoded at first; if it has too few tokens, twice as much, and so on."""


@dataclass(frozen=True)
class Part:
    """Some gathers of one request from one table, without repeated rows in a gather."""

    request: int
    table: int
    gathers: Gathers


@dataclass(frozen=True)
class Tokens:
    """The five requests over a text, given by its tokens.

    Args:
        name: what it is called in the output.
        tokens: 120,000 or more; the report's requests use no more.
        heads: of each n-gram order, the first so many heads are taken.
        model_ids: the exact rows of the public model from both its tables, in place of raw n-grams
            under a hash in one table.
    """

    name: str
    tokens: Sequence[int]
    heads: int = HEADS
    model_ids: bool = False

    @property
    def tables(self) -> int:
        """How many tables the rows are of."""
        return len(LAYERS) if self.model_ids else 1

    @property
    def requests(self) -> list[str]:
        """The names of the requests, in order."""
        return [request.name for request in self._requests]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    @cached_property
    def _requests(self) -> list[Request]:
        try:
            return request_sequence(self.tokens)
        except ValueError as short:
            raise InputError(str(short), source=self.name, cure="give a longer text") from None

    @cached_property
    def _parts(self) -> list[Part]:
        compressed = self._compressed() if self.model_ids else None
        return [
            Part(number, table, self._gathers(request, table, compressed))
            for number, request in enumerate(self._requests)
            for table in range(self.tables)
        ]

    def _gathers(self, request: Request, table: int, compressed: U64 | None) -> Gathers:
        tokens = np.array(request.tokens, dtype=np.uint64)
        if compressed is None:
            rows = hashed_rows(tokens, self.heads, LAYERS[table])
        else:
            rows = model_rows(compressed[tokens], LAYERS[table])
        return Gathers.joined([rows[a:b].ravel() for a, b in pairwise(request.bounds)]).distinct()

    def _compressed(self) -> U64:
        """The compressed id of every token of the public vocabulary."""
        ids = compressed_ids(tokenizer.vocabulary())
        largest = max(max(request.tokens) for request in self._requests)
        if largest >= len(ids):
            raise InputError(
                f"token {largest} is not in the public model's vocabulary",
                source=self.name,
                expected=f"tokens from 0 to {len(ids) - 1}",
            )
        return np.array(ids, dtype=np.uint64)


@dataclass(frozen=True)
class Traces:
    """Traces of row ids of one table: a request a file, read anew by each pass.

    Args:
        paths: the files, in order.
        gather_rows: ids of a gather where a file does not tell.
    """

    paths: Sequence[str]
    gather_rows: int

    tables = 1

    @property
    def name(self) -> str:
        """What it is called in the output."""
        return ", ".join(self.paths)

    @property
    def requests(self) -> list[str]:
        """The names of the requests, in order: the files as they were given."""
        return list(self.paths)

    def __iter__(self) -> Iterator[Part]:
        for request, path in enumerate(self.paths):
            for gathers in read_row_trace(path, self.gather_rows):
                yield Part(request, 0, gathers.distinct())


Inputs = Tokens | Traces


def synthetic(heads: int, model_ids: bool) -> Tokens:
    """The text whose tokens the specification gives."""
    return Tokens("synthetic text", synthetic_tokens(), heads, model_ids)


def tokens_of_file(path: str, heads: int, model_ids: bool) -> Tokens:
    """A file of token ids: `.npy`, or text; as many as the requests use.

    Raises:
        InputError: as read_row_trace.
    """
    tokens: list[int] = []
    for part in read_row_trace(path, gather_rows=TOKENS):
        tokens += part.ids.tolist()
        if len(tokens) >= TOKENS:
            break
    return Tokens(path, tokens[:TOKENS], heads, model_ids)


def tokens_of_text(path: str, heads: int, model_ids: bool) -> Tokens:
    """A text in the public tokenizer's tokens; as many as the requests use.

    Raises:
        InputError: unreadable, no text in UTF-8 (the line is named), or the extra `text` is missing.
    """
    text = _read_text(path)
    size, tokens = BYTES_PER_TOKEN * TOKENS, tokenizer.encode(text[: BYTES_PER_TOKEN * TOKENS])
    # A cut may split the last token: some more are asked for than are used.
    while len(tokens) < TOKENS + 100 and size < len(text):
        size *= 2
        tokens = tokenizer.encode(text[:size])
    return Tokens(path, tokens[:TOKENS], heads, model_ids)


def _read_text(path: str) -> str:
    with open_regular(path) as stream:
        data = stream.read(TEXT_BYTES)
        complete = not stream.read(1)
    if b"\0" in data:
        raise _no_text("a NUL byte", data[: data.index(b"\0")], path)
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=complete)
    except UnicodeDecodeError as fault:
        before = fault.object[: fault.start]
        raise _no_text("bytes that are not UTF-8", before, path) from None


def _no_text(problem: str, before: bytes, path: str) -> InputError:
    line = before.count(b"\n") + 1
    return InputError(problem, source=path, line=line, expected="a text in UTF-8")
