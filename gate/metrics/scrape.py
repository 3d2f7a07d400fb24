"""What does one scrape say of a row cache? A Prometheus text exposition, read for the series of a RowCache.

A server exposes `P_row_cache_hits`, `_misses` and `_evictions` (counters, with or without `_total`),
`_resident_rows` and `_capacity_rows` (gauges), once for each table or once for all; it may also
expose `_lookups`, `_refusals` and `_added`. prometheus-client parses the lines. Where the scrapes
lie or how they are fetched: gate/metrics/sources.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from gate.metrics.names import SERVER_START, STARTS, Prefix, split
from reference.errors import InputError, printable
from replay.lines import lines_in, read_lines

OPEN_METRICS_END = "# EOF"
EXEMPLAR = " # {"

MAX_SCRAPE_BYTES = 64 << 20
MAX_LINE = 64 << 10
"""Characters; up to here the parser's time is linear in them."""
MAX_SAMPLES = 500_000
"""With the two limits above, the worst that a scrape can cost is about a minute."""
MAX_SERIES = 10_000
"""Series kept of one scrape, enough for a thousand tables."""
MAX_LABELS = 64
MAX_NAMES = 10_000
"""Names kept, so that a scrape without a row cache can say what it has."""
MAX_EXACT = 1 << 53
"""Values are 64-bit floats on the way: a larger count is not exact, and nothing can be inferred."""

Labels = tuple[tuple[str, str], ...]
"""Sorted (name, value) pairs; an empty value is no label. Each such set is one table."""
Parse = Callable[[str], Iterable[Any]]


@dataclass(slots=True)
class Scrape:
    """The row-cache series of one exposition.

    Args:
        source: file or URL, as the user named it.
        prefix: what stands before `_hits`.
        at_seconds: when it was taken (Unix time); None where nothing tells.
        tables: counts by field, by label set; `()` holds the series without labels.
        starts: when counting began, by series: the process, and each counter that says so.
    """

    source: str
    prefix: str
    at_seconds: float | None = None
    tables: dict[Labels, dict[str, int]] = field(default_factory=dict)
    starts: dict[tuple[str, Labels], float] = field(default_factory=dict)


class _Sample(NamedTuple):
    line: int
    name: str
    labels: Labels
    value: float
    time: float | None


def scrape_file(path: str, prefix: str | None = None) -> Scrape:
    """The scrape in a file.

    Args:
        path: a regular file, at most 64 MiB.
        prefix: what stands before `_hits` or before `_row_cache_hits`; None finds the only one.

    Raises:
        InputError: prometheus-client is not installed; the file is no exposition; a row-cache
            series is not finite, negative, no whole number, above 2^53 or there twice; there are
            several prefixes, or no series at all. It names the line.
    """
    return _scrape(read_lines(path), path, prefix)


def scrape_body(body: bytes, source: str, prefix: str | None = None) -> Scrape:
    """The scrape in the body of a response; raises as `scrape_file`."""
    return _scrape(lines_in(body, source), source, prefix)


def _scrape(lines: Iterable[tuple[int, str]], source: str, prefix: str | None) -> Scrape:
    reader = _Reader(source, prefix, _parser(source))
    for line, text in lines:
        reader.take(line, text)
    return reader.scrape()


def _parser(source: str) -> Parse:
    try:
        from prometheus_client.parser import (  # noqa: PLC0415 - optional
            text_string_to_metric_families,
        )
    except ImportError:
        raise InputError(
            "reading a scrape needs prometheus-client",
            source=source,
            cure="pip install 'cachegate[metrics]'",
        ) from None
    return text_string_to_metric_families


