"""What did a run print: its answer, the line protocol of a session, the closing figures?

The file is raw bytes: a model's tokens need not be UTF-8, and a token may hold a line feed inside
JSON only as an escape. Lines that are none of ours (model loading, the prompt) are passed over.
Format: Helldez/BigMoeOnEdge at 2d4f2b1, one-shot and `--session`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference.errors import InputError
from replay.lines import UTF8_BOM, open_regular

STDOUT_LINE_LIMIT_BYTES = 1 << 24
"""The longest line: a whole answer may stand in one."""

ANSWER_MARK = b"=== answer ===\n"
PERF_MARK = b"\n=== perf ===\n"

FIGURES = {
    "generation": re.compile(rb"generation: (?P<tokens>\d+) tokens"),
    "prefill": re.compile(rb"prefill: (?P<n_prompt>\d+) tokens"),
    "read": re.compile(rb"moe-stream: read (?P<read_mib>[\d.]+) MiB"),
    "hit": re.compile(
        rb"moe-cache: (?P<hit_pct>-?[\d.]+)% hit, resident (?P<resident_mib>[\d.]+) MiB"
        rb"(?:, budget (?P<budget_mib>\d+) MiB \(auto)?"
    ),
    "evictions": re.compile(rb"moe-cache: (?P<evictions>\d+) evictions, (?P<rereads>\d+) re-reads"),
    "prefetch": re.compile(rb"moe-prefetch: (?P<prefetch_mib>[\d.]+) MiB"),
}
"""The closing lines of a one-shot run, and the names of their figures."""


@dataclass(slots=True)
class Request:
    """One `generate` of a session, or the whole of a one-shot run.

    Attributes:
        id: the request's number; None for a one-shot run, which has no BEGIN line.
        progress: the BMOE_PROGRESS records, one a token.
        done: the BMOE_DONE record; None if the request did not end with one.
        error: the BMOE_ERROR message; None without one.
    """

    id: int | None = None
    progress: list[dict[str, Any]] = field(default_factory=list)
    done: dict[str, Any] | None = None
    error: str | None = None

    @property
    def cancelled(self) -> bool:
        """Did the request end because it was cancelled?"""
        return self.done is not None and bool(self.done.get("cancelled"))

    @property
    def counts_as_turn(self) -> bool:
        """Does the engine give it a turn number? Not if it failed or was cancelled in prefill."""
        return self.done is not None and not (self.cancelled and not self.done.get("tokens"))


@dataclass(slots=True)
class Stdout:
    """What a run printed.

    Attributes:
        source: the path as it was given.
        ready: the BMOE_READY record of a session.
        requests: in file order; a one-shot run with --progress has one without id.
        answer: the bytes between the answer and the perf mark of a one-shot run.
        figures: the closing figures by name, as printed: tokens, n_prompt, read_mib, hit_pct,
            resident_mib, budget_mib, evictions, rereads, prefetch_mib.
    """

    source: str
    ready: dict[str, Any] | None = None
    requests: list[Request] = field(default_factory=list)
    answer: bytes | None = None
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def is_session(self) -> bool:
        """Did a session write it?"""
        return self.ready is not None or any(request.id is not None for request in self.requests)


def read_stdout(path: str | Path) -> Stdout:
    """Read what a run printed.

    Raises:
        InputError: not a readable file, a line over STDOUT_LINE_LIMIT_BYTES, or a BMOE_ line whose
            JSON does not parse. It names file and line.
    """
    out = Stdout(str(path))
    for number, line in _lines(path):
        if line.startswith(b"BMOE_"):
            _take_record(out, number, line)
        else:
            _take_figures(out, line)
    out.answer = _answer(path)
    return out


def _lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    with open_regular(path) as stream:
        number = 0
        while line := stream.readline(STDOUT_LINE_LIMIT_BYTES + 1):
            number += 1
            if len(line) > STDOUT_LINE_LIMIT_BYTES:
                problem = f"the line is longer than {STDOUT_LINE_LIMIT_BYTES} bytes"
                raise InputError(problem, source=str(path), line=number)
            yield number, line.removeprefix(UTF8_BOM) if number == 1 else line


def _take_record(out: Stdout, number: int, line: bytes) -> None:
    kind, _, body = line.partition(b" ")
    try:
        # Bytes that are no UTF-8 become lone surrogates: kept apart, and equal when they are equal.
        record = json.loads(body.decode("utf-8", "surrogateescape"), strict=False)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        expected = "one JSON object behind the name"
        raise InputError(
            "a BMOE_ line that does not parse", source=out.source, line=number, expected=expected
        )
    _file_record(out, kind, record)


def _file_record(out: Stdout, kind: bytes, record: dict[str, Any]) -> None:
    if kind == b"BMOE_READY":
        out.ready = record
    elif kind == b"BMOE_BEGIN":
        out.requests.append(Request(record.get("id")))
    elif kind in (b"BMOE_PROGRESS", b"BMOE_DONE", b"BMOE_ERROR"):
        if not out.requests:
            out.requests.append(Request())
        request = out.requests[-1]
        if kind == b"BMOE_PROGRESS":
            request.progress.append(record)
        elif kind == b"BMOE_DONE":
            request.done = record
        else:
            request.error = str(record.get("msg", ""))


def _take_figures(out: Stdout, line: bytes) -> None:
    """The last of several equal lines counts: the closing figures stand at the end."""
    for pattern in FIGURES.values():
        if match := pattern.match(line):
            out.figures |= {k: v.decode() for k, v in match.groupdict().items() if v is not None}


def _answer(path: str | Path) -> bytes | None:
    """The answer's bytes; it is model output, so the marks are sought in bytes, not in lines."""
    size = Path(path).stat().st_size
    if size > 4 * STDOUT_LINE_LIMIT_BYTES:
        return None
    data = Path(path).read_bytes()
    start, end = data.find(ANSWER_MARK), data.rfind(PERF_MARK)
    return data[start + len(ANSWER_MARK) : end] if 0 <= start < end else None
