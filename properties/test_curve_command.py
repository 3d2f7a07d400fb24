"""Does `cachegate curve` tell what was recorded, in the form it promises, and refuse what it cannot read?"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.recorded_runs import RUNS
from fixtures.trace_texts import HEADER
from gate.cli import main
from reference.errors import MIB
from reference.expert_config import POLICIES

FIELDS = [
    *("trace", "turn", "policy", "budget_bytes", "cycles", "hit_pct", "decode_hit_pct"),
    *("hits", "lookups", "decode_hits", "decode_lookups", "read_bytes", "decode_read_bytes"),
    *("evictions", "rereads"),
]
TINY, MID, SESSION = (
    str(RUNS / f"{run}.route.csv") for run in ("tiny-c2", "mid-c6-ubatch8", "session-mid-c6")
)
CYCLE_OF_TINY, CYCLE_OF_MID = 1_572_864, 3_145_728
RECORDED: dict[str, dict[str, Any]] = {
    run["tag"]: run for run in json.loads((RUNS / "manifest.json").read_text())
}

Rows = list[dict[str, Any]]
Ask = Callable[..., Rows]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """The rows of `cachegate curve ARGUMENTS --json`."""

    def asked(*arguments: str) -> Rows:
        assert main(["curve", *arguments, "--json"]) == 0
        rows: Rows = json.loads(capsys.readouterr().out)
        return rows

    return asked


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], str]:
    """Writes a trace and gives its path."""

    def written(text: str) -> str:
        file = tmp_path / "small.route.csv"
        file.write_text(text)
        return str(file)

    return written


def trace_text(
    *rows: str, layers: str = "# layer=0 expert_bytes=3\n# layer=1 expert_bytes=5\n"
) -> str:
    """A trace of two layers, four experts and k = 1; a row is `turn,phase,step,layer,expert`."""
    preamble = "# route_trace v1\n# model=toy.gguf arch=toy n_layer=2 n_expert=4 n_expert_used=1\n"
    lines = []
    for row in rows:
        turn, phase, step, layer, expert = row.split(",")
        lines.append(f"{turn},{phase},{step},{layer},0,{expert},0.5,0,0\n")
    return f"{preamble}{layers}{HEADER}\n{''.join(lines)}"


PASS = ("0,0,0,0,1", "0,0,0,1,1", "0,1,1,0,1", "0,1,1,1,1", "0,1,2,0,1", "0,1,2,1,2")
"""One prompt token and two decode tokens: both layers use expert 1, but for the last, which is new."""


# What it says


@pytest.mark.parametrize("run", ["tiny-c0", "tiny-c1", "tiny-c2", "mid-c6-ubatch8"])
def test_a_recorded_run_replays_to_what_was_counted(run: str, ask: Ask) -> None:
    """At the budget of the run: hits, lookups, evictions, re-reads and both reads, to the integer."""
    recorded = RECORDED[run]["replay"]["0"]
    budget = str(RECORDED[run]["budget_mib"])
    (row,) = ask(str(RUNS / f"{run}.route.csv"), "--budget-mib", budget)
    for name in ("hits", "lookups", "evictions", "rereads"):
        assert row[name] == recorded[name]
    assert row["decode_read_bytes"] == recorded["decode_read"]
    assert row["read_bytes"] == recorded["prefill_read"] + recorded["decode_read"]


def test_turns_are_replayed_on_one_warm_cache(ask: Ask) -> None:
    """Each turn's row is the turn alone; together they are the session's, and the row over all turns."""
    recorded = RECORDED["session-mid-c6"]["replay"]
    turns = ask(SESSION, "--budget-mib", "6", "--turn", "each")
    assert [row["turn"] for row in turns] == [0, 1, 2]
    for at, row in enumerate(turns):
        assert row["decode_read_bytes"] == recorded[str(at)]["decode_read"]
        for name in ("hits", "lookups", "evictions", "rereads"):
            assert sum(row[name] for row in turns[: at + 1]) == recorded[str(at)][name]
    (whole,) = ask(SESSION, "--budget-mib", "6")
    assert whole["turn"] is None
    for name in FIELDS[7:]:
        assert whole[name] == sum(row[name] for row in turns)
    assert ask(SESSION, "--budget-mib", "6", "--turn", "1") == [turns[1]]


def test_json_is_one_list_of_rows_with_these_fields(ask: Ask) -> None:
    """Trace by trace, policy by policy, budget by budget; the fields in the order of the documentation."""
    rows = ask(TINY, MID, "--policy", "lru,belady", "--cycles", "1,2")
    assert [list(row) for row in rows] == [FIELDS] * 8
    assert [(row["trace"], row["policy"], row["cycles"]) for row in rows] == [
        (trace, policy, cycles)
        for trace in (TINY, MID)
        for policy in ("lru", "belady")
        for cycles in (1.0, 2.0)
    ]


def test_cycles_are_exact_bytes(ask: Ask) -> None:
    """A budget of n cycles is n * TD, not rounded to MiB; a fraction of a byte is dropped."""
    budgets = [row["budget_bytes"] for row in ask(TINY, "--cycles", "0,0.5,1,1.3333333,8")]
    assert budgets == [0, 786_432, CYCLE_OF_TINY, 2_097_151, 8 * CYCLE_OF_TINY]


def test_budgets_may_be_fractions_of_a_mib(ask: Ask) -> None:
    """A MiB is 2^20 bytes; the cycles held go with it."""
    rows = ask(MID, "--budget-mib", "0.25, 1.5,6")
    assert [row["budget_bytes"] for row in rows] == [MIB // 4, 3 * MIB // 2, 6 * MIB]
    assert [row["cycles"] for row in rows] == [1 / 12, 0.5, 2.0]


def test_rates_are_null_with_the_cache_off(ask: Ask) -> None:
    """Budget 0: no lookups, no rate, and everything is read."""
    (row,) = ask(TINY, "--cycles", "0")
    assert (row["hit_pct"], row["decode_hit_pct"]) == (None, None)
    assert (row["lookups"], row["evictions"]) == (0, 0)
    assert row["decode_read_bytes"] == RECORDED["tiny-c0"]["replay"]["0"]["decode_read"]


def test_rates_by_hand(ask: Ask, write: Callable[[str], str]) -> None:
    """At one cycle the first decode token hits twice, the second once: 3 of 6 lookups, 3 of 4 in decode."""
    (row,) = ask(write(trace_text(*PASS)), "--cycles", "1")
    assert (row["hits"], row["lookups"], row["hit_pct"]) == (3, 6, 50.0)
    assert (row["decode_hits"], row["decode_lookups"], row["decode_hit_pct"]) == (3, 4, 75.0)
    assert (row["read_bytes"], row["decode_read_bytes"]) == (3 + 5 + 5, 5)
    assert (row["evictions"], row["rereads"], row["budget_bytes"]) == (1, 0, 8)


def test_all_is_every_budget_where_hits_change(ask: Ask) -> None:
    """Off, on, then a row a change; between two rows nothing changes, as the recorded budget shows."""
    rows = ask(TINY, "--all")
    budgets, hits = [row["budget_bytes"] for row in rows], [row["hits"] for row in rows]
    assert budgets[:2] == [0, 1]
    assert budgets == sorted(set(budgets))
    assert hits == sorted(hits)
    assert len(set(hits[1:])) == len(hits[1:])
    below = max(budget for budget in budgets if budget <= 2 * MIB)
    assert hits[budgets.index(below)] == RECORDED["tiny-c2"]["replay"]["0"]["hits"]
    (at_once,) = ask(TINY, "--budget-mib", "2")
    assert at_once["hits"] == hits[budgets.index(below)]


def test_every_policy_is_bounded_by_belady(ask: Ask) -> None:
    """`--policy all` is all six; with equal entry bytes none of them hits more often than belady."""
    rows = ask(MID, "--policy", "all", "--cycles", "2")
    hits = {row["policy"]: row["hits"] for row in rows}
    assert tuple(hits) == POLICIES
    assert max(hits.values()) == hits["belady"]


def test_csv_holds_the_same_rows(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty cell stands for null."""
    arguments = (TINY, "--cycles", "0,2")
    rows = ask(*arguments)
    assert main(["curve", *arguments, "--csv"]) == 0
    written = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    as_text = [{name: "" if v is None else str(v) for name, v in row.items()} for row in rows]
    assert written == as_text


