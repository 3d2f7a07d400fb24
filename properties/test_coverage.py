"""Do the generated programs reach every situation that the gate is to try, and is each one told from its like?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import fixtures
from gate.cli import main
from gate.power.cases import DERANDOMIZED, programs
from gate.power.coverage import SITUATIONS, coverage, situations
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES, Rules
from reference.laws import EXPERT, ROW
from reference.program import Program
from reference.program_text import parse

LEAST_PROGRAMS = 3
"""A situation that is reached in fewer programs of a run is reached by luck."""

RUNS = (
    pytest.param(EXPERT, PROPOSAL_RULES, {"in-order-below-the-cliff"}, id="expert-cycles"),
    pytest.param(EXPERT, EXACT_BYTES, {"k-changes-budget"}, id="expert-bytes"),
    pytest.param(ROW, PROPOSAL_RULES, set(), id="row"),
)
"""Runs of the gate, with what their rules leave out: hits below the cliff need bytes, and only cycles know k."""


class Shown(NamedTuple):
    """A program of fixtures/situations/ that reaches a situation, or comes near it."""

    cache: str
    situation: str
    reaches: bool
    program: Program


def _shown(cache: str) -> Iterator[Shown]:
    """The programs of one file: blocks that begin with a name, after the configuration that most of them have."""
    text = (Path(fixtures.__file__).parent / "situations" / f"{cache}.txt").read_text("utf-8")
    first, *blocks = text.split("\n\n")
    usual = first.splitlines()[-1]
    for block in blocks:
        name, *lines = block.strip().splitlines()
        header = usual
        for line in lines:
            if line.startswith("["):
                header = line
            else:
                written = f"{cache} v1 {header[1:].replace(']', ';')};{line[1:]}"
                steps = [step.strip() for step in written.split(";") if step.strip()]
                yield Shown(cache, name, line[0] == "+", parse("\n".join(steps) + "\n", name))


SHOWN = [shown for cache in SITUATIONS for shown in _shown(cache)]


@pytest.mark.parametrize(("cache", "rules", "ruled_out"), RUNS)
def test_every_situation_is_reached(
    cache: str, rules: Rules, ruled_out: set[str], more_than_quick: None
) -> None:
    """The gate's own run, which is the same every time, reaches each situation in several programs."""
    drawn = [program for _, program in programs(cache, rules, DERANDOMIZED)]
    rare = {r.name: r.programs for r in coverage(cache, drawn) if r.programs < LEAST_PROGRAMS}
    assert rare == dict.fromkeys(ruled_out, 0)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.situation)
def test_a_situation_is_told_from_its_like(shown: Shown) -> None:
    """A small program that is in a situation is said to be, and one that nearly is, is not."""
    assert (shown.situation in set(situations(shown.program))) == shown.reaches


@pytest.mark.parametrize("cache", SITUATIONS)
def test_each_situation_is_shown_with_a_near_miss(cache: str) -> None:
    """Every situation has a program that reaches it and one that does not, and nothing else is told."""
    for reaches in (True, False):
        named = {s.situation for s in SHOWN if s.cache == cache and s.reaches == reaches}
        assert named == SITUATIONS[cache].keys()
    told = {name for s in SHOWN if s.cache == cache for name in situations(s.program)}
    assert told == SITUATIONS[cache].keys()


def test_coverage_counts_programs_and_times() -> None:
    """A situation that one program is in twice counts once a program and twice in all; the rarest comes first."""
    twice = parse("row-cache v1 sets=1 ways=1\ngather\ngather\n")
    once = parse("row-cache v1 sets=1 ways=1\ngather\n")
    reached = coverage(ROW, [twice, once])
    assert (reached[-1].name, reached[-1].programs, reached[-1].times) == ("empty-gather", 2, 3)
    assert [r.programs for r in reached] == sorted(r.programs for r in reached)


def test_the_command_prints_the_table(
    capsys: pytest.CaptureFixture[str], only_nightly: None
) -> None:
    """`cachegate power --coverage` tells each situation in words, with how often it was reached."""
    main(["power", "--coverage", "--bug", "O-E06", "--seeds", "0", "--no-matrix", "-n", "1"])
    printed = capsys.readouterr().out
    for sentences in SITUATIONS.values():
        assert all(sentence in printed for sentence in sentences.values())
