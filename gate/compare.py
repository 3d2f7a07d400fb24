"""`cachegate compare OLD NEW`: what changed between two reports?

An implementation is the same in both when cache and declared name are: where it lies, and its version, may change. Only
two of the same name in one report are told apart by their connect strings.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from gate.report.model import FAILURES, OF_DEVIATIONS, PASS, Judged, Report, from_file

NOT_JUDGED = "not judged"

Who = tuple[str, ...]
"""(kind of cache, declared name), and the connect string where two have that name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate compare`."""
    parser.add_argument("old", metavar="OLD", help="report of the build before (.json)")
    parser.add_argument("new", metavar="NEW", help="report of the build after (.json)")


def run(args: argparse.Namespace) -> int:
    """Print the changes; exit code 1 when something passed that no longer does, or fails that did not."""
    old, new = from_file(args.old), from_file(args.new)
    lines = list(changes(old, new))
    print("\n".join(lines) if lines else "no difference")
    return 1 if any(line.startswith("worse") for line in lines) else 0


def changes(old: Report, new: Report) -> Iterator[str]:
    """One line a change: `worse`, `better` or `other`. The number of checks is no change."""
    yield from _settings(old, new)
    ambiguous = _ambiguous(old) | _ambiguous(new)
    before, after = _by_name(old, ambiguous), _by_name(new, ambiguous)
    yield from _tested(before, after)
    for who in sorted(before.keys() & after.keys()):
        yield from _verdicts(who, _laws(old, before[who]), _laws(new, after[who]))
    for who in sorted(after.keys() - before.keys()):
        laws = _laws(new, after[who]).items()
        yield from _verdicts(who, {}, {law: now for law, now in laws if now in FAILURES})
    yield from _golden(old, new)
    yield from _tests(old, new)


def _settings(old: Report, new: Report) -> Iterator[str]:
    for name in sorted(old.settings.keys() | new.settings.keys()):
        before, after = old.settings.get(name, "-"), new.settings.get(name, "-")
        if before != after:
            yield f"other   setting {name}: {before} -> {after}"


# --- implementations and their laws ---------------------------------------------------------------


def _ambiguous(report: Report) -> set[Who]:
    """The names that two implementations of a report have."""
    names = Counter((one.cache, one.name) for one in report.implementations)
    return {name for name, count in names.items() if count > 1}


def _by_name(report: Report, ambiguous: set[Who]) -> dict[Who, Judged]:
    found: dict[Who, Judged] = {}
    for one in report.implementations:
        name = (one.cache, one.name)
        found[(*name, one.connect) if name in ambiguous else name] = one
    return found


def _tested(before: dict[Who, Judged], after: dict[Who, Judged]) -> Iterator[str]:
    """What is tested now and was not, the other way round, and in another version."""
    for who in sorted(before.keys() | after.keys()):
        was = before[who].version if who in before else "not tested"
        now = after[who].version if who in after else "not tested"
        if was != now:
            yield f"{'other' if who in after else 'worse':7} {_name(who)}: {was} -> {now}"


def _laws(report: Report, one: Judged) -> dict[str, str]:
    here = (one.cache, one.connect)
    return {v.law: v.verdict for v in report.verdicts if (v.cache, v.connect) == here}


def _verdicts(who: Who, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    for law in sorted(before.keys() | after.keys()):
        was, now = before.get(law, NOT_JUDGED), after.get(law, NOT_JUDGED)
        if was != now:
            yield f"{_word(was, now):7} {law} on {_name(who)}: {was} -> {now}"


def _word(was: str, now: str) -> str:
    if was == PASS or (now in FAILURES and was not in FAILURES):
        return "worse"
    return "better" if now == PASS else "other"


def _name(who: Who) -> str:
    cache, name, *connect = who
    return f"{cache} {name}" + "".join(f" ({text})" for text in connect)


# --- golden tables and tests ----------------------------------------------------------------------


def _golden(old: Report, new: Report) -> Iterator[str]:
    before = {golden.table: set(golden.differences) for golden in old.golden}
    for golden in new.golden:
        for line in golden.differences:
            if line not in before.get(golden.table, set()):
                yield f"worse   golden {line}"
    after = {golden.table: set(golden.differences) for golden in new.golden}
    for table, lines in before.items():
        for line in sorted(lines - after.get(table, set())):
            yield f"better  golden {line}"


def _tests(old: Report, new: Report) -> Iterator[str]:
    """The tests that no law and no golden table tells."""
    before, after = old.untold_tests, new.untold_tests
    for test in sorted(after.keys() - before.keys()):
        yield f"worse   {_told(test, after[test])}"
    for test in sorted(before.keys() - after.keys()):
        yield f"better  no longer: {_told(test, before[test])}"


def _told(test: str, text: str) -> str:
    """What is told of a known deviation, or that a test fails."""
    return text.splitlines()[0] if text.startswith(OF_DEVIATIONS) else f"{test} fails"
