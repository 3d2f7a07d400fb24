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
from gate.report.text import closing_verdict
from gate.report.write import curves_of, trace_files, write_report
from reference.errors import InputError

LAW = "budget/never-above"
TESTED = Judged(
    "cmd:./x", "x", "1", "expert-cache", 1, {"budget": "cycles"}, ["budget=cycles", "resize"], 9, []
)
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
    """A law that was not checked once, or that the level cannot see, is told apart from one that held."""
    by_law = {verdict.law: verdict.verdict for verdict in GOOD.verdicts}
    assert by_law[LAW] == "pass"
    assert by_law["counters/turns"] == NOT_EXERCISED
    assert by_law["residency/batch-stays"] == "skip"  # level 2, declared 1
    suite = ElementTree.fromstring(to_junit(GOOD))
    held = sum(verdict.verdict == "pass" for verdict in GOOD.verdicts)
    assert int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) == held == 3
    assert suite.get("failures") == "0"


def test_a_law_that_does_not_apply_is_skipped() -> None:
    """Without the capability or the rule that a law needs, it is no gap."""
    by_law = {verdict.law: verdict.verdict for verdict in GOOD.verdicts}
    assert by_law["answers/failed-read-is-absent"] == "skip"
    assert by_law["budget/legal"] == NOT_EXERCISED


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


def test_compare_names_what_got_worse_and_better(tmp_path: Path) -> None:
    """A law that breaks is worse, mended it is better; equal reports show no difference."""
    assert list(compare.changes(GOOD, GOOD)) == []
    (worse,) = compare.changes(GOOD, BAD)
    assert worse == f"worse   {LAW} on expert-cache=cmd:./x: pass -> fail"
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
    assert list(compare.changes(GOOD, newer)) == ["other   expert-cache=cmd:./x: x 1 -> x 2"]


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
