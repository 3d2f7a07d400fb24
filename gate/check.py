"""`cachegate check`: the gate. Runs the laws and golden tables through pytest and prints a verdict for each law.

Without an implementation named, the reference itself is judged, with the golden tables and the suite's own tests; with
one, only the laws of its kind of cache are run on it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from gate.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS
from gate.show import print_table
from reference.laws import Law

ROOT = Path(__file__).resolve().parent.parent
LAW_TESTS = "properties/test_laws.py"
PASSED, FAILED, NOTHING_JUDGED = 0, 1, 3
NO_TESTS = 5  # pytest's exit code
PASS, NOT_EXERCISED = "pass", "not exercised"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate check`."""
    parser.add_argument(
        "--profile",
        default="quick",
        choices=["quick", "gate", "nightly"],
        help="how many programs a law is tried on (default quick)",
    )
    parser.add_argument("-n", dest="workers", default="0", help="parallel workers, or auto")
    parser.add_argument(
        "--expert-cache", action="append", default=[], metavar="CONNECT", help="what is judged"
    )
    parser.add_argument(
        "--row-cache", action="append", default=[], metavar="CONNECT", help="what is judged"
    )
    parser.add_argument("--bench-data", metavar="DIR", help="the engine's recorded runs")
    parser.add_argument(
        "--counterexamples",
        metavar="DIR",
        default="counterexamples",
        help="where failing programs are written (default ./counterexamples)",
    )
    parser.add_argument(
        "--require-all", action="store_true", help="a law that was never exercised is a failure"
    )


def run(args: argparse.Namespace) -> int:
    """Run pytest, then print the verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        report_file = Path(folder) / "report.json"
        log_file = Path(folder) / "pytest.log"
        code = _pytest(args, report_file, log_file)
        if not report_file.exists():
            print(log_file.read_text(errors="replace"), file=sys.stderr)
            return 2 if code == 4 else 1  # pytest's own code for wrong usage
        report = json.loads(report_file.read_text())
        if code not in (PASSED, NO_TESTS):
            print(log_file.read_text(errors="replace"))
    return _tell(report, args)


def _pytest(args: argparse.Namespace, report_file: Path, log_file: Path) -> int:
    judged = args.expert_cache + args.row_cache
    places = [LAW_TESTS] if judged else ["properties", "regressions"]
    command = [sys.executable, "-m", "pytest", *(str(ROOT / place) for place in places)]
    command += ["--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "-q", "--no-header"]
    command += ["-n", args.workers, "--profile", args.profile, "--gate-report", str(report_file)]
    command += ["--counterexamples", str(Path(args.counterexamples).resolve())]
    for connect in args.expert_cache:
        command += ["--expert-cache", connect]
    for connect in args.row_cache:
        command += ["--row-cache", connect]
    if args.bench_data:
        command += ["--bench-data", str(Path(args.bench_data).resolve())]
    watched = sys.stderr.isatty()
    with log_file.open("w") as log:
        if watched:
            print("running …", end="", file=sys.stderr, flush=True)
        code = subprocess.call(command, stdout=log, stderr=subprocess.STDOUT)
        if watched:
            print("\r\033[K", end="", file=sys.stderr)
    return code


def _tell(report: dict[str, Any], args: argparse.Namespace) -> int:
    """Print the tables; gives the exit code."""
    judged = sorted(report["programs"])
    verdicts = _verdicts(report, judged)
    headings = ["law", "level", *judged]
    rows = [
        [law.id, str(law.level), *(verdicts[name, law.id] for name in judged)]
        for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS)
        if any((name, law.id) in verdicts for name in judged)
    ]
    print_table(headings, rows)
    unexercised = sorted({law for (_, law), what in verdicts.items() if what == NOT_EXERCISED})
    print(f"\nprofile {args.profile}; programs judged: {_counted(report['programs'])}")
    if unexercised:
        print(f"never exercised on some implementation: {', '.join(unexercised)}")
    _tell_tests(report)
    failed = any(outcome == "failed" for outcome in report["tests"].values())
    if failed or (args.require_all and unexercised):
        print("verdict: FAIL")
        return FAILED
    if not report["checks"] and "passed" not in report["tests"].values():
        print("verdict: nothing was judged")
        return NOTHING_JUDGED
    print("verdict: pass")
    return PASSED


def _verdicts(report: dict[str, Any], judged: list[str]) -> dict[tuple[str, str], str]:
    """(implementation, law) -> what the table shows."""
    checks = {(connect, law): count for connect, law, count in report["checks"]}
    faults = {(connect, law): verdict for connect, law, verdict, _ in report["faults"]}
    caches = {connect: _caches(checks, connect) for connect in judged}
    verdicts = {}
    for connect in judged:
        for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS):
            count = checks.get((connect, law.id), 0)
            if law.cache and law.cache not in caches[connect]:
                continue
            what = faults.get((connect, law.id), PASS if count else NOT_EXERCISED)
            verdicts[connect, law.id] = f"{what} {count}" if count else what
    return verdicts


def _caches(checks: dict[tuple[str, str], int], connect: str) -> set[str]:
    """The kinds of cache that were judged under a connect string."""
    by_id: dict[str, Law] = {law.id: law for law in ALL_LAWS}
    return {by_id[law].cache for name, law in checks if name == connect and law in by_id}


def _counted(programs: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in programs.items()) or "none"


def _tell_tests(report: dict[str, Any]) -> None:
    """How the tests ended, a line a folder, and why some were skipped."""
    for place in ("properties", "regressions"):
        ended = Counter(
            outcome for test, outcome in report["tests"].items() if test.startswith(place)
        )
        if ended:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(ended.items()))
            print(f"{place}: {counts}")
    for reason, count in Counter(report["skips"].values()).items():
        print(f"  skipped {count}: {reason}")
