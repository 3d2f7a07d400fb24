"""Does `cachegate grow` show the loop it ran, compare what it promises, and refuse what it cannot run?"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.devices import device_names
from fixtures.recorded_runs import RUNS
from gate.cli import main
from gate.growth.connect import LOOPS
from replay.sampled_curve import SAMPLES

SESSION = str(RUNS / "session-mid-c6.route.csv")
DRIVER = Path(__file__).parents[1] / "fixtures" / "drivers" / "python" / "sizing_driver.py"
FIXED = ["off", "floor: 1 cycle", "auto as shipped", "best fixed, in hindsight"]
LOOP_ROWS = [f"loop: {rule}, {sample} sample" for rule in LOOPS for sample in SAMPLES]

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """The object of `cachegate grow SESSION ARGUMENTS --json`."""

    def asked(*arguments: str, trace: str = SESSION, device: str = "phone") -> dict[str, Any]:
        assert main(["grow", trace, "--device", device, *arguments, "--json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return asked


@pytest.mark.parametrize("device", device_names())
def test_everything_promised_is_compared(ask: Ask, device: str) -> None:
    """No cache, the floor, fixed budgets, auto, the best in hindsight, and each loop with both samples."""
    document = ask(device=device)
    names = [row["what"] for row in document["comparison"]]
    assert [name for name in names if not name.startswith("fixed")] == FIXED + LOOP_ROWS
    assert any(name.startswith("fixed: 2 cycles") for name in names)


def test_the_turns_add_up_to_the_comparison(ask: Ask) -> None:
    """What the shown loop read and took over its turns is what its row says."""
    document = ask("--turn-tokens", "3", "--loop", "hull", "--sample", "seen")
    assert document["shown"] == "loop: hull, seen sample"
    row = next(row for row in document["comparison"] if row["what"] == document["shown"])
    turns = document["turns"]
    assert [turn["resting_bytes"] for turn in turns] == row["budgets_bytes"]
    assert turns[0]["resting_bytes"] == document["token_demand_bytes"]
    assert all(budget % document["token_demand_bytes"] == 0 for budget in row["budgets_bytes"])


def test_the_best_fixed_budget_is_the_best_and_takes_the_whole_win(ask: Ask) -> None:
    """No fixed number of cycles is faster; off takes nothing of the win."""
    rows = {row["what"]: row for row in ask()["comparison"]}
    best = rows["best fixed, in hindsight"]
    fixed = [row for name, row in rows.items() if name.startswith(("fixed", "floor", "off"))]
    assert all(best["ms"] <= row["ms"] for row in fixed)
    if best["win_pct"] is not None:
        assert (best["win_pct"], rows["off"]["win_pct"]) == (100.0, 0.0)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(ask: Ask) -> None:
    """The noise is that of the seed."""
    one, same, other = ask("--seed", "3"), ask("--seed", "3"), ask("--seed", "2")
    assert one == same
    assert one["comparison"][0]["ms"] != other["comparison"][0]["ms"]


def test_a_table_a_turn_and_one_of_the_comparison_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Budget, hit rate, bytes read, faults and time by turn, and why the budget moved."""
    assert main(["grow", SESSION, "--device", "desktop"]) == 0
    said = capsys.readouterr().out
    for heading in (
        "cycles",
        "hit %",
        "read MiB/token",
        "faults/token",
        "ms/token",
        "then",
        "% of the win",
    ):
        assert heading in said
    assert "growing" in said
    assert all(name in said for name in FIXED + LOOP_ROWS)


def test_a_synthetic_session_has_the_turns_asked_for(ask: Ask) -> None:
    """Three turns of four tokens, each with a prompt of its own."""
    lengths = ("--turns", "3", "--turn-tokens", "4", "--prompt-tokens", "6")
    document = ask(*lengths, trace="synthetic:gpt-oss-120b")
    assert document["trace"] == "synthetic:gpt-oss-120b"
    assert len(document["turns"]) == 3
    assert document["token_demand_bytes"] == 951_782_400


def test_another_rule_is_shown_and_compared(ask: Ask) -> None:
    """The example driver, as a process, beside the built-in loops."""
    connect = f"cmd:{sys.executable} {DRIVER}"
    document = ask("--sizing", connect)
    assert document["shown"] == f"loop: {connect}, prefill sample"
    names = [row["what"] for row in document["comparison"]]
    assert names[-2:] == [f"loop: {connect}, {sample} sample" for sample in SAMPLES]


