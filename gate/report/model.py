"""What is a report? Settings, verdicts by law and implementation, failures, golden differences, completeness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from gate.connect.implementation import CRASH, GARBAGE, HANG
from gate.judging.judge import ALL_LAWS, EVERY_OPERATION_ANSWERS
from reference.errors import InputError
from replay.lines import open_regular

FORMAT = "cachegate-report 1"
PASS, FAIL, NOT_EXERCISED, SKIP = "pass", "fail", "not exercised", "skip"
FAILURES = (FAIL, CRASH, HANG, GARBAGE)
OF_DEVIATIONS = ("deviation ", "the witness ")
"""How the text of a test begins that says what is wrong with a known deviation."""
MAX_REPORT_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Judged:
    """An implementation under test: what it declared, the laws not judged on it and why, the deviations known."""

    connect: str
    name: str
    version: str
    cache: str
    level: int
    rules: dict[str, str]
    skips: dict[str, str]
    programs: int
    deviations: list[str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one law came out on one implementation: how often it was checked, and why it was not."""

    cache: str
    connect: str
    law: str
    verdict: str
    checks: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A fault with its text and the program."""

    cache: str
    connect: str
    law: str
    verdict: str
    text: str
    program: str


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden table that was measured: cells compared, and differences with their size in tolerances."""

    table: str
    cells: int
    differences: list[str]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a run tells. Timings are not part of it, so equal runs give equal reports.

    Args:
        settings: every effective setting by name.
        tests: folder -> outcome -> count, over all tests but those of the laws, which `verdicts` tell.
        failed_tests: the tests that failed, with what pytest printed.
        skips: reason -> how many tests were skipped for it.
        complete: False when the run ended early.
    """

    settings: dict[str, str]
    implementations: list[Judged]
    verdicts: list[Verdict]
    failures: list[Failure]
    golden: list[Golden]
    tests: dict[str, dict[str, int]]
    failed_tests: dict[str, str]
    skips: dict[str, int]
    complete: bool
    laws: dict[str, str] = field(default_factory=dict)

    @property
    def never_exercised(self) -> list[Verdict]:
        """Laws that were not checked once on an implementation that they apply to."""
        return [verdict for verdict in self.verdicts if verdict.verdict == NOT_EXERCISED]

    @property
    def failed(self) -> bool:
        """Did anything fail?"""
        return bool(self.failures or self.failed_tests) or not self.complete

    @property
    def smallest_failures(self) -> list[Failure]:
        """One failure for each law and implementation: that of the shortest program."""
        found: dict[tuple[str, str, str], Failure] = {}
        for failure in sorted(self.failures, key=lambda f: (f.program.count("\n"), len(f.program))):
            found.setdefault((failure.cache, failure.connect, failure.law), failure)
        return list(found.values())

    @property
    def untold_tests(self) -> dict[str, str]:
        """The tests that failed, less those that a law's failure or a golden difference tells."""
        told = [failure.text for failure in self.failures]
        told += [line for golden in self.golden for line in golden.differences]
        return {
            test: text
            for test, text in self.failed_tests.items()
            if not any(line in text for line in told)
        }

    @property
    def only_laws_failed(self) -> bool:
        """Is every test that failed told by what else the report has?"""
        return self.complete and not self.untold_tests

    @property
    def judged_nothing(self) -> bool:
        """Was neither a law checked nor a test passed?"""
        passed = any("passed" in counts for counts in self.tests.values())
        return not passed and not any(verdict.checks for verdict in self.verdicts)


def verdicts_of(
    tested: Iterable[Judged],
    checks: dict[tuple[str, str, str], int],
    failures: Sequence[Failure],
) -> list[Verdict]:
    """The verdict of every law on every implementation of its cache; what cannot be judged on it is skipped."""
    failed = {(f.cache, f.connect, f.law): f.verdict for f in failures}
    verdicts = []
    for one in tested:
        for law in (EVERY_OPERATION_ANSWERS, *ALL_LAWS):
            if law.cache and law.cache != one.cache:
                continue
            key = (one.cache, one.connect, law.id)
            count, why = checks.get(key, 0), one.skips.get(law.id, "")
            what = failed.get(key) or (PASS if count else SKIP if why else NOT_EXERCISED)
            reason = why if what == SKIP else ""
            verdicts.append(Verdict(one.cache, one.connect, law.id, what, count, reason))
    return verdicts


def to_json(report: Report) -> str:
    """The report as JSON, which `from_file` reads."""
    return json.dumps({"format": FORMAT, **asdict(report)}, indent=1, sort_keys=True) + "\n"


def from_file(path: str) -> Report:
    """A report written as JSON.

    Raises:
        InputError: it cannot be read, or is no report.
    """
    with open_regular(path) as file:
        text = file.read(MAX_REPORT_BYTES + 1)
    if len(text) > MAX_REPORT_BYTES:
        raise InputError(
            "too long for a report", source=path, expected=f"at most {MAX_REPORT_BYTES >> 20} MiB"
        )
    try:
        data: Any = json.loads(text)
        if data.pop("format") != FORMAT:
            raise InputError("another version of report", source=path, expected=FORMAT)
        report = Report(
            **data
            | {
                "implementations": [Judged(**one) for one in data["implementations"]],
                "verdicts": [Verdict(**one) for one in data["verdicts"]],
                "failures": [Failure(**one) for one in data["failures"]],
                "golden": [Golden(**one) for one in data["golden"]],
            }
        )
        if not _fits(report, Report):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(
            "not a report of cachegate", source=path, expected="what --report FILE.json wrote"
        ) from None
    return report


def _fits(value: Any, hint: Any) -> bool:
    """Is a value read from JSON what an annotation of this file promises, all the way down?"""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if not isinstance(value, kind):
        return False
    if is_dataclass(kind):
        return all(_fits(getattr(value, name), h) for name, h in get_type_hints(kind).items())
    values = value.values() if kind is dict else value if kind is list else ()
    return all(_fits(one, inner[-1]) for one in values)
