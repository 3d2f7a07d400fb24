"""Does each seeded bug come with a program that shows it, and shows nothing else?"""

from __future__ import annotations

import pytest

from fixtures.seeded_bugs import BUGS
from fixtures.seeded_bugs.registry import WITNESSES
from gate.connect.implementation import BUILT_IN_RULES, BuiltIn
from gate.judging.judge import Judge
from gate.power.seeded import SeededCache
from reference.program_text import format_program, parse

EACH = pytest.mark.parametrize("bug_id", sorted(BUGS))


@EACH
def test_a_witness_shows_its_bug(bug_id: str) -> None:
    """On its witness the bug breaks a law, and the reference under the same rules keeps every one."""
    bug = BUGS[bug_id]
    program = parse(bug.witness, bug_id)
    assert Judge.of(SeededCache(bug)).judge(program) is not None
    assert bug.rules in BUILT_IN_RULES.values()
    assert Judge.of(BuiltIn(bug.cache, bug.rules)).judge(program) is None


@EACH
def test_a_witness_is_a_small_program_in_its_plain_form(bug_id: str) -> None:
    """A witness has eight operations at most, and is written as the gate would write it."""
    bug = BUGS[bug_id]
    program = parse(bug.witness, bug_id)
    assert len(program.operations) <= 8
    assert format_program(program) == bug.witness


def test_every_witness_belongs_to_a_bug() -> None:
    """No witness is left over."""
    assert {file.stem for file in WITNESSES.glob("*.prog")} == BUGS.keys()
