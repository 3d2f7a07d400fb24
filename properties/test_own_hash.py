"""Is a row cache with a hash of its own judged where places are known, and never blamed for an accident of its hash?

The reference under other hashes must pass, poor hashes included; with a bug it must not.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given

from fixtures import row_programs
from fixtures.profiles import SEEDS
from gate.connect.fitting import fit
from gate.connect.implementation import BuiltIn, Implementation
from gate.judging.judge import Fault, Judge
from gate.judging.own_hash import MOST_NAMINGS, namings_needed, renamed
from gate.judging.subject import Subject
from gate.power.seeded import SeededCache
from properties.own_hashes import HASHES, OwnHash
from reference.hashing import mix
from reference.laws import ROW, Case
from reference.program import Program, plain
from reference.program_text import format_program, parse
from reference.row_statistics import FALSE_ALARM
from reference.run import run

FAMILIES = sorted(row_programs.FAMILIES)
LOCKSTEP = "row-lockstep/reference"
AS_ASKED: dict[str, str] = {}
DEFAULT = {"sketch_width": "262144", "sketch_rows": "4"}
ONE_ARRAY = {"sketch_width": "4096", "sketch_rows": "1"}
NARROW = {"sketch_width": "64"}
CACHES = [
    *((name, AS_ASKED) for name in HASHES),
    *(("double hashing", sketch) for sketch in (DEFAULT, ONE_ARRAY, NARROW)),
    *(("the id itself, in every array", sketch) for sketch in (ONE_ARRAY, NARROW)),
]
"""A hash, and what is built in; with the narrow sketch no program of more than one row can be judged."""


def program(seed: int, implementation: Implementation) -> Program:
    """A program of one of the families, as it can be given to an implementation."""
    drawn = row_programs.row_program(Random(seed), FAMILIES[seed % len(FAMILIES)])
    return fit(drawn, implementation.declaration)


def first_fault(implementation: Implementation, programs: int = 80) -> Fault | None:
    """The first fault on some programs."""
    judge = Judge.of(implementation)
    faults = (judge.judge(program(seed, implementation)) for seed in range(programs))
    return next((fault for fault in faults if fault), None)


@pytest.mark.parametrize("name, sketch", CACHES)
def test_no_hash_is_blamed(name: str, sketch: dict[str, str]) -> None:
    """Every law holds on every program, whatever the hash, and estimates are compared, too."""
    cache = OwnHash(HASHES[name], **sketch)
    judge = Judge.of(cache)

    @given(SEEDS)
    def holds(seed: int) -> None:
        fault = judge.judge(program(seed, cache))
        assert fault is None, format_program(fault.program)

    holds()
    assert judge.checks[LOCKSTEP] > 0 or sketch == NARROW


BUGS = {
    "O-R09": "the victim is the oldest, not the least used",
    "O-R10": "a hit does not make a row recent",
    "O-R20": "admitted only above its victim",
    "C-R24": "always admitted",
    "C-R32": "the clock moves on misses only",
    "O-R15": "counts wrap",
    "C-R26": "without admission the least used leaves",
}


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_wrong_victim_is_seen_without_the_hash(bug: str, level: int) -> None:
    """Victims, admission and the sketch: at level 0 already, as later hits differ."""
    fault = first_fault(SeededCache(bug, level, own_hash=True))
    assert fault is not None
    assert fault.verdict == "fail"


ACCIDENT = """\
row-cache v1 sets=1 ways=1
gather 1
repeat 3 gather 2
repeat 3 gather 3
gather 4
gather 3
"""


def test_an_accident_is_none_of_the_laws_concern() -> None:
    """Rows 1 and 2 share all cells, so an estimate is 4 where the reference has 3, and another row stays."""

    def columns(row: int, array: int) -> int:
        return mix(array) if row in (1, 2) else mix(mix(row) + array)

    cache = OwnHash(columns)
    asked = fit(parse(ACCIDENT), cache.declaration)
    assert cache.run(asked) != run(asked)
    judge = Judge.of(cache)
    assert judge.judge(asked) is None


def test_the_fault_is_shrunk_under_its_own_names() -> None:
    """What is left is small, still fails, and says no place."""
    subject = Subject("", SeededCache("O-R09", 1, own_hash=True))
    judge = subject.judge()
    faults = (judge.judge(program(seed, subject.implementation)) for seed in range(80))
    fault = next(fault for fault in faults if fault and fault.law.id == LOCKSTEP)
    small = subject.smallest(judge, fault)
    assert len(small.program.operations) <= 5
    assert judge.breaks(small.program, small.law)
    assert "place" not in format_program(small.program)


def namings(text: str, shows_estimates: bool = False) -> int | None:
    """Under how many other names a difference from the reference must show on a program."""
    law = next(law for law in Judge.of(BuiltIn(ROW)).laws if law.id == LOCKSTEP)
    asked = parse(text)
    outcome = run(asked)
    if not shows_estimates:
        outcome = replace(outcome, opened=replace(outcome.opened, estimates=None))
    return namings_needed(law, Case.of(asked, outcome, run))


@pytest.mark.parametrize(
    "text, needed",
    [
        ("row-cache v1 sets=2\ngather 1", None),
        ("row-cache v1 sets=1,2\ngather 1", None),
        ("row-cache v1 sets=1,0\ngather 1", 0),
        ("row-cache v1 sets=1 admission=no\ngather 1 2 3", 0),
        ("row-cache v1 sets=1\ngather 1 2 3", 4),
        ("row-cache v1 sets=1,1\ngather 1 2 3\ngather 1: 1 2 3", 4),
        ("row-cache v1 sets=1 sketch_width=4096\ngather 1 2 3", 6),
        ("row-cache v1 sets=1 sketch_width=64\ngather 1 2 3 4 5 6 7 8", None),
    ],
)
def test_as_many_names_as_the_sketch_asks_for(text: str, needed: int | None) -> None:
    """None where the sets or the sketch do not let it be judged; chance stays below 1e-15 otherwise."""
    assert namings(text) == needed


def test_without_admission_the_sketch_may_still_show() -> None:
    """Where estimates are told, they are compared, and so may be an accident."""
    text = "row-cache v1 sets=1 admission=no\ngather 1 2 3"
    assert (namings(text), namings(text, shows_estimates=True)) == (0, 4)


@pytest.mark.parametrize("rows", range(2, 25))
def test_chance_is_below_the_bound(rows: int) -> None:
    """Two hashes, so many rows, the default sketch: that every naming has an accident is as rare as promised."""
    needed = namings("row-cache v1 sets=1\ngather " + " ".join(map(str, range(rows))))
    assert needed is not None
    assert needed <= MOST_NAMINGS
    assert (2 * rows * (rows - 1) / 2 / 262_144) ** needed <= FALSE_ALARM


def test_other_names_are_another_program_of_the_same_form() -> None:
    """Equal ids stay equal, different ones different, the same naming gives the same names."""
    asked = parse("row-cache v1 sets=1,1\ngather 3 4 3\nrepeat 2 gather 1: 4\npin 3\ninsert 5")
    other = renamed(asked, 0)
    ids = [plain(act).rows for act in other.operations]  # type: ignore[union-attr]
    three, four, five = ids[0][0], ids[0][1], ids[3][0]
    assert ids == [(three, four, three), (four,), (three,), (five,)]
    assert len({three, four, five}) == 3
    assert renamed(asked, 0) == other
    assert renamed(asked, 1) != other
    assert [type(act) for act in other.operations] == [type(act) for act in asked.operations]
