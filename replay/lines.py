"""How is a recorded text file read safely: whole lines, bounded memory, every fault named by line?

Every artefact reader starts here. A file is taken in blocks of whole lines, so neither a line of
2 GiB nor a file of zero bytes nor a compressed one costs more than one block of memory.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from reference.errors import InputError, printable

BLOCK_BYTES = 1 << 18
"""Bytes asked from the file at a time."""

LINE_LIMIT_BYTES = 1 << 20
"""The longest line of a text artefact; the engine's own lines stay below 2 KiB."""

MAX_COLUMNS = 1 << 10
"""Most columns of a table; the engine's widest has 29."""

UTF8_BOM = b"\xef\xbb\xbf"

COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
}
"""First bytes of the compressed formats that traces are shipped in, and their names."""

KEY_VALUE = re.compile(r"([A-Za-z_][\w/]*)=(\S*)")
"""A pair, to be matched with one word: searched for in a long line it would cost the line's square."""

AFTER_MODEL = frozenset(
    ("arch", "n_layer", "n_expert", "n_expert_used", "threads", "n_ctx", "n_ubatch", "chatml")
)
"""Keys that the engine writes behind `model=` on the same preamble line."""


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular, uncompressed, non-empty file for reading bytes.

    Raises:
        InputError: missing, unreadable, a directory, a pipe or device, empty, or compressed.
    """
    check_regular(path)
    source = str(path)
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
    except OSError as fault:
        raise _unreadable(source, fault) from None
    try:
        _refuse_by_first_bytes(stream.read(8), source)
    except InputError:
        stream.close()
        raise
    stream.seek(0)
    return stream


def check_regular(path: str | Path) -> None:
    """Refuse what is no regular file: opening a pipe may never end, and a device has no end.

    Raises:
        InputError: missing, a directory, a pipe or a device.
    """
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError) as fault:
        raise _unreadable(str(path), fault) from None
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise InputError(f"is {what}", source=str(path), expected="a recorded file")


def _unreadable(source: str, fault: Exception) -> InputError:
    reason = os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else fault
    return InputError(f"cannot be read: {reason}", source=source)


def _refuse_by_first_bytes(first: bytes, source: str) -> None:
    if not first:
        raise InputError("is empty", source=source, line=1, expected="a recorded file")
    for magic, name in COMPRESSED.items():
        if first.startswith(magic):
            raise InputError(f"is {name} data", source=source, line=1, cure="decompress it first")


def read_blocks(
    path: str | Path, line_limit_bytes: int = LINE_LIMIT_BYTES
) -> Iterator[tuple[int, str]]:
    """The file as blocks of whole lines: (1-based number of the block's first line, its text).

    Lines end in `\\n` within the yielded text; a file whose lines all end in `\\r\\n` is accepted
    too. A byte order mark is dropped. Only the last line may lack its line end.

    Raises:
        InputError: as `open_regular`; also a line over `line_limit_bytes`, mixed line ends, a lone
            carriage return, a NUL byte, or bytes that are not UTF-8. It names the line.
    """
    with open_regular(path) as stream:
        yield from _blocks(stream, str(path), line_limit_bytes)


def _blocks(stream: BinaryIO, source: str, line_limit_bytes: int) -> Iterator[tuple[int, str]]:
    line, carry, crlf = 1, b"", None
    while chunk := stream.read(BLOCK_BYTES):
        if line == 1 and not carry and chunk.startswith(UTF8_BOM):
            chunk = chunk[len(UTF8_BOM) :]
        head, newline, tail = chunk.rpartition(b"\n")
        block, carry = (carry + head + newline, tail) if newline else (b"", carry + tail)
        if len(carry) > line_limit_bytes:
            raise _too_long(source, line + block.count(b"\n"), line_limit_bytes)
        if block:
            crlf = _uses_crlf(block) if crlf is None else crlf
            yield line, _text(block, crlf, source, line)
            line += block.count(b"\n")
    if carry:
        yield line, _text(carry, bool(crlf), source, line)


def _too_long(source: str, line: int, line_limit_bytes: int) -> InputError:
    return InputError(
        f"the line is longer than {line_limit_bytes} bytes",
        source=source,
        line=line,
        expected="text lines; is this the file you meant?",
    )


def _uses_crlf(block: bytes) -> bool:
    return block[: block.index(b"\n")].endswith(b"\r")


def _text(block: bytes, crlf: bool, source: str, line: int) -> str:
    """The block decoded, with `\\n` line ends."""
    ends = block.count(b"\n")
    if b"\0" in block:
        raise _fault_at(block, block.index(b"\0"), "a NUL byte", source, line)
    if block.count(b"\r") != (ends if crlf else 0) or (crlf and block.count(b"\r\n") != ends):
        raise _line_end_fault(block, crlf, source, line)
    try:
        return (block.replace(b"\r\n", b"\n") if crlf else block).decode()
    except UnicodeDecodeError as fault:
        # `start` counts in the text without carriage returns: line feeds before it are the same.
        clean = block.replace(b"\r\n", b"\n") if crlf else block
        raise _fault_at(clean, fault.start, "bytes that are not UTF-8", source, line) from None


def _line_end_fault(block: bytes, crlf: bool, source: str, line: int) -> InputError:
    wrong = re.search(rb"\r(?!\n)|(?<!\r)\n" if crlf else rb"\r", block)
    at = wrong.start() if wrong else 0
    known = "\\r\\n" if crlf else "\\n"
    problem = f"mixed line ends: not every line ends in {known} as the first one does"
    return _fault_at(block, at, problem, source, line)


def _fault_at(block: bytes, at: int, problem: str, source: str, line: int) -> InputError:
    return InputError(
        problem,
        source=source,
        line=line + block.count(b"\n", 0, at),
        expected="UTF-8 text lines with one kind of line end",
        cure="take the file as the engine wrote it; an editor or a copy may have changed it",
    )


def read_lines(
    path: str | Path, line_limit_bytes: int = LINE_LIMIT_BYTES
) -> Iterator[tuple[int, str]]:
    """(1-based number, text without its line end) of every line; raises as `read_blocks`."""
    return _numbered(read_blocks(path, line_limit_bytes))


def lines_in(data: bytes, source: str) -> Iterator[tuple[int, str]]:
    """The lines of a text that did not come from a file; raises as `read_lines`."""
    _refuse_by_first_bytes(data[:8], source)
    return _numbered(_blocks(BytesIO(data), source, LINE_LIMIT_BYTES))


def _numbered(blocks: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for first, block in blocks:
        lines = block.split("\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, first)


def preamble_pairs(comment: str) -> dict[str, str]:
    """The `key=value` pairs of one `#` line; words without `=` are passed over.

    Pairs are separated by spaces, but `model=` is a path that may hold spaces and `=`: it ends
    where the rest of the line reads as a known key and then nothing but distinct pairs.
    """
    words = comment.lstrip("# ").split(" ")
    if not words[0].startswith("model="):
        return pairs_of(words)
    end = _tail_of(words)
    model = " ".join(words[:end]).removeprefix("model=").rstrip()
    return {"model": model, **pairs_of(words[end:])}


def _tail_of(words: list[str]) -> int:
    """Where the distinct pairs begin that end the line, the first of a key written behind `model=`."""
    tail, keys = len(words), set[str]()
    for at in range(len(words) - 1, 0, -1):
        if not words[at]:
            continue
        match = KEY_VALUE.fullmatch(words[at])
        if match is None or match[1] in keys:
            break
        keys.add(match[1])
        tail = at if match[1] in AFTER_MODEL else tail
    return tail


def pairs_of(words: list[str]) -> dict[str, str]:
    """The `key=value` pairs among some words."""
    return {match[1]: match[2] for word in words if (match := KEY_VALUE.fullmatch(word))}


def header_columns(header: str, required: frozenset[str], source: str, line: int) -> list[str]:
    """The column names of a CSV header; columns are read by name, unknown ones are kept.

    Raises:
        InputError: a required column is missing, a name stands twice, or there are over MAX_COLUMNS.
    """
    names = header.split(",", MAX_COLUMNS)
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"more than {MAX_COLUMNS} columns",
            source=source,
            line=line,
            expected=f"a header line that names {', '.join(sorted(required))}",
        )
    missing = sorted(required - set(names))
    if missing:
        raise InputError(
            f"no column {', '.join(missing)} in the header `{printable(header)}`",
            source=source,
            line=line,
            expected=f"a header line that names {', '.join(sorted(required))}",
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"column {printable(', '.join(twice))} stands twice",
            source=source,
            line=line,
            expected="each column once",
        )
    return names
