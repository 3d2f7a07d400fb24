"""Does a report tell everything once, in every form, and does comparing two show what changed?"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gate import compare
from gate.cli import main
from gate.report.html import to_html
from gate.report.junit import to_junit
from gate.report.markdown import to_markdown
from gate.report.model import (
    NOT_EXERCISED,
    Failure,
    Golden,
    Judged,
    Report,
    from_file,
    to_json,
    verdicts_of,
)
from gate.report.text import closing_lines, closing_verdict, print_report
from gate.report.write import curves_of, trace_files, write_report
from reference.errors import InputError

LAW = "budget/never-above"
SKIPS = {"residency/batch-stays": "needs level 2", "counters/turns": "needs column turn"}
TESTED = Judged("cmd:./x", "x", "1", "expert-cache", 1, {"budget": "cycles"}, SKIPS, 9, [])
BROKEN = Failure(
    "expert-cache", "cmd:./x", LAW, "fail", "FAIL <here> & \x1b there", "expert-cache v1\n"
)


def report(failures: list[Failure], **changes: object) -> Report:
    """A report of one implementation on which three laws were checked."""
    ids = ("answers/every-operation", LAW, "counters/never-fall")
    checks = {("expert-cache", "cmd:./x", law): 7 for law in ids}
    made = Report(
        settings={"profile": "quick", "python": "3", "engine": "c", "seed": "1"},
        implementations=[TESTED],
        verdicts=verdicts_of([TESTED], checks, failures),
        failures=failures,
        golden=[Golden("cliff", 12, [])],
        tests={"properties": {"passed": 3}},
        failed_tests={},
        skips={"no data": 2},
        complete=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


GOOD, BAD = report([]), report([BROKEN])


def test_json_gives_the_report_back(tmp_path: Path) -> None:
    """What is written as JSON is read as the same report."""
    for made in (GOOD, BAD):
        write_report(made, str(tmp_path / "r.json"))
        assert from_file(str(tmp_path / "r.json")) == made


@pytest.mark.parametrize("form", [to_markdown, to_junit, lambda r: to_html(r, {}), to_json])
def test_every_form_tells_a_failure(form: Callable[[Report], str]) -> None:
    """The law, the failing implementation and the failure's text stand in every form."""
    told = form(BAD)
    assert LAW in told
    assert "cmd:./x" in told
    assert "there" in told


def test_unexercised_is_never_passed() -> None:
    """A law that was not checked once, or that cannot be judged, is told apart from one that held."""
    by_law = {verdict.law: verdict for verdict in GOOD.verdicts}
    assert by_law[LAW].verdict == "pass"
    assert by_law["budget/legal"].verdict == NOT_EXERCISED
    turns = by_law["counters/turns"]
    assert (turns.verdict, turns.reason) == ("skip", "needs column turn")
    suite = ElementTree.fromstring(to_junit(GOOD))
    held = sum(verdict.verdict == "pass" for verdict in GOOD.verdicts)
    assert int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) == held == 3
    assert suite.get("failures") == "0"


@pytest.mark.parametrize("form", [to_markdown, to_junit, lambda r: to_html(r, {}), to_json])
def test_every_form_says_why_a_law_is_skipped(form: Callable[[Report], str]) -> None:
    """The column or level that is missing, by its name."""
    assert "needs column turn" in form(GOOD)
    assert "needs level 2" in form(GOOD)


def test_a_law_that_was_checked_is_not_skipped() -> None:
    """A witness may exercise what programs leave out: what came out counts."""
    checks = {("expert-cache", "cmd:./x", "counters/turns"): 3}
    (turns,) = (v for v in verdicts_of([TESTED], checks, []) if v.law == "counters/turns")
    assert (turns.verdict, turns.checks, turns.reason) == ("pass", 3, "")


def test_require_all_is_about_what_could_be_exercised() -> None:
    """A law that is skipped breaks nothing; one that was never exercised does."""
    left = [verdict for verdict in GOOD.verdicts if verdict.verdict != NOT_EXERCISED]
    assert closing_verdict(report([], verdicts=left), require_all=True) == "pass"
    assert closing_verdict(GOOD, require_all=True).startswith("FAIL: laws that were never")


# The terminal


def test_the_terminal_counts_what_was_never_exercised() -> None:
    """By name only where that is asked for, and in every file."""
    count = len(GOOD.never_exercised)
    brief = [line for line in closing_lines(GOOD, verbose=False) if "never exercised" in line]
    assert brief == [f"never exercised: {count} (-v names them)"]
    (whole,) = (line for line in closing_lines(GOOD) if "never exercised" in line)
    assert all(verdict.law in whole for verdict in GOOD.never_exercised)
    assert "counters/turns" not in whole
    for form in (to_markdown, lambda r: to_html(r, {})):
        assert "budget/legal (cmd:./x)" in form(GOOD)


