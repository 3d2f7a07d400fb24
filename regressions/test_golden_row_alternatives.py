"""Does each alternative to a pinned rule of the RowCache miss a golden cell that the rule itself meets?

The comparison is the golden tables' own: the cells of the server's policy are replaced by what the alternative gives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from fixtures import row_alternatives
from fixtures.row_alternatives import interleaved, replay_with
from gate.golden.comparison import compare
from gate.golden.definitions.rows import (
    CAPACITY_ROWS,
    emulated,
    emulated_4gib,
    hit_rates,
    ratios,
    text,
)
from gate.golden.table import Row, Table
from gate.golden.table_file import TABLES, load
from gate.rows.emulation import Run
from gate.rows.layouts import layouts_of
from reference.engram import HEADS
from replay import kernel
from replay.gathers import Gathers
from replay.row_table import RowTable
from replay.rows import RowReplay

EIGHTH, RATIOS = (
    load(TABLES / "row-cache-emulated-eighth.toml"),
    load(TABLES / "row-cache-ratios.toml"),
)
RATIO_NAMES = [column.name for column in RATIOS.value_columns]
SEEN_IN_RATES = sorted({*row_alternatives.TABLES} - {"64-byte blocks"})


def replayed(
    replay_class: type[RowReplay],
    scale: int,
    engine: kernel.EngineName,
    change: Callable[[Gathers], Gathers] = lambda gathers: gathers,
) -> Run:
    """The server's policy over the synthetic text, by another engine or over changed gathers."""
    (layout,) = layouts_of("4-way")
    config = layout.config([CAPACITY_ROWS // scale], scale, hash_seed=0)
    replay = replay_class(config, engine)
    parts = [replay.distinct_gathers(change(part.gathers)).sum(axis=0) for part in text(scale)]
    return Run(layout, config, engine, np.array(parts), [[0.0]] * len(parts))


@cache
def alternative(name: str, scale: int) -> Run:
    """One of the alternatives to table or sketch."""
    return replayed(replay_with(row_alternatives.TABLES[name]), scale, "python")


def missed_rates(run: Run) -> list[str]:
    """Which hit rates at an eighth of the scale differ, when the server's policy is `run`."""
    _, *others = emulated(HEADS)
    return missed(EIGHTH, hit_rates([run, *others], emulated_4gib(HEADS)))


def missed(table: Table, measured: list[Row]) -> list[str]:
    """The names of the cells beyond their tolerance."""
    return [
        f"{'/'.join(map(str, difference.row.values()))} {difference.column.name}"
        for difference in compare(table, measured)
        if difference.column
    ]


def test_the_rules_themselves_miss_nothing() -> None:
    """The plain engine under alternatives, unchanged, gives what the golden cells ask for."""
    assert missed_rates(replayed(replay_with(RowTable), HEADS, "python")) == []


@pytest.mark.parametrize("name", SEEN_IN_RATES)
def test_an_alternative_misses_a_hit_rate(name: str) -> None:
    """At 1/8 scale the hit rate of a later request is off by more than its tolerance."""
    cells = missed_rates(alternative(name, HEADS))
    assert {"B2 four_way_pct", "A3 four_way_pct"}.intersection(cells)
    assert all(cell.endswith("four_way_pct") for cell in cells)


@pytest.mark.usefixtures("more_than_quick")
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("64-byte blocks", {"refusals_per_eviction_later"}),
        ("conservative update", set(RATIO_NAMES)),
        ("strict comparison", set(RATIO_NAMES)),
    ],
)
def test_an_alternative_misses_ratios(name: str, cells: set[str]) -> None:
    """At full scale: blocks alone keep the hit rates and refuse 0.88 rows an eviction, where 0.84 is right."""
    assert {cell.split()[-1] for cell in missed(RATIOS, ratios(alternative(name, 1)))} == cells


@pytest.mark.usefixtures("more_than_quick")
@pytest.mark.skipif(kernel.built() is None, reason="row by row takes the C kernel")
def test_interleaved_lookups_and_inserts_miss_two_ratios() -> None:
    """At full scale the later refusals are 0.81 an eviction, and A2 evicts 3.1 rows for one of A."""
    rows = ratios(replayed(RowReplay, 1, "c", interleaved))
    assert missed(RATIOS, rows) == [
        "4-way refusals_per_eviction_later",
        "4-way evictions_a2_per_a",
    ]
