"""How is a trace of row ids read in bounded memory, and every fault in it named by its place?

Three forms, told by the ending of the file name:

    .npy        integers; of two dimensions: one gather a line; of one: gathers of equal length
    .parquet    a column of lists: one gather each; or an integer column `row`, and with it a
                column `gather` whose value changes from gather to gather (without: equal length)
    else        text: one gather a line, ids apart by spaces or commas; an empty line is an empty
                gather, a line that starts with # a comment

Row ids are integers from 0 to 2^64-1.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from reference.errors import InputError, printable
from replay.gathers import Gathers
from replay.hashing import U64
from replay.lines import open_regular, read_lines

PART_IDS = 1 << 20
"""Ids read at a time; a longer gather is read whole."""
MAX_GATHER_ROWS = 1 << 24
"""Most ids of one gather. A prompt of 100,000 tokens asks for an eighth of it in one step."""
LISTS_AT_A_TIME = 1 << 8
"""Gathers taken at once from a Parquet column of lists."""
GATHER_LINE_BYTES = 1 << 24
"""The longest line of a text trace: at least 800,000 ids in one gather."""
EXPECTED = "integers from 0 to 2^64-1"


def read_row_trace(path: str, gather_rows: int) -> Iterator[Gathers]:
    """The gathers of a trace, in order, in parts of about PART_IDS ids.

    Args:
        path: the file.
        gather_rows: ids of a gather where the file does not tell.

    Raises:
        InputError: unreadable, malformed, or an id that is none; with line, or number of the id.
    """
    ending = Path(path).suffix.lower()
    if ending == ".npy":
        yield from _read_npy(path, gather_rows)
    elif ending == ".parquet":
        yield from _read_parquet(path, gather_rows)
    else:
        yield from _in_parts(_text_gathers(path))


def _in_parts(gathers: Iterable[U64]) -> Iterator[Gathers]:
    part: list[U64] = []
    ids = 0
    for gather in gathers:
        part.append(gather)
        ids += len(gather) + 1
        if ids >= PART_IDS:
            yield Gathers.joined(part)
            part, ids = [], 0
    if part:
        yield Gathers.joined(part)


def _even(ids: U64, gather_rows: int) -> Gathers:
    """Gathers of `gather_rows` ids; the last one may be shorter."""
    return Gathers(ids, np.append(np.arange(0, len(ids), gather_rows), len(ids)))


# Text


def _text_gathers(path: str) -> Iterator[U64]:
    for line, text in read_lines(path, GATHER_LINE_BYTES):
        if not text.startswith("#"):
            yield _ids_of_words(text.replace(",", " ").split(), path, line)


def _ids_of_words(words: list[str], source: str, line: int) -> U64:
    try:
        if all(map(_is_plain, words)):
            return np.array(array("Q", map(int, words)))
    except (OverflowError, ValueError):
        pass
    wrong = next(word for word in words if not (_is_plain(word) and int(word) < 1 << 64))
    raise InputError(
        f"'{printable(wrong)}' is not a row or token id",
        source=source,
        line=line,
        expected=EXPECTED,
    )


def _is_plain(word: str) -> bool:
    """Digits alone, and few enough for `int` to take them (20 write 2^64-1)."""
    return word.isascii() and word.isdecimal() and len(word) <= 4_000


# Arrays


def _read_npy(path: str, gather_rows: int) -> Iterator[Gathers]:
    open_regular(path).close()
    try:
        # Mapped to learn its shape; the items are then read, so that no page of it stays mapped.
        with np.errstate(all="ignore"):
            trace = np.load(path, mmap_mode="r", allow_pickle=False)
        offset = trace.offset
    except Exception as fault:  # a damaged header may raise anything
        raise _malformed(path, fault) from None
    if trace.ndim not in (1, 2) or not trace.flags.c_contiguous:
        raise InputError(
            f"holds an array of shape {trace.shape}",
            source=path,
            expected="one or two dimensions, C order",
            cure="numpy.save of numpy.ascontiguousarray(ids), a line a gather",
        )
    width = trace.shape[1] if trace.ndim == 2 else gather_rows
    _check_gather(width, path)
    step = max(PART_IDS // max(width, 1), 1) * width
    for start in range(0, trace.size, step or 1):
        count = min(step, trace.size - start)
        items = np.fromfile(path, trace.dtype, count, offset=offset + start * trace.itemsize)
        yield _even(as_ids(items, path, start), width)


def _check_gather(rows: int, path: str) -> None:
    if rows > MAX_GATHER_ROWS:
        raise InputError(
            f"holds a gather of {rows} rows",
            source=path,
            expected=f"at most {MAX_GATHER_ROWS} rows in one gather",
        )


def as_ids(items: Any, source: str, first: int) -> U64:
    """An integer array as row ids; `first` is the number of its first item in the file, from 0.

    Raises:
        InputError: another type of items, or a negative one.
    """
    if items.dtype.kind not in "iu":
        raise InputError(f"holds {items.dtype}, not integers", source=source, expected=EXPECTED)
    if items.dtype.kind == "i" and len(items) and items.min() < 0:
        at = int(np.argmax(items < 0))
        raise InputError(
            f"item {first + at} (from 0) is {items[at]}, not a row or token id",
            source=source,
            expected=EXPECTED,
        )
    ids: U64 = items.astype(np.uint64)
    return ids


# Parquet


def _read_parquet(path: str, gather_rows: int) -> Iterator[Gathers]:
    open_regular(path).close()
    try:
        parquet = import_module("pyarrow.parquet")  # optional, and slow to import
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow", source=path, cure="pip install 'cachegate[parquet]'"
        ) from None
    try:
        with parquet.ParquetFile(path) as table:
            yield from _parquet_gathers(table, path, gather_rows)
    except InputError:
        raise
    except Exception as fault:  # a damaged file may raise anything
        raise _malformed(path, fault) from None


def _parquet_gathers(table: Any, path: str, gather_rows: int) -> Iterator[Gathers]:
    schema = table.schema_arrow
    lists = [field.name for field in schema if str(field.type).startswith("list<")]
    if lists:
        yield from _in_parts(_list_gathers(table, lists[0], path))
    elif "row" not in schema.names:
        raise InputError(
            f"has the columns {printable(', '.join(schema.names))}",
            source=path,
            expected="a column of lists, or a column `row` and perhaps `gather`",
        )
    elif "gather" in schema.names:
        yield from _in_parts(_divided_gathers(table, path))
    else:
        ids = (ids for ids, _ in _parquet_columns(table, ["row"], path))
        yield from _in_parts(_recut(ids, gather_rows))


def _parquet_columns(table: Any, names: list[str], path: str) -> Iterator[tuple[U64, Any]]:
    """The columns in batches: the first one as ids, and all of them as they are."""
    first = 0
    for batch in table.iter_batches(PART_IDS, columns=names):
        columns = [_without_nulls(batch.column(name), name, path) for name in names]
        yield as_ids(columns[0], path, first), columns
        first += len(columns[0])


def _without_nulls(column: Any, name: str, path: str) -> Any:
    if column.null_count:
        raise InputError(f"column {name} has empty cells", source=path, expected=EXPECTED)
    return column.to_numpy(zero_copy_only=False)


def _list_gathers(table: Any, name: str, path: str) -> Iterator[U64]:
    first = 0
    for batch in table.iter_batches(LISTS_AT_A_TIME, columns=[name]):
        column = batch.column(name)
        if column.null_count:
            raise InputError(f"column {name} has empty cells", source=path, expected=EXPECTED)
        lengths = column.value_lengths().to_numpy()
        _check_gather(int(lengths.max(initial=0)), path)
        ids = as_ids(_without_nulls(column.flatten(), name, path), path, first)
        yield from np.split(ids, np.cumsum(lengths)[:-1])
        first += len(ids)


def _divided_gathers(table: Any, path: str) -> Iterator[U64]:
    """Runs of one value in the column `gather`, put together across batches."""
    open_gather, number = np.empty(0, dtype=np.uint64), None
    for ids, (_, gathers) in _parquet_columns(table, ["row", "gather"], path):
        cuts = np.flatnonzero(gathers[1:] != gathers[:-1]) + 1
        for run, at in zip(np.split(ids, cuts), np.append(0, cuts), strict=True):
            if len(run) and number is not None and gathers[at] != number:
                yield open_gather
                open_gather = run
            else:
                open_gather = np.concatenate((open_gather, run))
                _check_gather(len(open_gather), path)
            number = gathers[at] if len(run) else number
    if number is not None:
        yield open_gather


def _recut(parts: Iterable[U64], gather_rows: int) -> Iterator[U64]:
    """The same ids in pieces of `gather_rows`."""
    left = np.empty(0, dtype=np.uint64)
    for part in parts:
        left = np.concatenate((left, part))
        whole = len(left) // gather_rows * gather_rows
        yield from np.split(left[:whole], range(gather_rows, whole, gather_rows)) if whole else ()
        left = left[whole:]
    if len(left):
        yield left


def _malformed(path: str, fault: Exception) -> InputError:
    what = printable(str(fault).splitlines()[0] if str(fault) else type(fault).__name__, 100)
    return InputError(f"cannot be read: {what}", source=path, expected="a trace of row ids")
