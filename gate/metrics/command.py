"""`cachegate metrics`: does a row-cache server keep the laws, by the counters it exposes to Prometheus?

    cachegate metrics BEFORE AFTER                      two scrapes, or more, or folders of them
    cachegate metrics URL --interval 10 --count 6       a live server

One row for each table and interval, and one for the total; `--json` gives them as one list of
objects with the fields of MetricsRow (gate/metrics/rows.py). Exit codes: 0 all that was exercised
passed, 1 a law fails, 2 unusable input, 3 nothing was judged. Scrape between requests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import pairwise

from gate.audit.findings import FAIL, PASS
from gate.metrics.intervals import intervals
from gate.metrics.report import print_report
from gate.metrics.rows import MetricsRow, row_of
from gate.metrics.scrape import Scrape
from gate.metrics.sources import Live, is_url, recorded, scraped
from gate.quantities import count_of, decimal_of
from gate.show import print_json
from reference.errors import InputError, printable

PASSED, FAILED, NOTHING_JUDGED = 0, 1, 3

DEFAULT_WAYS = 4
MAX_WAYS = 256
DEFAULT_INTERVAL_SECONDS = 10.0
DEFAULT_COUNT = 2
DEFAULT_TIMEOUT_SECONDS = 10.0
MAX_COUNT = 1_000_000
MAX_SECONDS = 86_400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate metrics`."""
    parser.add_argument(
        "scrapes",
        nargs="+",
        metavar="SCRAPE",
        help="files or folders of Prometheus text expositions in the order of time, or one URL",
    )
    parser.add_argument(
        "--prefix", metavar="P", help="the series are P_hits or P_row_cache_hits (default: found)"
    )
    parser.add_argument(
        "--ways", default=str(DEFAULT_WAYS), metavar="N", help=f"of a set (default {DEFAULT_WAYS})"
    )
    parser.add_argument(
        "--interval",
        metavar="S",
        help=f"seconds between two scrapes (default {DEFAULT_INTERVAL_SECONDS:g} for a URL; for "
        "files it counts where they do not say when they were taken)",
    )
    parser.add_argument(
        "--count",
        metavar="N",
        help=f"scrapes of a URL (default {DEFAULT_COUNT}); Ctrl-C ends early",
    )
    parser.add_argument(
        "--timeout", metavar="S", help=f"of one scrape (default {DEFAULT_TIMEOUT_SECONDS:g} s)"
    )
    parser.add_argument("--save", metavar="DIR", help="keep each scrape of a URL there")
    parser.add_argument("--json", action="store_true", help="one list on standard output")


def run(args: argparse.Namespace) -> int:
    """Judge and print.

    Raises InputError before anything is printed, but for a server: what was scraped until then is
    printed first.
    """
    ways = count_of(args.ways, "--ways", 1, MAX_WAYS)
    seconds = _seconds(args.interval, "--interval")
    live = _live(args, seconds)
    rows: list[MetricsRow] = []
    if live is None:
        _judge(rows, recorded(args.scrapes, args.prefix), ways, seconds)
        if not rows:
            raise InputError("one scrape is no interval", source=args.scrapes[0], expected="two")
    else:
        _judge_server(rows, live, ways, args)
    _print(rows, args)
    return exit_code(rows)


def _judge_server(rows: list[MetricsRow], live: Live, ways: int, args: argparse.Namespace) -> None:
    """Scrape and judge until the count is reached, the user stops it, or the server does not answer."""
    try:
        _judge(rows, scraped(live, args.prefix), ways, live.interval_seconds)
    except KeyboardInterrupt:
        if not rows:
            raise
        print(f"cachegate: interrupted after {rows[-1].interval + 1} scrapes", file=sys.stderr)
    except InputError:
        if rows:
            _print(rows, args)
        raise


def _judge(
    rows: list[MetricsRow], scrapes: Iterable[Scrape], ways: int, seconds: float | None
) -> None:
    """Append the rows of each interval as soon as its second scrape is there."""
    for number, (before, after) in enumerate(pairwise(scrapes), 1):
        rows += [row_of(number, interval) for interval in intervals(before, after, ways, seconds)]


def exit_code(rows: Iterable[MetricsRow]) -> int:
    """The exit code that some rows give."""
    verdicts = {finding.verdict for row in rows for finding in row.laws}
    if FAIL in verdicts:
        return FAILED
    return PASSED if PASS in verdicts else NOTHING_JUDGED


def _live(args: argparse.Namespace, seconds: float | None) -> Live | None:
    """How to ask the server; None if the scrapes are files."""
    urls = [where for where in args.scrapes if is_url(where)]
    if not urls:
        for option in ("count", "timeout", "save"):
            if getattr(args, option) is not None:
                raise InputError(
                    "needs a URL", source=f"--{option}", expected="http://HOST:PORT/PATH"
                )
        return None
    if len(args.scrapes) > 1:
        raise InputError("a URL stands beside others", source=urls[0], expected="one URL alone")
    return Live(
        url=urls[0],
        interval_seconds=seconds or DEFAULT_INTERVAL_SECONDS,
        count=count_of(args.count or str(DEFAULT_COUNT), "--count", 2, MAX_COUNT),
        timeout_seconds=_seconds(args.timeout, "--timeout") or DEFAULT_TIMEOUT_SECONDS,
        save=args.save,
    )


def _seconds(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    seconds = float(decimal_of(text, option))
    if not 0 < seconds <= MAX_SECONDS:
        raise InputError(
            f"'{printable(text)}' is no duration",
            source=option,
            expected=f"seconds above 0, up to {MAX_SECONDS}",
        )
    return seconds


def _print(rows: list[MetricsRow], args: argparse.Namespace) -> None:
    if args.json:
        print_json(row.as_dict() for row in rows)
    else:
        print_report(rows)
