"""Do the commands that judge programs in bulk cover what they say, and find what is wrong?"""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import pytest

from gate.bulk import engines, small
from gate.bulk.exhaust import SLICES, SmallSlice, scope_programs
from gate.bulk.storm import RandomSlice
from gate.cli import main
from gate.replay import read_program
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES
from reference.laws import EXPERT, ROW
from reference.program import Gather, Load, plain
from reference.row_config import RowCacheConfig
from replay.rows import RowReplay

OFF_BY_ONE = "python:properties.seeded_cache:OffByOne"


# What a small scope holds


def test_every_sequence_of_batches_is_there_once_modulo_renaming() -> None:
    """Renamed in every way, the sequences of two batches are all there are, each in one class only."""
    renamed = [
        {(layer, expert): (layer, new[expert]) for layer, new in enumerate(pair) for expert in range(3)}
        for pair in product(permutations(range(3)), repeat=2)
    ]  # fmt: skip
    found: set[tuple[Load, ...]] = set()
    classes = list(small._batch_sequences(2))
    for sequence in classes:
        orbit = {
            tuple(
                Load(load.layer, tuple(names[load.layer, e][1] for e in load.experts))
                for load in sequence
            )
            for names in renamed
        }
        assert not orbit & found
        found |= orbit
    assert found == set(product(small.BATCHES, repeat=2))


def test_every_sequence_of_gathers_is_there_once_modulo_renaming() -> None:
    """Renamed in every way, the sequences of two gathers are all there are, each in one class only."""
    found: set[tuple[tuple[int, ...], ...]] = set()
    for sequence in small._gather_sequences(small.GATHERS, 2):
        orbit = {
            tuple(tuple(names[row] for row in rows) for rows in sequence)
            for names in permutations(small.ROWS)
        }
        assert not orbit & found
        found |= orbit
    assert found == set(product(small.GATHERS, repeat=2))


@pytest.mark.parametrize("rules, budgets", [(EXACT_BYTES, 16), (PROPOSAL_RULES, 3)])
def test_every_budget_is_tried(rules: object, budgets: int) -> None:
    """Every byte up to all experts, or every whole number of cycles, and nothing twice."""
    assert isinstance(rules, type(PROPOSAL_RULES))
    programs = list(small.expert_programs(1, rules))
    assert len({program.config.budget_bytes for program in programs}) == budgets
    assert len(set(map(repr, programs))) == len(programs)


def test_what_the_programs_stand_for_is_counted_right() -> None:
    """The beginnings of the longest sequences, each counted once."""
    whole = {program.operations[1:] for program in small.expert_programs(2, EXACT_BYTES)}
    beginnings = {sequence[:end] for sequence in whole for end in range(3)}
    assert small.covered(EXPERT, (2,), EXACT_BYTES) == 16 * len(beginnings)
    rows = {tuple(plain(act) for act in program.operations) for program in small.row_programs(3, 2)}
    begun = {sequence[:end] for sequence in rows for end in range(len(sequence) + 1)}
    configs = sum(1 for _ in small.row_configs())
    assert small.covered(ROW, (3, 2), PROPOSAL_RULES) == configs * len(begun)


@pytest.mark.parametrize("cache", [EXPERT, ROW])
def test_the_slices_are_the_whole(cache: str) -> None:
    """The slices together are the programs of the scope, each once."""
    parts = [SmallSlice("builtin", cache, EXACT_BYTES, "slice", at) for at in range(SLICES)]
    sliced = [repr(program) for part in parts for program in part.programs()]
    whole = [repr(program) for program in scope_programs(cache, "slice", EXACT_BYTES)]
    assert sorted(sliced) == sorted(whole)


# What they find


def test_the_reference_keeps_every_law_on_a_small_scope(
    pytestconfig: pytest.Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every small program keeps every law of both caches (a slice of the scope; nightly all of it)."""
    profile = pytestconfig.getoption("--profile")
    if profile == "quick":
        pytest.skip("some thousand programs: in the gate and nightly profiles")
    scope = "whole" if profile == "nightly" else "slice"
    assert main(["exhaust", "--scope", scope, "--counterexamples", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.rpartition("; ")[2] for line in printed] == ["no faults"] * 3


def test_a_bug_is_found_in_a_small_scope(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An off-by-one is found, told with its smallest program, and the program is written."""
    found = tmp_path / "found"
    code = main(
        ["exhaust", "--expert-cache", OFF_BY_ONE, "-n", "1", "--counterexamples", str(found)]
    )
    assert code == 1
    (file,) = found.iterdir()
    assert len(read_program(str(file)).operations) <= 4
    assert "FAIL lockstep/reference on off-by-one" in capsys.readouterr().out


def test_a_storm_finds_a_bug_and_says_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shortest storm tells the bug, writes its program, and names the seeds it used."""
    found = tmp_path / "found"
    options = ["--minutes", "0", "-n", "1", "--counterexamples", str(found)]
    assert main(["storm", "--expert-cache", OFF_BY_ONE, *options]) == 1
    assert list(found.iterdir())
    printed = capsys.readouterr().out
    assert "FAIL " in printed
    assert "seeds 0 to 100" in printed


def test_a_storm_counts_its_seeds_up() -> None:
    """Two slices share no program."""
    first, second = (RandomSlice("builtin", ROW, PROPOSAL_RULES, start) for start in (0, 100))
    assert not set(map(repr, first.programs())) & set(map(repr, second.programs()))


def test_the_engines_are_blasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right engines pass; an engine that loses a count is found by the sums."""
    assert engines.blast(0).wrong == []

    class Loses(RowReplay):
        def __init__(self, config: RowCacheConfig, engine: object = None) -> None:
            super().__init__(config)
            self._totals[:, 2] -= 1

    monkeypatch.setattr(engines, "RowReplay", Loses)
    assert any("misses are placed" in wrong for wrong in engines.blast(0).wrong)


def test_gathers_of_a_small_scope_are_of_single_rows_or_any() -> None:
    """The row cache's scope has both kinds of sequences."""
    widths = {
        max(len(act.rows) for act in program.operations if isinstance(act, Gather))
        for program in small.row_programs(2, 2)
    }
    assert widths == {1, 2, 3}
