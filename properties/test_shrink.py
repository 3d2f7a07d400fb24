"""Is what the gate shows of a failure as small as it can be, and does it run again?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fixtures import expert_programs, row_programs
from fixtures.expert_histories import program as small_program
from gate.cli import main
from gate.judging.judge import Fault, Judge
from gate.judging.shrink import candidates, shrink
from gate.judging.verdict import MAX_WIDTH, failure_text, write_counterexample
from gate.power.seeded import SeededCache
from reference.expert_config import PROPOSAL_RULES
from reference.laws import Broken
from reference.program import Gather, Load, Operation, Program, Repeat, plain
from reference.program_text import format_program, parse

OFF_BY_ONE = "python:properties.seeded_cache:OffByOne"


def first_fault(judge: Judge, family: str) -> Fault:
    """The fault on the first generated program of a family that has one."""
    for seed in itertools.count():
        program = expert_programs.expert_program(Random(seed), family, PROPOSAL_RULES)
        fault = judge.judge(program)
        if fault is not None:
            return fault
    raise AssertionError


def without_one_part(program: Program) -> Iterator[Program]:
    """The program without any one operation, and without any one id of a load."""
    before = program.operations
    for at, operation in enumerate(before):
        yield Program(program.config, before[:at] + before[at + 1 :])
        act = plain(operation)
        for slot in range(len(act.experts) if isinstance(act, Load) else 0):
            assert isinstance(act, Load)
            fewer = replace(
                act,
                experts=act.experts[:slot] + act.experts[slot + 1 :],
                weights=act.weights[:slot] + act.weights[slot + 1 :],
            )
            yield Program(program.config, (*before[:at], fewer, *before[at + 1 :]))


# Bugs


@pytest.mark.parametrize(
    "bug_id, family",
    [
        ("O-E06", "recency"),  # evicts while used >= budget
        ("O-E01", "protection"),  # nothing is protected
        ("O-E28", "protection"),  # recency of the first occurrence
        ("O-E27", "recency"),  # first in, first out
        ("O-E11", "resize"),  # a shrink stores only
        ("O-E15", "sizing"),  # the cycle of the first k
        ("O-E26", "speculation"),  # useful again and again
        ("O-E29", "speculation"),  # prefetched enter hot
    ],
)
def test_a_counterexample_is_locally_minimal(bug_id: str, family: str) -> None:
    """No operation, id, layer or number can be lowered and the same law still break; eight operations at most."""
    judge = Judge.of(SeededCache(bug_id))
    fault = first_fault(judge, family)

    def fails(program: Program) -> bool:
        return judge.breaks(program, fault.law) is not None

    small = shrink(fault.program, fails)
    assert fails(small)
    assert not any(map(fails, candidates(small))), format_program(small)
    assert not any(map(fails, without_one_part(small))), format_program(small)
    assert len(small.operations) <= 8, format_program(small)


# The exact minimum


def experts_of(program: Program) -> list[int]:
    """All ids of all loads."""
    acts = [plain(operation) for operation in program.operations]
    return [expert for act in acts if isinstance(act, Load) for expert in act.experts]


@pytest.mark.parametrize(
    "fails, minimum",
    [
        (lambda p: True, []),
        (lambda p: len(experts_of(p)) >= 3, ["decode 0: 0 0 0"]),
        (lambda p: sum(experts_of(p)) >= 7, ["decode 0: 7"]),
        (lambda p: len(set(experts_of(p))) >= 2, ["decode 0: 0 1"]),
        (lambda p: len([e for e in experts_of(p) if e % 2]) >= 2, ["decode 0: 1 1"]),
    ],
    ids=["anything", "three ids", "a sum", "two experts", "two odd ones"],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_simple_failure_becomes_its_smallest_program(
    fails: Callable[[Program], bool], minimum: list[str], seed: int
) -> None:
    """Whatever program it was seen on first: the operations left are the fewest, their numbers the least."""
    start = expert_programs.expert_program(Random(seed), "recency", PROPOSAL_RULES)
    start = Program(start.config, (*start.operations, Load(0, (9, 3, 5, 8))))
    small = shrink(start, fails)
    text = format_program(small).replace("prefill", "decode")
    header = "expert-cache v1 entry_bytes=- experts=0 k=1 budget_bytes=0"
    assert text.splitlines() == [header, *minimum]


def test_counts_and_budgets_are_lowered_to_the_edge() -> None:
    """A repeat of 17 and a budget of 1000 are what is needed, and what is left."""

    def fails(program: Program) -> bool:
        counts = [one.count for one in program.operations if isinstance(one, Repeat)]
        return max(counts, default=0) >= 17 and program.config.budget_bytes >= 1000

    start = small_program("begin; repeat 300 decode 0: 1 2; end", budget_bytes=1 << 40)
    assert fails(start)
    small = shrink(start, fails)
    header, repeated = format_program(small).splitlines()
    assert (header.split()[-1], repeated) == ("budget_bytes=1000", "repeat 17 decode 0:")


def test_programs_of_the_row_cache_shrink_as_well() -> None:
    """Two gathers of row 4 or above: the smallest cache, the smallest rows."""

    def fails(program: Program) -> bool:
        acts: list[Operation] = [plain(operation) for operation in program.operations]
        return sum(any(row >= 4 for row in a.rows) for a in acts if isinstance(a, Gather)) >= 2

    found = (row_programs.row_program(Random(seed), "gathers") for seed in itertools.count())
    small = shrink(next(program for program in found if fails(program)), fails)
    assert format_program(small).splitlines()[1:] == ["gather 4", "gather 4"]
    assert not any(map(fails, candidates(small)))


def test_it_ends_after_so_many_runs() -> None:
    """For failures at random: what it then has is smaller, and did fail."""
    failed: list[Program] = []

    def fails(program: Program) -> bool:
        failed.append(program)
        return True

    start = expert_programs.expert_program(Random(2), "recency", PROPOSAL_RULES)
    assert shrink(start, fails, max_trials=3) == failed[2]
    assert len(failed) == 3


# How it is told


@pytest.fixture
def fault() -> Fault:
    """A failure of the cache that evicts at exactly its budget, shrunk."""
    judge = Judge.of(SeededCache("O-E06"))
    found = first_fault(judge, "recency")
    small = shrink(found.program, lambda p: judge.breaks(p, found.law) is not None)
    told = Judge(judge.implementation, [found.law]).judge(small)
    assert told is not None
    return told


def test_a_failure_is_told_in_fifteen_lines(fault: Fault, tmp_path: Path) -> None:
    """Law and sentence, the program with its step marked, expected and got, and the line that runs it again."""
    text = failure_text(fault, SeededCache("O-E06").declaration, OFF_BY_ONE, tmp_path / "a.prog")
    first, sentence, header, *body, expected, got, again = text.splitlines()
    assert first == f"FAIL {fault.law.id} on O-E06 seeded"
    assert sentence == f"  law: {fault.law.sentence}"
    assert header.strip().startswith("expert-cache v1 entry_bytes=")
    assert [line for line in body if line.startswith("  > ")] == [body[fault.broken.step - 1]]
    assert expected.startswith("  expected: ")
    assert got.startswith("  got:      ")
    assert again == f"  replay:   cachegate replay {tmp_path / 'a.prog'} --on '{OFF_BY_ONE}'"


def test_a_long_failure_is_told_in_fifteen_lines_too(fault: Fault) -> None:
    """The operations up to the step, the rest counted; long lines cut, line ends of what came shown as such."""
    many = (*small_program("prefill 0:" + " 0" * 999).operations * 50, *fault.program.operations)
    long = replace(
        fault,
        program=Program(fault.program.config, many),
        broken=Broken(40, "x" * 5000, "first\nsecond\n" * 40),
    )
    lines = failure_text(long, SeededCache("O-E06").declaration, "builtin", Path("a.prog")).split(
        "\n"
    )
    assert len(lines) <= 15
    assert max(map(len, lines[2:])) <= MAX_WIDTH + 20
    assert "    … 33 operations" in lines
    assert sum(line.startswith("  > ") for line in lines) == 1


def test_a_counterexample_runs_again(
    fault: Fault, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named after its law, holds the program, passes on the reference and fails on the cache."""
    declared = SeededCache("O-E06").declaration
    file = write_counterexample(fault, declared, tmp_path / "found")
    assert file.name.startswith(fault.law.id.replace("/", "-"))
    assert parse(file.read_text()) == fault.program
    assert write_counterexample(fault, declared, tmp_path / "found") == file
    assert list(file.parent.iterdir()) == [file]
    assert main(["replay", str(file)]) == 0
    assert main(["replay", str(file), "--on", OFF_BY_ONE]) == 1
    printed = capsys.readouterr().out
    assert f"FAIL {fault.law.id}" in printed
    assert f"at step {fault.broken.step}:" in printed
