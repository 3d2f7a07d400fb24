"""`cachegate check`: the gate. Runs the laws and golden tables through pytest and tells the verdicts.

Without an implementation named, the reference itself is judged, with the fast engines, golden tables and the audit of
the recorded runs; with one, only the laws of its kind of cache are run on it.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gate.connect.connecting import connect
from gate.judging.deviations import read_deviations, write_entries
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS
from gate.quantities import count_of
from gate.report.model import Report, from_file
from gate.report.text import print_report
from gate.report.write import check_names, write_report
from reference.errors import InputError, printable
from reference.laws import EXPERT, ROW

ROOT = Path(__file__).resolve().parent.parent
LAW_TESTS = "properties/test_laws.py"
OF_THE_TOOL = (
    *("action", "artefact_readers", "bulk", "capabilities", "check", "coverage", "curve_command"),
    *("curve_plot", "deviations", "driver_bugs", "drivers", "grow_command", "history"),
    *("hostile_input", "house", "kind", "metrics", "metrics_live", "minimal", "needs", "new_table"),
    *("objects", "own_hash", "power", "process", "profiles", "program_text", "protocol", "qualify"),
    *("remeasure", "replay", "report", "row_traces", "rows_command", "rungs", "scrape", "shrink"),
    *("smoke", "storm", "trace_reader", "whole_files", "wire", "witnesses"),
)
"""Tests of the tool itself, properties/test_*.py: who runs the gate need not run them; `pytest` runs them all."""
PASSED, FAILED, UNUSABLE, NOTHING_JUDGED = 0, 1, 2, 3
PYTEST_USAGE = 4
MAX_WORKERS = 256
MAX_SEED = (1 << 64) - 1
SECONDS_TO_END = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate check`."""
    parser.add_argument(
        "--profile",
        default="quick",
        choices=["quick", "gate", "nightly"],
        help="how many programs a law is tried on (default quick)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        help="other programs of the same profile (default: quick and gate the same ones each time, "
        "nightly fresh ones)",
    )
    parser.add_argument("-n", dest="workers", default="auto", help="parallel workers (auto)")
    for option in ("--expert-cache", "--row-cache"):
        parser.add_argument(
            option, action="append", default=[], metavar="CONNECT", help="what is judged"
        )
    parser.add_argument(
        "--deviations", action="append", default=[], metavar="FILE", help="known deviations"
    )
    parser.add_argument(
        "--write-deviations", metavar="FILE", help="write today's failures as entries for review"
    )
    parser.add_argument("--bench-data", metavar="DIR", help="the engine's recorded runs")
    parser.add_argument(
        "--counterexamples",
        metavar="DIR",
        default="counterexamples",
        help="where failing programs are written, and replayed from first (./counterexamples)",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FILE",
        help="also write it: .json, .md, .html or .xml (JUnit)",
    )
    parser.add_argument(
        "--require-all", action="store_true", help="a law that was never exercised is a failure"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="name the laws that were never exercised"
    )


def run(args: argparse.Namespace) -> int:
    """Run pytest, then tell the verdicts. Raises InputError when something named cannot be used."""
    _check_settings(args)
    for cache, named in ((EXPERT, args.expert_cache), (ROW, args.row_cache)):
        for text in named:
            connect(text, cache).close()
    laws = [law.id for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS)]
    for name in args.deviations:
        read_deviations(Path(name), laws)
    with tempfile.TemporaryDirectory() as folder:
        report_file, log_file = Path(folder) / "report.json", Path(folder) / "pytest.log"
        code = _pytest(args, report_file, log_file)
        if code == PYTEST_USAGE or not report_file.exists():
            print(log_file.read_text(errors="replace"), file=sys.stderr)
            return UNUSABLE if code == PYTEST_USAGE else FAILED
        report = from_file(str(report_file))
        if report.failed and not report.only_laws_failed:
            print(log_file.read_text(errors="replace"))
    print_report(report, args.require_all, args.verbose)
    for name in args.report:
        write_report(report, name)
    if args.write_deviations:
        write_entries(report, Path(args.write_deviations))
    return _exit_code(report, args.require_all)


def _check_settings(args: argparse.Namespace) -> None:
    """Raises InputError for what would cost a whole run before it shows."""
    check_names(args.report)
    if args.workers != "auto":
        count_of(args.workers, "-n", 0, MAX_WORKERS)
    if args.seed is not None:
        count_of(args.seed, "--seed", 0, MAX_SEED)
    if args.bench_data is not None and not Path(args.bench_data).is_dir():
        raise InputError(
            f"{printable(args.bench_data)} is no folder",
            source="--bench-data",
            expected="the folder docs/bench-data of a checkout of Helldez/BigMoeOnEdge",
        )


def _exit_code(report: Report, require_all: bool) -> int:
    if report.failed or (require_all and report.never_exercised):
        return FAILED
    return NOTHING_JUDGED if report.judged_nothing else PASSED


def _pytest(args: argparse.Namespace, report_file: Path, log_file: Path) -> int:
    """Run pytest with its output in a file; gives its exit code."""
    command = [sys.executable, "-m", "pytest", *_arguments(args), "--gate-report", str(report_file)]
    watched = sys.stderr.isatty() and not os.environ.get("CI")
    if watched:
        print("running …", end="", file=sys.stderr, flush=True)
    with log_file.open("w") as log:
        started = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        code = _waited(started)
    if watched:
        print("\r\033[K", end="", file=sys.stderr)
    return code


def _waited(child: subprocess.Popen[bytes]) -> int:
    """The exit code of pytest. When this process is told to end, pytest, its workers and their drivers end first."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        return child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
        raise


def _arguments(args: argparse.Namespace) -> Iterator[str]:
    judged = args.expert_cache or args.row_cache
    yield from (
        str(ROOT / place) for place in ([LAW_TESTS] if judged else ["properties", "regressions"])
    )
    yield from (f"--ignore={ROOT / 'properties' / f'test_{name}.py'}" for name in OF_THE_TOOL)
    yield from ("--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "-q", "--no-header")
    yield from ("-n", args.workers, "--profile", args.profile)
    yield from [f"--hypothesis-seed={args.seed}"] if args.seed is not None else []
    yield from ("--counterexamples", str(Path(args.counterexamples).resolve()))
    for option, values in (
        ("--expert-cache", args.expert_cache),
        ("--row-cache", args.row_cache),
        ("--deviations", [str(Path(name).resolve()) for name in args.deviations]),
        ("--bench-data", [str(Path(args.bench_data).resolve())] if args.bench_data else []),
    ):
        for value in values:
            yield from (option, value)
