"""What does the emulation of the RowCache give on the synthetic text, and what do bytes and chance alone give?

The report's text is not public. Another one reproduces its emulation (fixtures/text.py): its parameters were tuned on
the first reads and the number of rows, never on the cells that these definitions compute. They need no recorded runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gate.golden.identities import printed
from gate.golden.table import Row
from gate.golden.table_file import TABLES, load
from gate.rows.emulation import RowsRow, Run, emulate
from gate.rows.inputs import Tokens, synthetic
from gate.rows.layouts import layouts_of
from reference.engram import HEADS
from reference.errors import InputError
from reference.row_geometry import (
    expected_fill,
    expected_full_sets,
    expected_overflow,
    rows_at_fill,
    rows_of_budget,
    sets_of_rows,
)
from replay import kernel

GIB = 1 << 30
WAYS = 4
CAPACITY_ROWS = 1_806_918
"""Slots of the one table that is emulated: half of the 3,613,836 that 1 GiB buys both tables."""
CAPACITY_ROWS_4GIB = 7_559_106
"""Half of 15,118,212."""

COLUMN = {
    "4-way": "four_way",
    "8-way": "eight_way",
    "16-way": "sixteen_way",
    "two-set": "two_set",
    "lru": "lru",
}
LATER = ("B2", "A3")
FIRST_READS = ("A", "B")
ROWS_OF_A = 738_000
"""Distinct rows of request A: the middle of what row-cache-derived leaves possible, in thousands."""


def of_the_server(folder: Path) -> list[Row]:
    """Counters and times of the report's server, which is not public: nothing here measures them again.

    Their arithmetic is tested. Scrapes of another server make a table of their own (`cachegate table new`).

    Raises:
        InputError: always.
    """
    raise InputError(
        "counted by the RowCache report's server, which is not public", source=str(folder)
    )


# --- by replay ------------------------------------------------------------------------------------


def row_cache_emulated(_folder: Path) -> list[Row]:
    """Hit rates of every policy at full scale."""
    return hit_rates(emulated(full_scale()), emulated_4gib(1))


def row_cache_emulated_eighth(_folder: Path) -> list[Row]:
    """Hit rates of every policy at an eighth of slots, sketch and heads."""
    return hit_rates(emulated(HEADS), emulated_4gib(HEADS))


def row_cache_fill(_folder: Path) -> list[Row]:
    """Share of the slots filled in the end, at full scale."""
    return fills(emulated(full_scale()))


def row_cache_fill_eighth(_folder: Path) -> list[Row]:
    """Share of the slots filled in the end, at an eighth."""
    return fills(emulated(HEADS))


def row_cache_ratios(_folder: Path) -> list[Row]:
    """How refusals and evictions relate under the server's policy, at full scale."""
    return ratios(emulated(full_scale())[0])


def full_scale() -> int:
    """The scale 1, which takes the C kernel.

    Raises:
        InputError: plain Python would run.
    """
    if kernel.engine_name() != "c":
        raise InputError("full scale needs the C kernel", cure="reinstall with a C compiler")
    return 1


@cache
def text(scale: int) -> Tokens:
    """The synthetic text with 1 / `scale` of the heads."""
    return synthetic(HEADS // scale, model_ids=False)


@cache
def emulated(scale: int) -> list[Run]:
    """All policies at 1 GiB under hash seed 0; the first is the server's, 4-way."""
    layouts = layouts_of(",".join(COLUMN))
    return emulate(text(scale), layouts, [CAPACITY_ROWS // scale], scale, seeds=1)


@cache
def emulated_4gib(scale: int) -> Run:
    """The server's policy at 4 GiB."""
    capacity_rows = [CAPACITY_ROWS_4GIB // scale]
    return emulate(text(scale), layouts_of("4-way"), capacity_rows, scale, seeds=1)[0]


def by_request(run: Run) -> dict[str, RowsRow]:
    """What a run counted in each request."""
    return {row.request: row for row in run.rows(text(HEADS).requests, scale=1)}


def hit_rates(runs: Sequence[Run], large: Run) -> list[Row]:
    """Hit rates in percent: first reads under the server's policy, later ones under each."""
    of_policy = {COLUMN[run.layout.name]: by_request(run) for run in runs}
    of_policy["four_way_4gib"] = by_request(large)
    rows: list[Row] = []
    for request in (*FIRST_READS, *LATER):
        policies = ["four_way"] if request in FIRST_READS else list(of_policy)
        rates = {f"{name}_pct": of_policy[name][request].hit_pct or 0.0 for name in policies}
        rows.append({"request": request, **rates})
    return rows


def fills(runs: Sequence[Run]) -> list[Row]:
    """Filled slots in percent at the end of the last request."""
    return [
        {"policy": run.layout.name, "fill_pct": by_request(run)["A3"].fill_pct or 0.0}
        for run in runs
    ]


def ratios(run: Run) -> list[Row]:
    """Refusals per eviction in B and in the two later requests; evictions in A2 per eviction in A."""
    of = by_request(run)
    later = [of[request] for request in LATER]
    return [
        {
            "policy": run.layout.name,
            "refusals_per_eviction_b": of["B"].refusals / of["B"].evictions,
            "refusals_per_eviction_later": sum(row.refusals for row in later)
            / sum(row.evictions for row in later),
            "evictions_a2_per_a": of["A2"].evictions / of["A"].evictions,
        }
    ]


# --- by arithmetic --------------------------------------------------------------------------------


def row_cache_capacity(_folder: Path) -> list[Row]:
    """What a budget buys: 280 bytes a slot, split in proportion to the tables, whole sets of four."""
    rows: list[Row] = []
    for gib in (1, 4):
        sets = sum(sets_of_rows(rows_of_budget(gib * GIB), WAYS))
        rows.append({"budget_gib": gib, "capacity_rows": sets * WAYS, "four_way_sets": sets})
    return rows


def row_cache_chance(_folder: Path) -> list[Row]:
    """Poisson arrivals: which number of rows the residents betray, and what that number predicts."""
    totals = load(TABLES / "row-cache-totals.toml")
    sets = {gib: int(printed(totals, "capacity_rows", gib, "all").value) // WAYS for gib in (1, 4)}
    residents = {gib: printed(totals, "resident_rows", gib, "all").value for gib in (1, 4)}
    stated = float(printed(totals, "distinct_rows", 1, "all").value)
    return [
        {
            "budget_gib": 1,
            "rows_behind_residents": rows_at_fill(float(residents[1]), sets[1], WAYS),
            "fill_pct": 100 * expected_fill(stated, sets[1], WAYS),
            "full_sets_pct": 100 * expected_full_sets(stated, sets[1], WAYS),
            "overflow_of_a": expected_overflow(ROWS_OF_A, sets[1], WAYS),
        },
        {
            "budget_gib": 4,
            "rows_behind_residents": rows_at_fill(float(residents[4]), sets[4], WAYS),
        },
    ]