class _Reader:
    """Takes the lines of one exposition; keeps the row cache's samples and the names of the others."""

    def __init__(self, source: str, prefix: str | None, parse: Parse) -> None:
        self.source = source
        self.parse = parse
        self.prefix = Prefix(prefix)
        self.found: dict[str, list[tuple[str, _Sample]]] = {}
        self.starts: dict[tuple[str, Labels], float] = {}
        self.names: set[str] = set()
        self.open_metrics = False
        self.size = 0
        self.samples = 0
        self.series = 0

    def take(self, line: int, text: str) -> None:
        """One line. Comments are passed over, except the one that ends an OpenMetrics text."""
        self.size += len(text) + 1
        if len(text) > MAX_LINE:
            raise self._fault(
                f"the line is longer than {MAX_LINE} characters", line, "an exposition"
            )
        if self.size > MAX_SCRAPE_BYTES:
            problem = f"the scrape is larger than {MAX_SCRAPE_BYTES >> 20} MiB"
            raise self._fault(problem, line, "the exposition of one server")
        self.open_metrics |= text == OPEN_METRICS_END
        if text.strip() and not text.lstrip().startswith("#"):
            self._keep(self._parsed(line, text))

    def _parsed(self, line: int, text: str) -> _Sample:
        try:
            sample = text.partition(EXEMPLAR)[0]
            # Python's own numbers may have the digits of any script; those of an exposition may not.
            sample.rpartition("}")[2].encode("ascii")
            (family,) = self.parse(sample)
            ((name, labels, value, time, *_),) = family.samples
        except (ValueError, IndexError, OverflowError):
            problem = f"'{printable(text)}' is no sample"
            raise self._fault(problem, line, 'name{label="value"} number') from None
        if len(labels) > MAX_LABELS:
            problem = f"{printable(name)} has {len(labels)} labels"
            raise self._fault(problem, line, f"up to {MAX_LABELS}")
        known = tuple(sorted((key, text) for key, text in labels.items() if text))
        return _Sample(line, name, known, value, time)

    def _keep(self, sample: _Sample) -> None:
        self.samples += 1
        if self.samples > MAX_SAMPLES:
            problem = f"more than {MAX_SAMPLES} samples"
            raise self._fault(problem, sample.line, "the exposition of one server")
        if len(self.names) < MAX_NAMES:
            self.names.add(sample.name)
        name = split(sample.name)
        if sample.name == SERVER_START:
            self.starts[SERVER_START, sample.labels] = self._finite(sample)
        elif name is not None and self.prefix.fits(name.prefix):
            self.found.setdefault(name.prefix, []).append((name.field, sample))
        else:
            return
        self.series += 1
        if self.series > MAX_SERIES:
            problem = f"more than {MAX_SERIES} row-cache series"
            raise self._fault(problem, sample.line, "the tables of one server")

    def scrape(self) -> Scrape:
        """What the lines say together."""
        # A `_created` alone is no counter.
        found = [p for p, series in self.found.items() if {what for what, _ in series} - {*STARTS}]
        prefix = self.prefix.only_one(found, self.names, self.source)
        scrape = Scrape(self.source, prefix, starts=self.starts)
        self._fill(scrape, self.found[prefix])
        return scrape

    def _fill(self, scrape: Scrape, found: list[tuple[str, _Sample]]) -> None:
        first: dict[tuple[str, Labels], int] = {}
        times = []
        for what, sample in found:
            line = first.setdefault((what, sample.labels), sample.line)
            if line != sample.line:
                problem = f"duplicate series {printable(sample.name)}: it stands in line {line}"
                raise self._fault(problem, sample.line, "each series once, with or without _total")
            if what in STARTS:
                self.starts[what, sample.labels] = self._finite(sample)
                continue
            scrape.tables.setdefault(sample.labels, {})[what] = self._count(sample)
            if sample.time is not None and isfinite(sample.time):
                # The parser takes milliseconds; OpenMetrics has seconds.
                times.append(sample.time * (1000 if self.open_metrics else 1))
        scrape.at_seconds = max(times, default=None)

    def _finite(self, sample: _Sample) -> float:
        # A whole number of any length is finite, but too long for a float.
        if abs(sample.value) <= MAX_EXACT:
            return sample.value
        raise self._no_count(sample, "a finite number, exact as a 64-bit float")

    def _count(self, sample: _Sample) -> int:
        value = self._finite(sample)
        if value < 0 or value != int(value):
            raise self._no_count(sample, "a whole number from 0 to 2^53")
        return int(value)

    def _no_count(self, sample: _Sample, expected: str) -> InputError:
        value = "NaN" if sample.value != sample.value else printable(str(sample.value))
        return self._fault(f"{printable(sample.name)} is {value}", sample.line, expected)

    def _fault(self, problem: str, line: int, expected: str) -> InputError:
        return InputError(problem, source=self.source, line=line, expected=expected)
