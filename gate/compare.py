"""`cachegate compare OLD NEW`: what changed between two reports?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gate.report.model import PASS, Report, from_file

Place = tuple[str, str, str]
"""(kind of cache, connect string, law)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate compare`."""
    parser.add_argument("old", metavar="OLD", help="report of the build before (.json)")
    parser.add_argument("new", metavar="NEW", help="report of the build after (.json)")


def run(args: argparse.Namespace) -> int:
    """Print the changes; exit code 1 when something that passed no longer does."""
    old, new = from_file(args.old), from_file(args.new)
    lines = list(changes(old, new))
    print("\n".join(lines) if lines else "no difference")
    return 1 if any(line.startswith("worse") for line in lines) else 0


def changes(old: Report, new: Report) -> Iterator[str]:
    """One line a change: `worse`, `better` or `other`. The number of checks is no change."""
    yield from _settings(old, new)
    yield from _verdicts(old, new)
    yield from _golden(old, new)
    for test in sorted(new.failed_tests.keys() - old.failed_tests.keys()):
        yield f"worse   {test} fails"
    for test in sorted(old.failed_tests.keys() - new.failed_tests.keys()):
        yield f"better  {test} no longer fails"


def _settings(old: Report, new: Report) -> Iterator[str]:
    for name in sorted(old.settings.keys() | new.settings.keys()):
        before, after = old.settings.get(name, "-"), new.settings.get(name, "-")
        if before != after:
            yield f"other   setting {name}: {before} -> {after}"
    before_versions = {(i.cache, i.connect): f"{i.name} {i.version}" for i in old.implementations}
    for one in new.implementations:
        version = f"{one.name} {one.version}"
        before = before_versions.get((one.cache, one.connect), "not tested")
        if before != version:
            yield f"other   {one.cache}={one.connect}: {before} -> {version}"


def _verdicts(old: Report, new: Report) -> Iterator[str]:
    before, after = _by_place(old), _by_place(new)
    for place in sorted(before.keys() | after.keys()):
        was, now = before.get(place, "not judged"), after.get(place, "not judged")
        if was != now:
            word = "worse" if was == PASS else "better" if now == PASS else "other"
            cache, connect, law = place
            yield f"{word:7} {law} on {cache}={connect}: {was} -> {now}"


def _by_place(report: Report) -> dict[Place, str]:
    return {(v.cache, v.connect, v.law): v.verdict for v in report.verdicts}


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
