"""Do the golden tables of the row cache come out of the emulation, of bytes, and of chance? Needs no recorded runs.

Full scale needs the C kernel; an eighth is replayed by whichever engine there is.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest

from gate.golden.comparison import compare
from gate.golden.definitions import ROW_DEFINITIONS
from gate.golden.definitions.rows import (
    CAPACITY_ROWS,
    by_request,
    emulated,
    of_the_server,
    text,
)
from gate.golden.table import Table
from gate.golden.table_file import TABLES, load_all
from gate.judging.recorder import Record
from gate.rows.emulation import emulate
from gate.rows.layouts import layouts_of
from reference.engram import HEADS
from reference.errors import InputError
from reference.row_geometry import expected_residents, expected_residents_two_sets
from reference.row_statistics import chance
from replay import kernel

FULL_SCALE = ("row_cache_emulated", "row_cache_fill", "row_cache_ratios")
ROW_TABLES = [table for table in load_all() if table.definition in ROW_DEFINITIONS]
MEASURED_HERE = [table for table in ROW_TABLES if table.definition != of_the_server.__name__]

needs_kernel = pytest.mark.skipif(
    kernel.engine_name() != "c", reason="full scale needs the C kernel, which is not in use"
)


def table_cases(*, full_scale: bool) -> list[Table]:
    """The tables that are computed with or without a replay at full scale."""
    return [table for table in MEASURED_HERE if (table.definition in FULL_SCALE) == full_scale]


def judge(table: Table, record: Record) -> None:
    """Compare a table with its definition."""
    measured = ROW_DEFINITIONS[table.definition](TABLES)
    differences = [str(difference) for difference in compare(table, measured)]
    cells = sum(len(table.asserted_cells(row)) for row in table.rows)
    record.add_golden(table.id, cells, differences)
    assert differences == []


@pytest.mark.parametrize("table", table_cases(full_scale=False), ids=lambda table: table.id)
def test_the_table_comes_out(table: Table, record: Record) -> None:
    """Every cell lies within its tolerance: arithmetic, chance, and the emulation at an eighth of the scale."""
    judge(table, record)


@needs_kernel
@pytest.mark.usefixtures("more_than_quick")
@pytest.mark.parametrize("table", table_cases(full_scale=True), ids=lambda table: table.id)
def test_the_table_comes_out_at_full_scale(table: Table, record: Record) -> None:
    """Every cell lies within its tolerance: 3.7 million lookups under each policy."""
    judge(table, record)


def test_chance_predicts_the_emulated_fill() -> None:
    """At 1/8 scale, the oracle that knows neither engine nor admission."""
    assert_filled_by_chance(HEADS)


@needs_kernel
@pytest.mark.usefixtures("more_than_quick")
def test_chance_predicts_the_emulated_fill_at_full_scale() -> None:
    """1,412,610 distinct rows: within 0.28 % of the slots."""
    assert_filled_by_chance(1)


def assert_filled_by_chance(scale: int) -> None:
    """With one candidate set the distinct rows alone decide the fill: Poisson arrivals, to what chance leaves open.

    With two it is at least that of rows that come once: one that was refused, or left, finds room when it comes again.
    """
    rows = len(np.unique(np.concatenate([part.gathers.ids for part in text(scale)])))
    for run in emulated(scale):
        (sets,), ways = run.config.sets, run.config.ways
        got = (by_request(run)["A3"].fill_pct or 0) / 100 * run.config.capacity_rows
        if run.config.candidate_sets == 1:
            assert abs(got - expected_residents(rows, sets, ways)) <= chance(rows)
        else:
            assert got >= expected_residents_two_sets(rows, sets, ways) - chance(rows)


def test_what_the_server_counted_is_not_measured_here(tmp_path: Path) -> None:
    """Its tables are told apart by name, and a re-measurement says why there is none."""
    with pytest.raises(InputError, match="not public"):
        of_the_server(tmp_path)
    assert len(ROW_TABLES) - len(MEASURED_HERE) == 3


def test_full_scale_without_the_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out by name, never replaced by a smaller run."""
    monkeypatch.setenv(kernel.VARIABLE, "python")
    for name in FULL_SCALE:
        with pytest.raises(InputError, match="C kernel"):
            ROW_DEFINITIONS[name](TABLES)


@needs_kernel
@pytest.mark.usefixtures("only_nightly")
@pytest.mark.parametrize(
    ("policy", "means", "deviation"),
    [("4-way", (85.67, 86.63, 69.03), 0.05), ("two-set", (98.72, 99.12, 77.84), 0.01)],
)
def test_twenty_hash_seeds_spread_as_stated(
    policy: str, means: tuple[float, ...], deviation: float
) -> None:
    """Hit rates of B2 and A3 and the fill: standard deviations as stated with the text, to their printed digit.

    The stated means were taken with another 64-bit hash of the n-grams, so they are met to two deviations.
    """
    runs = emulate(text(1), layouts_of(policy), [CAPACITY_ROWS], 1, seeds=20)
    cells = [
        (of["B2"].hit_pct or 0, of["A3"].hit_pct or 0, of["A3"].fill_pct or 0)
        for of in map(by_request, runs)
    ]
    for stated, column in zip(means, zip(*cells, strict=True), strict=True):
        assert abs(mean(column) - stated) <= 2 * deviation
        assert round(stdev(column), 2) <= deviation