def test_the_matrix_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """In the place of a number of checks."""
    print_report(GOOD)
    laws = {verdict.law for verdict in GOOD.verdicts}
    rows = (line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    told = {row[0]: row[1] for row in rows if row and row[0] in laws}
    assert told["counters/turns"] == "skip: needs column turn"
    assert told[LAW] == "7"
    assert told["budget/legal"] == "not exercised"


def test_a_test_that_a_law_tells_is_told_once() -> None:
    """Its failure is that of the law, or of the golden cell; any other test is told by its name."""
    failed = {
        "properties/test_laws.py::test_expert_cache[x]": BROKEN.text,
        "regressions/test_golden_x.py::test_cell": "AssertionError: cliff [a] b: 2.00 tolerances",
        "properties/test_y.py::test_z": "assert 1 == 2",
    }
    golden = [Golden("cliff", 12, ["cliff [a] b: 2.00 tolerances"])]
    made = report([BROKEN], failed_tests=failed, golden=golden)
    assert list(made.untold_tests) == ["properties/test_y.py::test_z"]
    assert not made.only_laws_failed
    told = replace(made, failed_tests=dict(list(failed.items())[:2]))
    assert told.only_laws_failed
    for form in (to_markdown, to_junit, lambda r: to_html(r, {})):
        assert "test_z" in form(made)
        assert "test_expert_cache" not in form(made)
        assert "test_cell" not in form(made)


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (GOOD, "pass"),
        (BAD, "FAIL"),
        (report([], complete=False), "the run did not complete"),
        (report([], verdicts=[], tests={}), "nothing was judged"),
        (report([], failed_tests={"properties/test_x.py::test": "E"}), "FAIL"),
    ],
)
def test_the_last_word(made: Report, word: str) -> None:
    """The closing verdict follows from what is in the report."""
    assert closing_verdict(made) == word


# Comparing two


def test_compare_names_what_got_worse_and_better(tmp_path: Path) -> None:
    """A law that breaks is worse, mended it is better; equal reports show no difference."""
    assert list(compare.changes(GOOD, GOOD)) == []
    (worse,) = compare.changes(GOOD, BAD)
    assert worse == f"worse   {LAW} on expert-cache x: pass -> fail"
    (better,) = compare.changes(BAD, GOOD)
    assert better.startswith("better")
    for name, made in (("old", GOOD), ("new", BAD)):
        write_report(made, str(tmp_path / f"{name}.json"))
    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 1
    assert main(["compare", str(tmp_path / "new.json"), str(tmp_path / "old.json")]) == 0


def test_compare_shows_golden_cells_and_versions() -> None:
    """A golden cell that moved, and another version under test, are shown."""
    moved = report([], golden=[Golden("cliff", 12, ["cliff [a] b: 2.00 tolerances"])])
    assert [line[:7].strip() for line in compare.changes(GOOD, moved)] == ["worse"]
    newer = report([], implementations=[replace(TESTED, version="2")])
    assert list(compare.changes(GOOD, newer)) == ["other   expert-cache x: 1 -> 2"]


def elsewhere(made: Report, connect: str, name: str = "x") -> Report:
    """The same report of a build that lies at another place."""
    return replace(
        made,
        implementations=[replace(one, connect=connect, name=name) for one in made.implementations],
        verdicts=[replace(one, connect=connect) for one in made.verdicts],
        failures=[replace(one, connect=connect) for one in made.failures],
    )


def both(one: Report, other: Report) -> Report:
    """A report of the implementations of two."""
    return replace(
        one,
        implementations=[*one.implementations, *other.implementations],
        verdicts=[*one.verdicts, *other.verdicts],
        failures=[*one.failures, *other.failures],
    )


def test_another_path_is_the_same_implementation() -> None:
    """It is known by its kind and declared name: where it was built does not matter."""
    moved = elsewhere(BAD, "cmd:/tmp/build-7/x level=3")
    assert list(compare.changes(GOOD, moved)) == list(compare.changes(GOOD, BAD))
    assert list(compare.changes(GOOD, elsewhere(GOOD, "cmd:/tmp/y"))) == []


def test_two_of_one_name_are_told_apart_by_their_connect_strings() -> None:
    """Each is compared with itself."""
    slow = "cmd:./x --slow"
    before, after = both(GOOD, elsewhere(GOOD, slow)), both(GOOD, elsewhere(BAD, slow))
    (worse,) = compare.changes(before, after)
    assert worse == f"worse   {LAW} on expert-cache x ({slow}): pass -> fail"


