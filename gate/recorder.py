"""Which laws were exercised in a pytest run, on what, and what came out? A pytest plugin that gathers it over workers.

A test hands over what its judge counted (`record_laws`); golden and audit tests count as they are. With
`--gate-report FILE` the controller writes everything as JSON when the run is over.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gate.judge import Fault, Judge

STASH = pytest.StashKey["Record"]()
WORKER_KEY = "cachegate"


class Record:
    """What one process has seen.

    Attributes:
        checks: (implementation, law) -> checks made.
        programs: implementation -> programs judged.
        faults: (implementation, law, verdict, text) of what failed.
    """

    def __init__(self) -> None:
        self.checks: Counter[tuple[str, str]] = Counter()
        self.programs: Counter[str] = Counter()
        self.faults: list[tuple[str, str, str, str]] = []

    def add(self, connect: str, judge: Judge) -> None:
        """Take what a judge counted."""
        self.programs[connect] += judge.programs
        for law, count in judge.checks.items():
            self.checks[connect, law] += count

    def add_fault(self, connect: str, fault: Fault, text: str) -> None:
        """Take a failure as it is printed."""
        self.faults.append((connect, fault.law.id, fault.verdict, text))

    def dump(self) -> dict[str, Any]:
        """Plain data, which is what passes from a worker to its controller."""
        return {
            "checks": [[connect, law, n] for (connect, law), n in sorted(self.checks.items())],
            "programs": dict(sorted(self.programs.items())),
            "faults": sorted(self.faults),
        }

    def merge(self, dumped: dict[str, Any]) -> None:
        """Add what another process dumped."""
        for connect, law, count in dumped["checks"]:
            self.checks[connect, law] += count
        self.programs.update(dumped["programs"])
        self.faults += [tuple(fault) for fault in dumped["faults"]]


class Outcomes:
    """Counts how the tests of each group ended, on the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ended: dict[str, str] = {}
        self.reasons: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one test ended."""
        if report.failed or (report.when == "call" and report.passed):
            self.ended[report.nodeid] = report.outcome
        elif report.skipped:
            self.ended[report.nodeid] = "skipped"
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.reasons[report.nodeid] = str(reason).removeprefix("Skipped: ")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker is done: take its record."""
        self.config.stash[STASH].merge(node.workeroutput[WORKER_KEY])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Everything is in: write the report."""
        target = self.config.getoption("--gate-report")
        if target:
            dumped = self.config.stash[STASH].dump()
            tests = {"tests": dict(sorted(self.ended.items())), "skips": self.reasons}
            Path(target).write_text(json.dumps(dumped | tests))


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
    config.pluginmanager.register(WorkerEnd(config) if is_worker else Outcomes(config))


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config) -> Record:
    """The record of this process."""
    return pytestconfig.stash[STASH]
