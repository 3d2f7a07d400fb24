"""How full does a row cache get by chance? Laws for any hash that spreads rows evenly, but for rare accidents.

They are judged on a census: distinct random rows, each gathered once, in one table. If the places of the rows are
independent, moving one row to another place changes the number of residents, and of full sets, by one at most, with one
candidate set or two. So by McDiarmid's inequality it lies further than t from its mean with probability at most
2 exp(-2 t^2 / rows): `chance` below is the t at which that is FALSE_ALARM.

That one row changes the total by at most one holds with two sets as well: two runs that differ in one row's candidates
have, after every further row, loads that are equal, differ by one row in one set, or by one row moved between two sets.
The means are reference/row_geometry.py's limits for many sets; from 100 sets on they are right to a few rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import log, sqrt

from reference.laws import (
    ANY_SETS,
    ANY_WAYS,
    FEW_WAYS,
    MANY_SETS,
    ONE_CANDIDATE,
    ROW,
    Broken,
    Case,
    Finding,
    Registry,
    all_of,
    columns,
    offered,
)
from reference.program import Program
from reference.row_config import RowCacheConfig
from reference.row_counter_laws import config_of
from reference.row_geometry import expected_residents, expected_residents_two_sets

LAWS = Registry(ROW)
Findings = Iterable[Finding]

RESIDENTS = columns("resident_rows")

FALSE_ALARM = 1e-15
"""Of one comparison. A run that makes 100,000 of them, more than any profile does, errs once in 10^10 runs."""

MIN_ROWS = 1000
"""In a smaller census chance alone explains nearly every count, so none is judged."""


def chance(rows: int) -> float:
    """How far a count of residents or full sets may lie from its mean after `rows` distinct rows."""
    return sqrt(rows * log(2 / FALSE_ALARM) / 2)


@LAWS.law("row-statistics/fill", 0, all_of(MANY_SETS, *RESIDENTS))
def fill(case: Case) -> Findings:
    """Random distinct rows fill the sets as chance has it: E[min(Poisson(rows / sets), ways)] each, more with two."""
    rows, got = _census(case)
    if rows:
        mean, slack = _mean_residents(case.program, rows), chance(rows)
        held = abs(got - mean) <= slack
        expected = f"resident_rows from {mean - slack:.0f} to {mean + slack:.0f}"
        yield None if held else Broken(len(case.row_steps), expected, f"resident_rows {got}")


@LAWS.law(
    "row-statistics/two-sets-fill-more",
    0,
    all_of(ANY_SETS, FEW_WAYS, ONE_CANDIDATE, "candidate_sets=2", *RESIDENTS),
    again=True,
)
def two_sets_fill_more(case: Case) -> Findings:
    """At equal bytes two candidate sets keep more of the same rows than one."""
    if config_of(case).candidate_sets == 1:
        yield from _fills_more(case, replace(config_of(case), candidate_sets=2))


@LAWS.law(
    "row-statistics/more-ways-fill-more",
    0,
    all_of(ANY_SETS, ANY_WAYS, ONE_CANDIDATE, *RESIDENTS),
    again=True,
)
def more_ways_fill_more(case: Case) -> Findings:
    """At equal bytes half as many sets of twice the ways keep more of the same rows."""
    config = config_of(case)
    if config.candidate_sets == 1 and config.sets[0] % 2 == 0 and _census(case)[0]:
        yield from _fills_more(
            case, replace(config, sets=(config.sets[0] // 2,), ways=2 * config.ways)
        )


def _fills_more(case: Case, config: RowCacheConfig) -> Findings:
    """The same census in another layout; judged only where the means lie so far apart that chance cannot turn them."""
    rows, less = _census(case)
    other = Program(config, case.program.operations)
    if rows and _mean_residents(other, rows) - _mean_residents(case.program, rows) > 2 * chance(
        rows
    ):
        more = case.run(other).answers[-1].counters["resident_rows"]
        steps = len(case.row_steps)
        yield None if more > less else Broken(steps, f"more than {less}", f"{more}", other)


def _census(case: Case) -> tuple[int, int]:
    """The distinct rows of a census and how many became resident; 0 rows if the program is none."""
    config = config_of(case)
    placed = config.injected_sets or config.injected_columns or config.tables > 1
    gathers = all(step.is_gather and step.times == 1 for step in case.row_steps)
    last = case.outcome.answers[-1] if case.outcome.answers else case.outcome.opened
    if placed or not gathers or not offered(last, "resident_rows"):
        return 0, 0
    rows = sum(step.new for step in case.row_steps)
    each_once = rows == sum(step.lookups for step in case.row_steps)
    told = each_once and rows >= MIN_ROWS and config.sets[0] >= 100
    return (rows, last.counters["resident_rows"]) if told else (0, 0)


def _mean_residents(program: Program, rows: int) -> float:
    config = program.config
    assert isinstance(config, RowCacheConfig)
    of_rows = expected_residents if config.candidate_sets == 1 else expected_residents_two_sets
    return of_rows(rows, config.sets[0], config.ways)
