"""Which deviations of an implementation are known? Each with a witness program that must still fail.

A file of entries, TOML:

    [[deviation]]
    id = "engine-failed-read"
    laws = ["answers/delivered-bytes"]      # what the witness breaks
    reason = "known-fault"                  # known-fault, by-design or not-yet
    link = "https://…"
    implementation = "builtin:engine"       # name and version, shell patterns
    version = "*"
    expires = 2027-06-30
    avoid = "failed-read"                   # optional: this capability is tried by the witness alone
    witness = '''
    expert-cache v1 …
    '''

With `avoid`, every law stays on for all other programs; without it, the laws named are excused. A witness that passes,
an entry that matches no implementation under test, and one that has expired fail the run: no exception is silent.
"""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from gate.connect.implementation import EXPERT_CAPABILITIES, ROW_CAPABILITIES, Declaration
from gate.report.model import Report
from reference.errors import InputError, printable, visible
from reference.program import Program
from reference.program_text import parse
from replay.lines import open_regular

REASONS = ("known-fault", "by-design", "not-yet")
FIELDS = {
    "id": str,
    "laws": list,
    "reason": str,
    "link": str,
    "implementation": str,
    "version": str,
    "expires": datetime.date,
    "witness": str,
}
MAX_FILE_BYTES = 1 << 20
MAX_DOTS = 1 << 8
"""In a line: the time that Python's reader takes for a dotted key grows with the square of its parts."""
MAX_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Deviation:
    """One known deviation; the fields are those of the file."""

    id: str
    laws: tuple[str, ...]
    reason: str
    link: str
    implementation: str
    version: str
    expires: datetime.date
    witness: Program
    avoid: str = ""

    def matches(self, declared: Declaration) -> bool:
        """Is it a deviation of this implementation?"""
        return fnmatchcase(declared.name, self.implementation) and fnmatchcase(
            declared.version, self.version
        )


def read_deviations(path: Path, known_laws: Sequence[str]) -> list[Deviation]:
    """The entries of a file.

    Raises:
        InputError: it cannot be read, or an entry is not as it must be.
    """
    with open_regular(path) as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise InputError("too long for a list of deviations", source=str(path))
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b".") > MAX_DOTS:
            problem = f"more than {MAX_DOTS} dots in a line"
            raise InputError(problem, source=str(path), line=number, expected="a TOML file")
    try:
        entries = tomllib.loads(data.decode()).get("deviation", [])
    except (ValueError, RecursionError) as error:  # the errors of TOML and of UTF-8 are values too
        problem = printable(str(error), MAX_MESSAGE)
        raise InputError(problem, source=str(path), expected="a TOML file") from None
    if not isinstance(entries, list):
        raise InputError("deviation is no list", source=str(path), expected="[[deviation]] entries")
    return [_entry(entry, at, str(path), known_laws) for at, entry in enumerate(entries, 1)]


def _entry(entry: object, at: int, source: str, known_laws: Sequence[str]) -> Deviation:
    def fault(problem: str, expected: str) -> InputError:
        return InputError(f"deviation {at}: {problem}", source=source, expected=expected)

    if not isinstance(entry, dict):
        raise fault("no table", "[[deviation]] with its fields")
    for name, kind in FIELDS.items():
        if not isinstance(entry.get(name), kind) or isinstance(entry[name], datetime.datetime):
            raise fault(f"{name} is missing or of another kind", f"{name}: {kind.__name__}")
    if extra := sorted(set(entry) - set(FIELDS) - {"avoid"}):
        raise fault(f"unknown field {printable(extra[0])}", ", ".join((*FIELDS, "avoid")))
    if entry["reason"] not in REASONS:
        raise fault(f"reason {printable(entry['reason'])}", " or ".join(REASONS))
    for law in entry["laws"] or [""]:
        if law not in known_laws:
            raise fault(
                f"no law {printable(str(law))}", "ids of laws, as the verdict table shows them"
            )
    avoid = entry.get("avoid", "")
    if avoid and avoid not in sorted(EXPERT_CAPABILITIES | ROW_CAPABILITIES):
        raise fault(f"no capability {printable(str(avoid))}", "a capability to avoid")
    witness = parse(entry["witness"], f"{source}, witness of {entry['id']}")
    return Deviation(**(entry | {"laws": tuple(entry["laws"]), "witness": witness}))


def write_entries(report: Report, file: Path) -> None:
    """Append today's failures to a file as entries for review: link and reason are left to the reviewer."""
    year = datetime.date.today().replace(day=1) + datetime.timedelta(days=365)
    entries = []
    for failure in report.smallest_failures:
        name = next(
            one.name
            for one in report.implementations
            if (one.cache, one.connect) == (failure.cache, failure.connect)
        )
        entries.append(
            "\n[[deviation]]\n"
            f"id = {_quoted(name + '-' + failure.law.replace('/', '-'))}\n"
            f"laws = [{_quoted(failure.law)}]\n"
            'reason = "not-yet"  # review: known-fault, by-design or not-yet\n'
            'link = ""  # review: where it is tracked\n'
            f'implementation = {_quoted(name)}\nversion = "*"\n'
            f"expires = {year.isoformat()}\n"
            f'witness = """\n{failure.program}"""\n'
        )
    with file.open("a", encoding="utf-8") as target:
        target.write("".join(entries))


def _quoted(text: str) -> str:
    """A string of TOML, which escapes as JSON does; an implementation may call itself anything."""
    return json.dumps(visible(text), ensure_ascii=False)
