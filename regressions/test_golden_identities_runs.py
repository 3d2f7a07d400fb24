"""Does the arithmetic of the tables on faults, memory and speed hold?

Needs no recorded runs.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from gate.golden.definitions.ranks import rank_correlation
from gate.golden.definitions.runs import AHWB_LONG, ANON_LONG, ANON_PARTNER, WARM_UP_TOKENS
from gate.golden.definitions.saving import COSTS
from gate.golden.definitions.speed import WINDOW_TOKENS
from gate.golden.identities import (
    Printed,
    exactly,
    follows,
    greatest,
    least,
    printed,
    printed_column,
    reach,
    same,
    total,
)
from gate.golden.table_file import load_all

TABLES = {table.id: table for table in load_all()}


def test_the_38_runs_come_from_five_campaigns() -> None:
    """9 + 8 + 8 + 9 + 4 runs, those in which the faults change."""
    campaigns = Counter(str(run).split("/")[0] for (run,) in TABLES["memory-signal"].keys)
    assert campaigns == {
        "2026-07-17": 9,
        "2026-07-20-cache-replay": 8,
        "2026-07-20-sidecar": 8,
        "2026-07-21-pinned-dense-ab": 9,
        "2026-07-22-drop-cold-experts": 4,
    }


@pytest.mark.parametrize(
    ("tokens", "column"), [("all", "rho_all_tokens"), ("after warm-up", "rho")]
)
def test_the_range_of_a_signal_is_that_of_its_runs(tokens: str, column: str) -> None:
    """Ends and signs in memory-signal-range follow from the rows of memory-signal."""
    table, rows = TABLES["memory-signal-range"], printed_column(TABLES["memory-signal"], column)
    key = ("mem_available_mib", tokens)
    rhos = [row.value for row in rows]
    assert same(printed(table, "lowest", *key), least(rows))
    assert same(printed(table, "highest", *key), greatest(rows))
    assert table.cell("negative", *key) == sum(rho < 0 for rho in rhos)
    assert table.cell("positive", *key) == sum(rho > 0 for rho in rhos)


def test_every_run_is_counted_once_in_each_range() -> None:
    """Negative, positive and constant make 38 in every row."""
    table = TABLES["memory-signal-range"]
    for key in table.keys:
        counts = [table.cell(column, *key) for column in ("negative", "positive", "constant")]
        assert sum(counts) == len(TABLES["memory-signal"].rows) == 38


def test_the_groups_across_runs_are_parts_of_all() -> None:
    """Every group has one count of runs, and 13 + 10 + 9 leave the 2 of Gemma and 4 of LFM2.5."""
    table = TABLES["memory-signal-across"]
    runs = {group: table.cell("runs", group, signal) for group, signal in table.keys}
    assert all(table.cell("runs", *key) == runs[key[0]] for key in table.keys)
    assert runs["all"] == 38 == runs["gpt-oss"] + runs["qwen3moe"] + runs["qwen35moe"] + 2 + 4


def test_between_runs_available_memory_goes_along_with_faults() -> None:
    """Across runs it is the strongest signal of the three, within runs its sign changes."""
    across = TABLES["memory-signal-across"]
    strength = {
        signal: abs(across.cell("rho", group, signal))
        for group, signal in across.keys
        if group == "all"
    }
    assert max(strength, key=strength.__getitem__) == "mem_available_mib"
    for signal, tokens in TABLES["memory-signal-range"].keys:
        assert printed(TABLES["memory-signal-range"], "lowest", signal, tokens).value < 0
        assert printed(TABLES["memory-signal-range"], "highest", signal, tokens).value > 0


def test_windows_are_the_whole_hundreds_after_the_warm_up() -> None:
    """1354 tokens less 5 make 13 full windows and a rest of 49."""
    residency, windows = TABLES["dense-residency"], TABLES["long-run-windows"]
    steady = residency.cell("tokens", AHWB_LONG)
    assert steady == 1354 - WARM_UP_TOKENS
    full = TABLES["faults-against-speed"].cell("windows", AHWB_LONG)
    assert full == steady // WINDOW_TOKENS
    assert total(printed_column(windows, "tokens")).value == steady
    assert windows.cell("tokens", full + 1) == steady % WINDOW_TOKENS


def test_the_windows_add_up_to_the_run() -> None:
    """Their wall times give the speed of the run, their faults its faults per token."""
    windows = TABLES["long-run-windows"]
    tokens = [cell.value for cell in printed_column(windows, "tokens")]
    speeds = printed_column(windows, "tok_s")
    walls = [
        reach(lambda speed, n=n: n / speed, each) for n, each in zip(tokens, speeds, strict=True)
    ]
    steady = sum(tokens)
    slow, fast = steady / sum(high for _, high in walls), steady / sum(low for low, _ in walls)
    middle = Printed((slow + fast) / 2, (fast - slow) / 2)
    assert same(printed(TABLES["fault-cost"], "tok_s", AHWB_LONG), middle)
    faults = printed_column(windows, "faults_per_token")
    parts = [
        Printed(n * each.value / steady, n * each.tolerance / steady)
        for n, each in zip(tokens, faults, strict=True)
    ]
    assert same(printed(TABLES["fault-cost"], "faults_per_token", AHWB_LONG), total(parts))


def test_the_rank_correlation_follows_from_the_printed_windows() -> None:
    """The thirteen full windows as printed have the rank correlation of faults-against-speed."""
    windows, full = TABLES["long-run-windows"], slice(0, 13)
    faults = [float(cell.value) for cell in printed_column(windows, "faults_per_token")[full]]
    speeds = [float(cell.value) for cell in printed_column(windows, "tok_s")[full]]
    rho = rank_correlation(faults, speeds)
    assert rho is not None
    assert same(printed(TABLES["faults-against-speed"], "rho", AHWB_LONG), exactly(Fraction(rho)))


def test_the_fall_is_read_off_the_windows() -> None:
    """Best and last full window are windows of the run, and the ratios are those of their faults."""
    fall, windows = TABLES["long-run-fall"], TABLES["long-run-windows"]
    speeds, faults = (
        printed_column(windows, "tok_s")[:13],
        printed_column(windows, "faults_per_token")[:13],
    )
    best = max(range(13), key=lambda at: speeds[at].value)
    assert same(printed(fall, "tok_s", "best window"), speeds[best])
    assert same(printed(fall, "tok_s", "last full window"), speeds[-1])
    for what, above, below in (
        ("faults, last full window / best window", faults[-1], faults[best]),
        ("faults, highest / best window", greatest(faults), faults[best]),
        ("faults, last full window / lowest", faults[-1], least(faults)),
    ):
        assert follows(printed(fall, "times", what), lambda a, b: a / b, above, below)


def test_speeds_that_stand_in_two_tables_are_the_same() -> None:
    """The two runs of dense-residency that fault-cost lists too have one speed."""
    for run in (AHWB_LONG, ANON_PARTNER):
        speeds = [
            printed(TABLES[table], "tok_s", run) for table in ("dense-residency", "fault-cost")
        ]
        assert same(*speeds)


def test_the_share_of_faults_is_price_times_faults_times_speed() -> None:
    """ms a fault * faults a token * tokens a second is the share of time, where both are without warm-up."""
    share, cost = TABLES["fault-share"], TABLES["fault-cost"]
    for time in ("compute_ms", "wall_ms"):
        assert follows(
            printed(share, "share_pct", time, WARM_UP_TOKENS),
            lambda price, faults, speed: price * faults * speed / 10,
            printed(share, "fault_ms", time, WARM_UP_TOKENS),
            printed(cost, "faults_per_token", ANON_LONG),
            printed(cost, "tok_s", ANON_LONG),
        )


def test_the_penalty_follows_from_the_speeds() -> None:
    """1 - slow / fast in percent, and over the share of 11.5 % the printed factor."""
    penalty, cost = TABLES["fault-penalty"], TABLES["fault-cost"]
    slow = printed(cost, "tok_s", ANON_LONG)
    share = printed(TABLES["fault-share"], "share_pct", "compute_ms", WARM_UP_TOKENS)
    for (run,) in penalty.keys:
        percent = printed(penalty, "penalty_pct", run)
        fast = printed(cost, "tok_s", run)
        assert follows(percent, lambda a, b: 100 * (1 - a / b), slow, fast)
        assert follows(printed(penalty, "times", run), lambda a, b: a / b, percent, share)


def test_the_claimed_penalty_is_held_against_the_ends() -> None:
    """What is measured beside "5 to 10 times" is the lowest and the highest factor."""
    claim, times = TABLES["fault-penalty-claim"], printed_column(TABLES["fault-penalty"], "times")
    assert same(printed(claim, "times", "lowest"), least(times))
    assert same(printed(claim, "times", "highest"), greatest(times))


@pytest.mark.parametrize("cost", COSTS)
def test_the_claimed_saving_is_held_against_the_ends(cost: str) -> None:
    """What is measured beside "20 to 30 times" is the lowest and the highest ratio of the runs."""
    claim, ratios = TABLES["saving-ratio-claim"], printed_column(TABLES["saving-ratio"], cost)
    assert same(printed(claim, "lowest", cost), least(ratios))
    assert same(printed(claim, "highest", cost), greatest(ratios))
