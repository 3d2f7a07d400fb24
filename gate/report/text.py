"""The report on a terminal: a verdict table for each kind of cache, then the rest in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from gate.report.model import OF_DEVIATIONS, PASS, Judged, Report, Verdict
from gate.show import print_table


def print_report(report: Report, require_all: bool = False, verbose: bool = False) -> None:
    """Print the verdicts and what goes with them; last, each broken law with its smallest program."""
    for cache in dict.fromkeys(one.cache for one in report.implementations):
        tested = [one for one in report.implementations if one.cache == cache]
        headings, rows = verdict_matrix(report, tested)
        print(f"{cache}: checks that held, by law")
        print_table(headings, rows)
        print()
    for line in closing_lines(report, require_all, verbose):
        print(line)
    for failure in report.smallest_failures:
        print(f"\n{failure.text}")
    for text in report.failed_tests.values():
        if text.startswith(OF_DEVIATIONS):
            print(f"\nFAIL {text}")


def verdict_matrix(report: Report, tested: list[Judged]) -> tuple[list[str], list[list[str]]]:
    """A row a law, a column an implementation: the number of checks that held, or what came out instead."""
    by_law: dict[str, dict[str, str]] = {}
    for verdict in report.verdicts:
        if any((one.cache, one.connect) == (verdict.cache, verdict.connect) for one in tested):
            by_law.setdefault(verdict.law, {})[verdict.connect] = _cell(verdict)
    names = [one.connect for one in tested]
    rows = [[law, *(found.get(name, "") for name in names)] for law, found in by_law.items()]
    return ["law", *names], rows


def _cell(verdict: Verdict) -> str:
    if verdict.verdict == PASS:
        return str(verdict.checks)
    return f"{verdict.verdict}: {verdict.reason}" if verdict.reason else verdict.verdict


def closing_lines(report: Report, require_all: bool = False, verbose: bool = True) -> Iterator[str]:
    """Programs, golden tables, tests, skips, laws never exercised (by name where `verbose`), and the verdict."""
    settings = report.settings
    told = ("profile {profile}", "seed {seed}", "{engine} engine", "Python {python}")
    yield ", ".join(told).format_map(settings)
    for one in report.implementations:
        known = f", known deviations: {', '.join(one.deviations)}" if one.deviations else ""
        yield f"  {one.connect} ({one.cache}, level {one.level}): {one.programs} programs{known}"
    if report.golden:
        cells = sum(golden.cells for golden in report.golden)
        off = [line for golden in report.golden for line in golden.differences]
        yield f"golden tables: {len(report.golden)} measured, {cells} cells, {len(off)} differ"
        yield from (f"  {line}" for line in off)
    for place, counts in report.tests.items():
        yield f"{place}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}"
    yield from (f"  skipped {count}: {reason}" for reason, count in report.skips.items())
    never = sorted({f"{v.law} ({v.connect})" for v in report.never_exercised})
    if never:
        yield f"never exercised: {', '.join(never) if verbose else f'{len(never)} (-v names them)'}"
    yield f"verdict: {closing_verdict(report, require_all)}"


def closing_verdict(report: Report, require_all: bool = False) -> str:
    """The last word; with `require_all` a law that was never exercised is a failure."""
    if not report.complete:
        return "the run did not complete"
    if report.failed:
        return "FAIL"
    if require_all and report.never_exercised:
        return "FAIL: laws that were never exercised, and --require-all"
    return "nothing was judged" if report.judged_nothing else "pass"
