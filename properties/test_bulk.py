"""Do the programs of `cachegate exhaust` and `cachegate storm` cover what they say, and is the house right on them?"""

from __future__ import annotations

import re
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from fixtures.example_drivers import KINDS, NoCompiler, build
from gate.bulk import small
from gate.bulk.bulk import judge_engines
from gate.bulk.engine_laws import Runs, final
from gate.bulk.exhaust import SLICES, SmallSlice
from gate.bulk.expert_draws import draw_expert_runs
from gate.bulk.row_draws import draw_row_runs
from gate.bulk.sums import EXPERT_SUMS, ROW_SUMS, Sum
from gate.cli import main
from reference.expert_config import EXACT_BYTES, PROPOSAL_RULES, Rules
from reference.laws import EXPERT, ROW
from reference.program import Gather, Load
from reference.row_config import RowCacheConfig
from reference.row_placement import RowPlacement
from reference.run import run

# What a small scope holds


def test_every_sequence_of_batches_is_there_once_modulo_renaming() -> None:
    """Renamed in every way, the sequences of up to two batches are all there are, each in one class only."""
    found: set[tuple[Load, ...]] = set()
    for sequence in small.batch_sequences(2):
        orbit = {
            tuple(
                Load(load.layer, tuple(names[load.layer][e] for e in load.experts))
                for load in sequence
            )
            for names in product(permutations(range(3)), repeat=2)
        }
        assert not orbit & found
        found |= orbit
    assert found == {s for length in range(3) for s in product(small.BATCHES, repeat=length)}


def test_every_sequence_of_gathers_is_there_once_modulo_renaming() -> None:
    """The same of up to three single rows and two gathers of any rows."""
    found: set[tuple[tuple[int, ...], ...]] = set()
    for sequence in small.gather_sequences(3, 2):
        orbit = {
            tuple(tuple(names[row] for row in rows) for rows in sequence)
            for names in permutations(small.NAMES)
        }
        assert not orbit & found
        found |= orbit
    wider = {s for length in range(3) for s in product(small.GATHERS, repeat=length)}
    assert found == wider | set(product(small.SINGLES, repeat=3))


@pytest.mark.parametrize(
    "rules, opened",
    [(EXACT_BYTES, [range(16)]), (PROPOSAL_RULES, [range(0, 16, 5), range(0, 21, 10)])],
)
def test_every_budget_is_tried(rules: Rules, opened: list[range]) -> None:
    """Every byte up to all experts, or every whole number of cycles of either top-k, and nothing twice."""
    sequence = (Load(0, (0,)),)
    programs = list(small.expert_programs(sequence, rules))
    expected = [budget for budgets in opened for budget in budgets]
    assert [program.config.budget_bytes for program in programs] == expected
    assert len(set(map(repr, programs))) == len(programs)


def test_rows_are_tried_in_every_place() -> None:
    """On every layout, with and without admission, the hash puts the rows into any sets; none shares a sketch cell."""
    seen: dict[tuple[object, ...], set[object]] = {}
    for program in small.row_programs(((0,), (1, 2))):
        config = program.config
        assert isinstance(config, RowCacheConfig)
        placement = RowPlacement(config, config.sets[0])
        gathers = [act.rows for act in program.operations if isinstance(act, Gather)]
        sites = [placement.site(row) for row in (*gathers[0], *gathers[1])]
        assert len({site.columns for site in sites}) == 3
        layout = (config.sets, config.ways, config.candidate_sets, config.admission)
        places, where = seen.setdefault(layout, set()), tuple(site.sets for site in sites)
        assert where not in places
        places.add(where)
    count = {(1, 1): 1, (1, 2): 1, (2, 1): 2**3, (2, 2): 4**3}
    assert len(seen) == 2 * len(count)
    for (sets, _, candidate_sets, _), places in seen.items():
        assert len(places) == count[*sets, candidate_sets]


@pytest.mark.parametrize("cache", [EXPERT, ROW])
def test_the_slices_are_the_whole(cache: str) -> None:
    """The slices together are the programs of the scope, each once."""
    parts = [SmallSlice("builtin", cache, EXACT_BYTES, "slice", at) for at in range(SLICES)]
    sliced = [repr(program) for part in parts for program in part.programs()]
    assert len(set(sliced)) == len(sliced) == {EXPERT: 7248, ROW: 10864}[cache]