@pytest.mark.parametrize("scope, name", [("decode", "decode_hit_pct"), ("all", "hit_pct")])
def test_the_table_shows_the_rate_of_its_scope(
    scope: str, name: str, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a budget below the trace's name and the headings; off where there is no rate."""
    rows = ask(MID, "--cycles", "0,1,2")
    assert main(["curve", MID, "--cycles", "0,1,2", "--scope", scope]) == 0
    title, headings, *lines = capsys.readouterr().out.splitlines()
    assert (title, f"hit % ({scope})" in headings) == (MID, True)
    shown = ["off" if row[name] is None else f"{row[name]:.2f}" for row in rows]
    assert [line.split()[4] for line in lines] == shown


# What it refuses


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (("--policy", "lru,mru"), "--policy: 'mru' is not known"),
        (("--policy", ""), "--policy: '' is not known"),
        (("--policy", "lfu", "--all"), "--policy: --all needs a policy"),
        (("--cycles", "1,x"), "--cycles: 'x' is not a number of 0 or more"),
        (("--cycles", "-1"), "--cycles: '-1' is not a number"),
        (("--cycles", ""), "--cycles: '' is not a number"),
        (("--cycles", "1,,2"), "--cycles: '' is not a number"),
        (("--cycles", "nan"), "--cycles: 'nan' is not a number"),
        (("--cycles", "1e999999"), "--cycles: '1e999999' is not a number"),
        (("--budget-mib", "2GiB"), "--budget-mib: '2GiB' is not a number"),
        (("--budget-mib", "inf"), "--budget-mib: 'inf' is not a number"),
        (("--turn", "7"), "--turn: no turn 7"),
        (("--turn", "x"), "--turn: no turn x"),
        (("--plot", "curve.pdf"), "--plot: "),
    ],
)
def test_a_wrong_argument_is_unusable(
    arguments: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, the option and what was expected on standard error, nothing on standard output."""
    assert main(["curve", TINY, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"cachegate: {problem}" in printed.err
    assert "expected: " in printed.err


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "small.route.csv:1: is empty"),
        (trace_text(), "small.route.csv:6: a trace without rows"),
        (trace_text(*PASS, layers="# layer=0 expert_bytes=3\n"), "small.route.csv:6: "),
        (trace_text(*PASS, layers="# layer=0 expert_bytes=3\n# layer=1 expert_bytes=0\n"), ":7: "),
        (
            trace_text("0,0,-1,0,1", "0,0,-1,0,2", "0,1,2,0,1"),
            "prefill of turn 0 ran in several graphs",
        ),
        (trace_text("0,0,0,0,1", "0,0,0,9,1"), "small.route.csv:7: "),
        (trace_text("0,0,0,0,1", "0,0,0,0,x"), "small.route.csv:7: "),
    ],
    ids=["empty", "no rows", "no size", "size 0", "graphs", "layer", "letters"],
)
def test_a_trace_that_says_too_little_is_unusable(
    text: str, problem: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A guess would be wrong: exit code 2, file and line, and no row, not even of a good trace before it."""
    assert main(["curve", TINY, write(text)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert problem in printed.err


def test_wrong_usage_is_unusable(capsys: pytest.CaptureFixture[str]) -> None:
    """No trace, an option that does not exist, two kinds of output or of budgets: exit code 2."""
    for arguments in (
        [],
        [TINY, "--fast"],
        [TINY, "--json", "--csv"],
        [TINY, "--all", "--cycles", "1"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["curve", *arguments])
        assert ended.value.code == 2
        assert capsys.readouterr().out == ""