def test_what_is_new_and_fails_is_worse() -> None:
    """A law that was not judged before and fails; one that was skipped and fails; not one that was failing."""
    unjudged = replace(GOOD, verdicts=[v for v in GOOD.verdicts if v.law != LAW])
    assert list(compare.changes(unjudged, BAD)) == [
        f"worse   {LAW} on expert-cache x: not judged -> fail"
    ]
    skipped = replace(
        GOOD, verdicts=[replace(v, verdict="skip") if v.law == LAW else v for v in GOOD.verdicts]
    )
    assert [line[:5] for line in compare.changes(skipped, BAD)] == ["worse"]
    crashed = replace(
        BAD, verdicts=[replace(v, verdict="crash") if v.law == LAW else v for v in BAD.verdicts]
    )
    assert [line[:5] for line in compare.changes(BAD, crashed)] == ["other"]
    assert [line[:5] for line in compare.changes(GOOD, skipped)] == ["worse"]


def test_another_implementation_is_one_line_and_its_failures() -> None:
    """What is tested no longer is worse, what is tested now is told; neither law by law."""
    two = both(GOOD, elsewhere(GOOD, "cmd:./y", "y"))
    assert list(compare.changes(two, GOOD)) == ["worse   expert-cache y: 1 -> not tested"]
    assert list(compare.changes(GOOD, two)) == ["other   expert-cache y: not tested -> 1"]
    failing = both(GOOD, elsewhere(BAD, "cmd:./y", "y"))
    assert list(compare.changes(GOOD, failing)) == [
        "other   expert-cache y: not tested -> 1",
        f"worse   {LAW} on expert-cache y: not judged -> fail",
    ]


def test_compare_tells_no_test_that_a_law_tells() -> None:
    """Beside the law it would be said twice; what is wrong with a known deviation is said in its words."""
    told = {"properties/test_laws.py::test_expert_cache[x]": BROKEN.text}
    assert list(compare.changes(GOOD, replace(BAD, failed_tests=told))) == [
        f"worse   {LAW} on expert-cache x: pass -> fail"
    ]
    expired = report([], failed_tests={"a.py::test_deviations_hold": "deviation d has expired"})
    assert list(compare.changes(GOOD, expired)) == ["worse   deviation d has expired"]
    other = report([], failed_tests={"a.py::test_b": "assert 0"})
    assert list(compare.changes(GOOD, other)) == ["worse   a.py::test_b fails"]
    assert list(compare.changes(other, GOOD)) == ["better  no longer: a.py::test_b fails"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": "other"}', '{"format": "cachegate-report 1"}']
)
def test_a_file_that_is_no_report_is_unusable(text: str, tmp_path: Path) -> None:
    """It is refused with its name."""
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match=r"r\.json"):
        from_file(str(tmp_path / "r.json"))


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": []},
        {"settings": {"a": 1}},
        {"complete": "yes"},
        {"verdicts": [{**asdict(GOOD.verdicts[0]), "law": 3}]},
        {"golden": [{"table": "t", "cells": 1, "differences": "x"}]},
        {"tests": {"properties": 1}},
    ],
)
def test_a_report_with_something_else_in_it_is_unusable(
    changes: dict[str, object], tmp_path: Path
) -> None:
    """Every part is what a report holds there, all the way down; else comparing it would fail later on."""
    (tmp_path / "r.json").write_text(json.dumps(json.loads(to_json(GOOD)) | changes))
    with pytest.raises(InputError, match="not a report"):
        from_file(str(tmp_path / "r.json"))


def test_a_name_that_is_no_text_costs_no_report(tmp_path: Path) -> None:
    """Control signs, and bytes that are no UTF-8, stand in every form as something that can be read."""
    strange = report([], settings={**GOOD.settings, "judged": "cmd:./\x1b\udcff"})
    for name in ("r.json", "r.md", "r.xml", "r.html"):
        write_report(strange, str(tmp_path / name))
        assert (tmp_path / name).read_text(encoding="utf-8")
    ElementTree.parse(tmp_path / "r.xml")


def test_an_unknown_ending_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A report that could not be written costs no run."""
    assert main(["check", "--report", "r.pdf"]) == 2
    assert "r.pdf" in capsys.readouterr().err


def test_the_page_shows_in_a_browser(tmp_path: Path) -> None:
    """A real browser draws the matrix and the hit curves, without a network."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    page = tmp_path / "r.html"
    page.write_text(to_html(BAD, curves_of(trace_files())), encoding="utf-8")
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *quiet]
    dumped = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    document = dumped[dumped.index("<html") :]
    assert "The report is complete." in document
    assert document.count("<svg") >= 2
    assert "http" not in document.replace("http://www.w3.org", "")