def test_what_is_not_of_the_scope_is_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cache that always has admission is not given the programs without, and that is said."""
    connect = "python:properties.objects_under_test:Row"
    assert main(["exhaust", "--row-cache", connect, "--counterexamples", str(tmp_path)]) == 0
    assert "5432 programs in lockstep, all of the scope but 5432 " in capsys.readouterr().out


# What bulk programs are


def runs_of_all_kinds(count: int) -> list[Runs]:
    """Runs of both caches, under both rules and policies."""
    draws = (np.random.default_rng(seed) for seed in range(10))
    expert: list[Runs] = [
        draw_expert_runs(next(draws), count, rules, policy)
        for rules in (PROPOSAL_RULES, EXACT_BYTES)
        for policy in ("lru", "layer")
    ]
    return [*expert, *(draw_row_runs(next(draws), count) for _ in range(4))]


def test_the_engines_count_what_the_reference_counts(pytestconfig: pytest.Config) -> None:
    """Every engine, on every drawn run; and what is counted adds up."""
    count = {"quick": 40, "gate": 400, "nightly": 4000}[pytestconfig.getoption("--profile")]
    for runs in runs_of_all_kinds(count):
        judged = judge_engines(runs, seed=0, share=1)
        assert (judged.programs, judged.more) == (count, count)
        assert (judged.fault, judged.odd) == (None, "")


def test_runs_are_their_programs() -> None:
    """Made programs and read back, runs count the same, and there are as many."""
    for runs in runs_of_all_kinds(160):
        again = type(runs).of(list(runs.programs()))
        counted, read_back = (one.counted(one.engines()[0]) for one in (runs, again))
        assert {name: c.tolist() for name, c in counted.items()} == {
            name: c.tolist() for name, c in read_back.items()
        }


def test_bulk_programs_meet_everything_that_is_counted() -> None:
    """Hits, evictions, refusals, halvings and all other counters move in many runs of one bulk."""
    for runs in runs_of_all_kinds(2000):
        for name, values in runs.counted(runs.engines()[0]).items():
            assert np.count_nonzero(values) > 100, name


@pytest.mark.parametrize("at, sums", [(3, EXPERT_SUMS), (4, ROW_SUMS)])
def test_every_sum_can_be_broken(at: int, sums: tuple[Sum, ...]) -> None:
    """One more or one less of some counter in every other run breaks each sum in one of them at least."""
    runs = runs_of_all_kinds(800)[at]
    right = [final(run(program)) for program in runs.programs()]
    counted = {name: np.array([each[name] for each in right]) for name in right[0]}
    assert list(runs.broken(counted)) == []
    every_other = np.arange(len(runs)) % 2
    unbroken = {one.sentence for one in sums}
    for name, by in product({name for one in sums for name in one.counters}, (-1, 1)):
        unbroken -= set(dict(runs.broken(counted | {name: counted[name] + by * every_other})))
    assert unbroken == set()


# The house on them, by profile


def test_the_reference_keeps_every_law_on_a_small_scope(
    pytestconfig: pytest.Config, tmp_path: Path, capsys: pytest.CaptureFixture[str], more_than_quick: None
) -> None:  # fmt: skip
    """Every small program is counted alike by the engine, every tenth keeps all laws (a slice; nightly the whole)."""
    scope = "whole" if pytestconfig.getoption("--profile") == "nightly" else "slice"
    assert main(["exhaust", "--scope", scope, "--counterexamples", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.rpartition("; ")[2] for line in printed] == ["no faults"] * 3


def examples(language: str, folder: Path) -> list[str]:
    """The options that connect the example drivers of a language."""
    connected = ((f"--{kind}-cache", f"cmd:{build(language, kind, folder)}") for kind in KINDS)
    return [word for option in connected for word in option]


def judged(printed: str) -> tuple[int, int]:
    """How many programs one by one and in bulk a storm says it judged."""
    numbers = re.findall(r": (\d+) programs \w+ \w+, (\d+) in bulk; no faults\n", printed)
    return sum(int(one) for one, _ in numbers), sum(int(bulk) for _, bulk in numbers)


def test_the_examples_weather_a_storm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more_than_quick: None
) -> None:
    """Some hundred programs in lockstep and in bulk on drivers of both caches."""
    counts = ["--lockstep", "200", "--bulk", "800", "--seed", "0", "-n", "1"]
    assert main(["storm", *examples("python", tmp_path), *counts]) == 0
    assert judged(capsys.readouterr().out) == (200, 800)


def test_the_examples_weather_a_night(
    pytestconfig: pytest.Config, tmp_path: Path, capsys: pytest.CaptureFixture[str], only_nightly: None
) -> None:  # fmt: skip
    """A million programs in lockstep and ten million in bulk, on drivers of both caches."""
    try:
        connected = examples("cpp", tmp_path)
    except NoCompiler:
        connected = examples("python", tmp_path)
    folder = pytestconfig.getoption("--counterexamples")
    counts = ["--lockstep", "1000000", "--bulk", "10000000", "--minutes", "600"]
    code = main(["storm", *connected, *counts, "--counterexamples", folder])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert judged(printed) == (1_000_000, 10_000_000)
