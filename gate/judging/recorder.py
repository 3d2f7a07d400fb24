"""What was judged in a pytest run, and what came out? A pytest plugin that gathers it over workers.

A test hands over what its judge counted through the fixture `record`; how tests ended is seen here. With
`--gate-report FILE` the controller writes the report (gate/report/model.py) as JSON when the run is over.
"""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from gate.judging.judge import Fault, Judge
from gate.judging.subject import Subject
from gate.report.model import Failure, Golden, Judged, Report, to_json, verdicts_of
from reference.program_text import format_program
from replay.kernel import engine_name

STASH = pytest.StashKey["Record"]()
WORKER_KEY = "cachegate"
WORKER_LINE = re.compile(r"\A\[gw\d+\] .*\n")
"""What a worker puts before a failure: it would tell runs apart that are equal."""

NOT_UNDER_TEST = "got empty parameter set"
"""Pytest's reason for tests of a kind of cache of which nothing is under test."""

LAW_TESTS = "test_laws.py::"
"""The tests that the verdicts tell law by law."""

Key = tuple[str, str]
"""(kind of cache, connect string) of an implementation."""


class Record:
    """What one process has seen.

    Attributes:
        subjects: what each implementation declared, and its known deviations.
        programs: programs judged.
        checks: (implementation, law) -> checks made.
        failures, golden: as in the report.
    """

    def __init__(self) -> None:
        self.subjects: dict[Key, dict[str, Any]] = {}
        self.programs: Counter[Key] = Counter()
        self.checks: Counter[tuple[str, str, str]] = Counter()
        self.failures: list[Failure] = []
        self.golden: dict[str, Golden] = {}

    def add(self, subject: Subject, judge: Judge) -> None:
        """Take what a judge counted."""
        declared = subject.declared
        key = (declared.cache, subject.connect)
        self.subjects[key] = {
            "name": declared.name,
            "version": declared.version,
            "level": declared.level,
            "rules": {name: str(value) for name, value in asdict(declared.rules).items()},
            "skips": subject.skipped(),
            "deviations": [deviation.id for deviation in subject.deviations],
        }
        self.programs[key] += judge.programs
        for law, count in judge.checks.items():
            self.checks[*key, law] += count

    def add_fault(self, subject: Subject, fault: Fault, text: str) -> None:
        """Take a failure as it is printed."""
        cache, program = subject.implementation.declaration.cache, format_program(fault.program)
        self.failures.append(
            Failure(cache, subject.connect, fault.law.id, fault.verdict, text, program)
        )

    def add_golden(self, table: str, cells: int, differences: list[str]) -> None:
        """Take how a golden table compares with a measurement."""
        self.golden[table] = Golden(table, cells, differences)

    def dump(self) -> dict[str, Any]:
        """Plain data, which is what passes from a worker to its controller."""
        return {
            "subjects": [[*key, declared] for key, declared in self.subjects.items()],
            "programs": [[*key, count] for key, count in self.programs.items()],
            "checks": [[*key, count] for key, count in self.checks.items()],
            "failures": [asdict(failure) for failure in self.failures],
            "golden": [asdict(golden) for golden in self.golden.values()],
        }

    def merge(self, dumped: dict[str, Any]) -> None:
        """Add what another process dumped."""
        for cache, connect, declared in dumped["subjects"]:
            self.subjects[cache, connect] = declared
        for cache, connect, count in dumped["programs"]:
            self.programs[cache, connect] += count
        for cache, connect, law, count in dumped["checks"]:
            self.checks[cache, connect, law] += count
        self.failures += [Failure(**failure) for failure in dumped["failures"]]
        self.golden |= {golden["table"]: Golden(**golden) for golden in dumped["golden"]}

    def tested(self) -> list[Judged]:
        """The implementations under test."""
        return [
            Judged(connect, cache=cache, programs=self.programs[cache, connect], **declared)
            for (cache, connect), declared in sorted(self.subjects.items())
        ]


class Controller:
    """Sees how every test ended, and writes the report."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ended: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.skips: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one test ended."""
        if report.failed:
            self.ended[report.nodeid] = "failed"
            self.failed[report.nodeid] = WORKER_LINE.sub("", report.longreprtext)
        elif report.skipped:
            reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
            if NOT_UNDER_TEST not in reason:
                self.ended[report.nodeid] = "skipped"
                self.skips[report.nodeid] = reason.removeprefix("Skipped: ")
        elif report.when == "call":
            self.ended[report.nodeid] = "passed"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker is done: take its record."""
        self.config.stash[STASH].merge(getattr(node, "workeroutput", {}).get(WORKER_KEY, NOTHING))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Everything is in: write the report."""
        target = self.config.getoption("--gate-report")
        if target:
            Path(target).write_text(to_json(self._report(exitstatus)), encoding="utf-8")

    def _report(self, exitstatus: int) -> Report:
        record = self.config.stash[STASH]
        failures = sorted(record.failures, key=lambda f: (f.cache, f.connect, f.law, f.program))
        tested = record.tested()
        tests: dict[str, Counter[str]] = {}
        for test, outcome in sorted(self.ended.items()):
            if LAW_TESTS not in test:
                tests.setdefault(test.split("/")[0], Counter())[outcome] += 1
        return Report(
            settings=self._settings(),
            implementations=tested,
            verdicts=verdicts_of(tested, dict(record.checks), failures),
            failures=failures,
            golden=[record.golden[table] for table in sorted(record.golden)],
            tests={place: dict(sorted(counts.items())) for place, counts in tests.items()},
            failed_tests=dict(sorted(self.failed.items())),
            skips=dict(sorted(Counter(self.skips.values()).items())),
            complete=exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
        )

    def _settings(self) -> dict[str, str]:
        """Every effective setting that can move a verdict; the number of workers cannot."""
        active = hypothesis.settings.default
        drawn = ("max_examples", "derandomize", "phases", "deadline", "backend", "database")
        return {
            "profile": str(self.config.getoption("--profile")),
            "python": platform.python_version(),
            "hypothesis": hypothesis.__version__,
            "seed": str(self.config.getoption("hypothesis_seed") or "derandomized"),
            "engine": engine_name(),
            "bench_data": "given" if self._has_bench_data() else "absent",
            **{f"hypothesis.{name}": str(getattr(active, name)) for name in drawn},
        }

    def _has_bench_data(self) -> bool:
        option = self.config.getoption("--bench-data")
        return bool(option or os.environ.get("CACHEGATE_BENCH_DATA"))


NOTHING: dict[str, Any] = Record().dump()


class WorkerEnd:
    """Hands the record of a worker over to its controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_sessionfinish(self) -> None:
        """The worker is done."""
        output = self.config.workeroutput  # type: ignore[attr-defined]
        output[WORKER_KEY] = self.config.stash[STASH].dump()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write the report."""
    parser.getgroup("cachegate").addoption("--gate-report", metavar="FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Start with an empty record."""
    config.stash[STASH] = Record()
    is_worker = hasattr(config, "workeroutput")
    config.pluginmanager.register(WorkerEnd(config) if is_worker else Controller(config))


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config) -> Record:
    """The record of this process."""
    return pytestconfig.stash[STASH]
