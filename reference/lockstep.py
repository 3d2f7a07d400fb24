"""Where does an outcome differ from the reference's? Each answer compared at every level that is offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference.laws import Broken, Finding, hexadecimal, shown
from reference.program import Answer, Outcome, Program
from reference.run import run


def differences(program: Program, outcome: Outcome) -> Iterator[Finding]:
    """One finding an answer: None where it is the reference's, else the first thing that differs."""
    expected = run(program)
    pairs = zip(
        (expected.opened, *expected.answers), (outcome.opened, *outcome.answers), strict=True
    )
    for number, (right, got) in enumerate(pairs):
        yield _difference(number, right, got, outcome.level)


def _difference(number: int, right: Answer, got: Answer, level: int) -> Finding:
    for what, expected, said in _offered(right, got, level):
        if expected != said:
            return Broken(number, f"{what} {_shown(expected)}", f"{what} {_shown(said)}")
    return None


def _offered(right: Answer, got: Answer, level: int) -> Iterator[tuple[str, object, object]]:
    """What both say, the most telling first."""
    if level >= 1:
        yield "refusal", right.refusal, got.refusal
        yield "hits", right.hits, got.hits
        yield "read bytes", right.read_bytes, got.read_bytes
        yield "digest", hexadecimal(right.digest), hexadecimal(got.digest)
    yield from _counters(right.counters, got.counters)
    if level >= 2:
        yield "resident", right.resident, got.resident
    if level >= 3:
        yield "victim order", right.order, got.order
        if got.estimates is not None:
            yield "estimates", right.estimates, got.estimates


def _counters(
    right: Mapping[str, int], got: Mapping[str, int]
) -> Iterator[tuple[str, object, object]]:
    for name, said in got.items():
        if name in right:
            yield name, right[name], said


def _shown(value: object) -> str:
    return "nothing" if value in (None, "") else shown(value)
