"""Does shrinking end at the kind of fault it began with?"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from fixtures import expert_programs, row_programs
from fixtures.seeded_bugs import BUGS
from gate.connect.implementation import CRASH, GARBAGE, BuiltIn
from gate.judging.judge import EVERY_OPERATION_ANSWERS, Fault, Judge
from gate.judging.kind import kind_of
from gate.judging.shrink import shrink
from gate.judging.subject import Subject
from gate.power.seeded import SeededCache
from reference.laws import EXPERT, Broken, Law, compare
from reference.lockstep import differences
from reference.program import Answer, Load, Program, plain
from reference.program_text import parse
from reference.run import run

LAW = Law("a/law", "", EXPERT, 0, lambda case: ())
NOWHERE = parse("expert-cache v1 entry_bytes=1")


def fault(expected: str, got: str, verdict: str = "fail") -> Fault:
    """A fault that is told like this."""
    return Fault(LAW, verdict, NOWHERE, Broken(1, expected, got))


@pytest.mark.parametrize(
    "expected, got, kind",
    [
        ("evictions 1", "evictions 2", ("evictions",)),
        ("digest c384c8429f7cae6b", "digest none", ("digest",)),
        ("refusal nothing", "refusal no-generation", ("refusal",)),
        ("hits of [1, 2] (True, False)", "hits of [1, 2] (True, True)", ("hits", "of")),
        ("resident 0:1,0:2", "resident 0:1", ("resident",)),
        ("victim order 0:1,0:2", "victim order 0:2,0:1", ("victim", "order")),
        ("more than 5", "5", ()),
    ],
)
def test_the_kind_is_what_differs(expected: str, got: str, kind: tuple[str, ...]) -> None:
    """The names before the first difference; no number, entry or flag."""
    assert kind_of(fault(expected, got)) == ("fail", *kind)


def test_a_crash_is_known_by_its_end() -> None:
    """By signal, exit code or exception and place; how far it came, and what it said, do not count."""
    ends = (
        "ended by signal SIGSEGV after 2 of 4 answers; stderr: x",
        "exited with code 3 after 2 of 4 answers",
        "KeyError at cache.py:12: (0, 1)",
    )
    assert [kind_of(fault("an answer", end, CRASH))[1] for end in ends] == [
        "ended by signal SIGSEGV",
        "exited with code 3",
        "KeyError at cache.py:12",
    ]
    assert kind_of(fault("an answer", "column hit: x", GARBAGE)) == (GARBAGE, "")


def test_two_answers_that_differ_are_told_by_what_differs() -> None:
    """In what a second run answers, and not by all that an answer holds."""
    first = Answer({"lookups": 1, "hits": 0}, hits=(False,))
    second = Answer({"lookups": 1, "hits": 1}, hits=(True,))
    found = compare(3, "the second run answers", first, second)
    assert found is not None
    assert found.expected == "the second run answers hits 0, hits (False,)"
    assert found.got == "the second run answers hits 1, hits (True,)"


def program_of(bug: str, seed: int) -> Program:
    """A program that is tried on a bug."""
    random, bug_of = Random(seed), BUGS[bug]
    if bug_of.cache == EXPERT:
        families = sorted(expert_programs.FAMILIES)
        return expert_programs.expert_program(random, families[seed % len(families)], bug_of.rules)
    families = sorted(row_programs.FAMILIES)
    return row_programs.row_program(random, families[seed % len(families)])


SLIPPING = ("C-E03", "B-E09", "C-R49")
"""Bugs whose first fault slips to another kind when only its law is kept."""


@pytest.mark.parametrize("bug", SLIPPING)
def test_shrinking_keeps_the_kind(bug: str, more_than_quick: None) -> None:
    """Whatever fault a program shows first, what is left of it shows that one, and is small."""
    subject = Subject("", SeededCache(bug))
    judge = subject.judge()
    found = (judge.judge(program_of(bug, seed)) for seed in itertools.count())
    for first in itertools.islice(filter(None, found), 3):
        small = subject.smallest(judge, first)
        assert kind_of(small) == kind_of(first)
        assert len(small.program.operations) <= 8


def lookups_or_digest(program: Program) -> Broken | None:
    """A cache of two faults under one law: two loads count a lookup too many, any load a wrong digest."""
    loads = [act for act in map(plain, program.operations) if isinstance(act, Load)]
    if len(loads) > 1:
        return Broken(1, "lookups 2", "lookups 3")
    return Broken(1, "digest 00", "digest 01") if loads else None


def test_without_the_kind_it_would_slip() -> None:
    """The smallest program that breaks the law shows the digest; the smallest of the kind has both loads."""
    law = Law("a/law", "", EXPERT, 0, lambda case: [lookups_or_digest(case.program)])
    cache = BuiltIn(EXPERT)
    judge = Judge(cache, [law])
    start = parse(
        "expert-cache v1 entry_bytes=1 experts=4 budget_bytes=2\nbegin\n"
        "decode 0: 1\ndecode 0: 2\ndecode 0: 3\nend"
    )
    first = judge.judge(start)
    assert first is not None
    loose = shrink(start, lambda program: judge.breaks(program, law) is not None)
    assert [kind_of(first), len(loose.operations)] == [("fail", "lookups"), 1]
    small = Subject("", cache).smallest(judge, first)
    assert kind_of(small) == ("fail", "lookups")
    assert len(small.program.operations) == 2


def test_where_no_small_program_is_of_the_kind_another_will_do() -> None:
    """More than fits into a failure's text tells less than another kind of fault."""

    def judged(program: Program) -> Broken | None:
        loads = sum(isinstance(plain(act), Load) for act in program.operations)
        if loads >= 9:
            return Broken(1, "lookups 2", "lookups 3")
        return Broken(1, "digest 00", "digest 01") if loads else None

    law = Law("a/law", "", EXPERT, 0, lambda case: [judged(case.program)])
    cache = BuiltIn(EXPERT)
    judge = Judge(cache, [law])
    text = "expert-cache v1 entry_bytes=1 experts=4 budget_bytes=2\nbegin" + "\ndecode 0: 1" * 12
    first = judge.judge(parse(text))
    assert first is not None
    small = Subject("", cache).smallest(judge, first)
    assert kind_of(small) == ("fail", "digest")
    assert len(small.program.operations) == 1


def test_entries_are_written_one_way() -> None:
    """As the protocol writes them, in what a law says and in what the lockstep says."""
    program = parse("expert-cache v1 entry_bytes=1 experts=3 budget_bytes=3\nbegin\ndecode 0: 1 2")
    right = run(program)
    last = right.answers[-1]
    assert last.resident is not None
    wrong = Answer(
        last.counters,
        "",
        last.hits,
        last.read_bytes,
        last.digest,
        last.resident - {(0, 1)},
        last.order,
    )
    told = [
        f
        for f in differences(program, type(right)(right.opened, (*right.answers[:-1], wrong)))
        if f
    ]
    assert [(f.expected, f.got) for f in told] == [("resident 0:1,0:2", "resident 0:2")]
    found = compare(1, "experts of the batch not resident:", [], [(0, 1), (2, 3)])
    assert found is not None
    assert (found.expected, found.got) == (
        "experts of the batch not resident: none",
        "experts of the batch not resident: 0:1,2:3",
    )


def test_the_verdict_is_part_of_the_kind() -> None:
    """A crash does not become garbage."""
    crash, garbage = (
        Fault(EVERY_OPERATION_ANSWERS, verdict, NOWHERE, Broken(0, "an answer", "x"))
        for verdict in (CRASH, GARBAGE)
    )
    assert kind_of(crash) != kind_of(garbage)
