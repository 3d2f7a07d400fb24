"""The report as JUnit XML: a test case for each law and implementation, and for each test that failed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from gate.report.model import NOT_EXERCISED, PASS, SKIP, Report, Verdict

ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(report: Report) -> str:
    """One suite; what was never exercised or not offered counts as skipped, never as passed."""
    suite = ElementTree.Element("testsuite", name="cachegate")
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in sorted(report.settings.items()):
        ElementTree.SubElement(properties, "property", name=name, value=_legal(value))
    texts = {(f.cache, f.connect, f.law): f.text for f in report.failures}
    for verdict in report.verdicts:
        _case(suite, verdict, texts.get((verdict.cache, verdict.connect, verdict.law), ""))
    for test, text in report.untold_tests.items():
        case = ElementTree.SubElement(suite, "testcase", classname="tests", name=_legal(test))
        ElementTree.SubElement(case, "failure", message="failed").text = _legal(text)
    if not report.complete:
        case = ElementTree.SubElement(suite, "testcase", classname="run", name="complete")
        ElementTree.SubElement(case, "error", message="the run did not complete")
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, verdict: Verdict, text: str) -> None:
    place = _legal(f"{verdict.cache}={verdict.connect}")
    case = ElementTree.SubElement(suite, "testcase", classname=place, name=verdict.law)
    if verdict.verdict in (NOT_EXERCISED, SKIP):
        ElementTree.SubElement(case, "skipped", message=verdict.reason or verdict.verdict)
    elif verdict.verdict != PASS:
        failure = ElementTree.SubElement(case, "failure", message=verdict.verdict)
        failure.text = _legal(text)


def _legal(text: str) -> str:
    """The text without characters that XML 1.0 has no place for."""
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
