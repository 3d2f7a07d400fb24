"""Do rows fill the cache as chance has it, and do wider sets and second sets help? On the engines and the reference.

Each comparison errs with probability 1e-15 (reference/row_statistics.py), or as its test derives. The tests have a
sample size of their own, so a run of any profile makes fewer than 2,000 comparisons and gives a false alarm with a
probability below 2e-12, where 1e-9 is allowed. All of it rests on the places of rows being independent, which is what
is tested.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import combinations
from math import log, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from fixtures.profiles import SEEDS
from fixtures.row_programs import census
from reference import row_statistics
from reference.laws import Case, Finding, Run
from reference.program import Answer, Gather, Outcome, Program
from reference.row_config import RowCacheConfig
from reference.row_geometry import expected_full_sets, two_set_loads
from reference.row_placement import RowPlacement
from reference.row_statistics import FALSE_ALARM, chance
from reference.run import run
from replay import kernel
from replay.gathers import Gathers
from replay.rows import RowReplay

pytestmark = pytest.mark.usefixtures("more_than_quick")
sampled = settings(max_examples=5)

ENGINE_SETS = 10_000
REFERENCE_SETS = 1_000
ROWS = 4_000
LAWS = {law.id: law for law in row_statistics.LAWS.laws}
ORDER = ("row-statistics/two-sets-fill-more", "row-statistics/more-ways-fill-more")


def replayed(program: Program, engine: kernel.EngineName) -> RowReplay:
    """The engine after all gathers of a program."""
    assert isinstance(program.config, RowCacheConfig)
    replay = RowReplay(program.config, engine)
    gathers = [act.rows for act in program.operations if isinstance(act, Gather)]
    replay.gathers(Gathers.of([np.array(rows, dtype=np.uint64) for rows in gathers]))
    return replay


def run_fast(program: Program, engine: kernel.EngineName) -> Outcome:
    """A program of gathers alone on a fast engine; every answer has the counters of the end."""
    done = Answer(asdict(replayed(program, engine).counters()))
    return Outcome(Answer(), (done,) * len(program.operations), level=0)


def findings(law_id: str, program: Program, runs: Run) -> list[Finding]:
    """What a law finds on a program."""
    return list(LAWS[law_id].judge(Case.of(program, runs(program), runs)))


@pytest.mark.parametrize("engine", kernel.available())
@pytest.mark.parametrize("candidate_sets", [1, 2])
@pytest.mark.parametrize("ways", [1, 4, 8])
@given(seed=SEEDS)
@sampled
def test_an_engine_fills_as_chance_has_it(
    engine: kernel.EngineName, candidate_sets: int, ways: int, seed: int
) -> None:
    """10,000 sets, 7,500 to 60,000 rows: within 1.7 to 4.9 % of the rows."""
    program = census(Random(seed), ENGINE_SETS, ways, candidate_sets)
    assert findings("row-statistics/fill", program, partial(run_fast, engine=engine)) == [None]


@pytest.mark.parametrize("candidate_sets", [1, 2])
@given(seed=SEEDS)
@sampled
def test_the_reference_fills_as_chance_has_it(candidate_sets: int, seed: int) -> None:
    """1,000 sets of 4 ways, 3,000 rows: within 230 of about 2,681 or 2,980 residents; 3 ways would hold 2,330."""
    program = census(Random(seed), REFERENCE_SETS, 4, candidate_sets)
    assert findings("row-statistics/fill", program, run) == [None]


@pytest.mark.parametrize("engine", kernel.available())
@pytest.mark.parametrize("law_id", ORDER)
@pytest.mark.parametrize("ways", [1, 2, 4])
@given(seed=SEEDS)
@sampled
def test_a_better_layout_fills_more(
    engine: kernel.EngineName, law_id: str, ways: int, seed: int
) -> None:
    """At equal bytes, on the same rows; the means lie apart by more than chance can turn, so it is always judged."""
    program = census(Random(seed), ENGINE_SETS, ways)
    assert findings(law_id, program, partial(run_fast, engine=engine)) == [None]


@pytest.mark.parametrize("engine", kernel.available())
@pytest.mark.parametrize("candidate_sets", [1, 2])
@given(seed=SEEDS)
@sampled
def test_as_many_sets_are_full_as_chance_has_it(
    engine: kernel.EngineName, candidate_sets: int, seed: int
) -> None:
    """Sets without a free way: P(Poisson >= 4), 35 % at three rows a set; fewer with two candidates.

    One row more or less, or elsewhere, changes their number by one at most, so `chance` bounds it too.
    """
    program = census(Random(seed), ENGINE_SETS, 4, candidate_sets)
    share = expected_full_sets(3, 1, 4) if candidate_sets == 1 else two_set_loads(3, 4)[-1]
    full = replayed(program, engine).full_sets()
    assert abs(full - share * ENGINE_SETS) <= chance(3 * ENGINE_SETS)


@given(seed=SEEDS)
@sampled
def test_every_row_has_places_of_its_own(seed: int) -> None:
    """ristretto#108: first set, second set and the four columns are even, and independent in pairs.

    Of 4,000 rows one in nine has any given values in two places of three: a binomial count, which by Hoeffding's
    inequality lies further than sqrt(n log(2 / alarm) / 2) from n / 9 with probability `alarm`. There are 15 pairs of
    places, so each seed makes 135 comparisons.
    """
    slack = sqrt(ROWS * log(2 / FALSE_ALARM) / 2)
    for one, other in combinations(_places(seed), 2):
        counted = np.bincount(3 * one + other, minlength=9)
        assert np.all(np.abs(counted - ROWS / 9) <= slack)


def _places(seed: int) -> list[NDArray[np.int64]]:
    """First set, second set and columns, all of three, of consecutive rows."""
    config = RowCacheConfig((3,), candidate_sets=2, sketch_width=3, hash_seed=seed)
    sites = [RowPlacement(config, 3).site(row) for row in range(ROWS)]
    # Where both candidates are one set, the site names it once.
    return list(np.array([(at.sets[0], at.sets[-1], *at.columns) for at in sites]).T)