def test_an_open_point_can_be_decided_otherwise(ask: Ask) -> None:
    """A rule that never measures a turn of 8 tokens stays at one cycle."""
    document = ask("--decide", "least_tokens=9,gain=hull")
    (budget,) = {turn["resting_bytes"] for turn in document["turns"]}
    assert budget == document["token_demand_bytes"]
    assert {turn["then"] for turn in document["turns"]} == {"too short to measure"}


@pytest.mark.parametrize("name", ["run.svg", "run.png"])
def test_the_plot_is_drawn(ask: Ask, tmp_path: Path, name: str, more_than_quick: None) -> None:
    """Twice the same picture."""
    pytest.importorskip("matplotlib")
    file = tmp_path / name
    ask("--plot", str(file))
    first = file.read_bytes()
    ask("--plot", str(file))
    assert file.read_bytes() == first
    assert len(first) > 5000


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--device", "toaster"], "no device toaster"),
        (["--turn-tokens", "0"], "a turn has tokens"),
        (["--turns", "3"], "a recorded trace has the turns it has"),
        (["--decide", "colour=red"], "no decision colour"),
        (["--decide", "cost=hope"], "cost is one of"),
        (["--decide", "least_tokens=many"], "invalid literal"),
        (["--sizing", "telepathy"], "cannot connect telepathy"),
        (["--sizing", "python:no_such_module:Rule"], "cannot be imported"),
        (["--sizing", "cmd:./no-such-driver"], "cannot be started"),
        (["--plot", "picture.gif"], "cannot draw picture.gif"),
    ],
)
def test_what_cannot_be_run_is_refused_with_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    """The message says what is wrong, and nothing is printed before it."""
    assert main(["grow", SESSION, "--device", "phone", *arguments]) == 2
    said = capsys.readouterr()
    assert problem in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "trace, arguments, problem",
    [
        ("synthetic:nonesuch", [], "no synthetic routing for nonesuch"),
        ("synthetic:qwen3-30b-a3b", ["--turns", "0"], "a session has turns"),
        ("synthetic:qwen3-30b-a3b", ["--turn-tokens", "1000000"], "routings"),
        ("no-such-file.csv", [], "no-such-file.csv"),
    ],
)
def test_a_trace_that_cannot_be_had_is_refused_with_code_2(
    capsys: pytest.CaptureFixture[str], trace: str, arguments: list[str], problem: str
) -> None:
    """An unknown model, a session without turns or too long, a file that is not there."""
    assert main(["grow", trace, "--device", "phone", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_rule_that_stops_answering_gives_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is compared, and the verdict is said."""
    file = tmp_path / "driver.py"
    file.write_text("input(); raise SystemExit(3)")
    arguments = ["--device", "phone", "--sizing", f"cmd:{sys.executable} {file}"]
    assert main(["grow", SESSION, *arguments]) == 1
    said = capsys.readouterr()
    assert "crash: exited with code 3" in said.err
    assert said.out == ""


# --- cachegate sizing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("connect", ["builtin", "builtin:hull"])
def test_the_built_in_rules_pass(
    capsys: pytest.CaptureFixture[str], connect: str, more_than_quick: None
) -> None:
    """Every law is exercised and holds: code 0."""
    assert main(["sizing", connect]) == 0
    said = capsys.readouterr().out
    assert "fail" not in said
    assert "not exercised" not in said


def test_a_rule_with_a_bug_fails_and_the_law_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Code 1, with the law's sentence, what was expected and got, and the machine it shows on."""
    connect = "python:fixtures.seeded_bugs.growth.rule:NeverBelowOneCycle"
    assert main(["sizing", connect]) == 1
    said = capsys.readouterr().out
    assert "fail     growth/off-where-nothing-is-conceded" in said
    assert "expected resting budget 0, got resting budget 104857600" in said
    assert "GrowthWorld(" in said


@pytest.mark.parametrize(
    "script, verdict",
    [
        ("raise SystemExit(3)", "crash: exited with code 3"),
        ("input(); print('no answer')", "garbage: expected budget_bytes"),
        (
            "input(); print('budget_bytes=1 k=1 drop=0\\nbudget_bytes=1 k=1 drop=0')",
            "garbage: more than one line",
        ),
        ("input(); print('budget_bytes=-1 k=1 drop=0')", "garbage: '-1' is no number"),
        ("input(); print('x' * 100000)", "garbage"),
    ],
)
def test_a_driver_that_fails_is_told_from_one_that_breaks_a_law(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, script: str, verdict: str
) -> None:
    """Crash and garbage end the judgement with code 1 and say so."""
    file = tmp_path / "driver.py"
    file.write_text(script)
    assert main(["sizing", f"cmd:{sys.executable} {file}"]) == 1
    assert verdict in capsys.readouterr().out
