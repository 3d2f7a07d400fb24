"""Does `cachegate table new` derive each tolerance, say where none is known, and state only equations that hold?"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from fixtures.expositions import exposition
from fixtures.recorded_runs import RUNS, copy_run, edit_cell, edit_summary
from gate.cli import main
from gate.golden.checks import broken_checks, parse_check
from gate.golden.table import EXACT, PRINTED_DIGITS, SPREAD, Column, Table
from gate.golden.table_file import load

pytest.importorskip("prometheus_client", reason="needs the optional extra 'metrics'")


def new_table(folder: Path, of: str, *paths: Path) -> Table:
    """A table made from some paths."""
    texts = ("--title", "What was measured?", "--source", "this test", "--dir", str(folder))
    sources = [str(path) for path in paths]
    assert main(["table", "new", "made", "--of", of, "--from", *sources, *texts]) == 0
    return load(folder / "made.toml")


def column(table: Table, name: str) -> Column:
    """One column."""
    return next(column for column in table.columns if column.name == name)


def counted(folder: Path, hits: tuple[int, ...], misses: tuple[int, ...]) -> Path:
    """A folder with the scrapes of a cold cache of 1,000,000 rows, of which every miss adds one."""
    folder.mkdir()
    for number in range(len(hits) + 1):
        counts = {
            "hits": sum(hits[:number]),
            "misses": sum(misses[:number]),
            "evictions": 0,
            "resident_rows": sum(misses[:number]),
            "capacity_rows": 1_000_000,
        }
        (folder / f"{number}-request{number}.prom").write_text(exposition({"": counts}))
    return folder


class TestRuns:
    """From recorded runs."""

    def test_one_run_gives_no_spread_and_says_so(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Counts are exact, times have the tolerance of their print alone, and each column says why."""
        table = new_table(tmp_path, "runs", RUNS / "tiny-c2.csv")
        assert column(table, "tokens").kind == EXACT
        assert (column(table, "tok_s").kind, column(table, "tok_s").digits) == (PRINTED_DIGITS, 3)
        whys = [each.why for each in table.value_columns]
        assert all(why.endswith("one run a row gives no spread") for why in whys)
        assert "nothing is known of the spread" in capsys.readouterr().out
        assert table.source.commit == "0.19.0"

    def test_repeats_give_mean_and_spread(self, tmp_path: Path) -> None:
        """Three runs started alike that hit alike are one row; what differs has its largest deviation."""
        runs = tmp_path / "runs"
        runs.mkdir()
        for name, speed in (("a", "100.0"), ("b", "101.0"), ("c", "103.5")):
            copy_run("tiny-c2", runs, name)
            edit_summary(runs / name, "prefill_s", speed)
        table = new_table(tmp_path, "runs", runs)
        assert table.keys == [("a", 0)]
        spread = column(table, "prefill_s")
        assert (spread.kind, spread.repeats, spread.spread) == (SPREAD, 3, Decimal("2.000"))
        assert table.cell("prefill_s", "a", 0) == Decimal("101.500")
        assert "3 repeats" in spread.why
        assert "3 repeats of every row agree" in column(table, "hit_pct").why

    @pytest.mark.usefixtures("more_than_quick")
    def test_runs_with_other_hits_are_no_repeats(self, tmp_path: Path) -> None:
        """Another budget, or one that hit otherwise at a single token, is a row of its own."""
        runs = tmp_path / "runs"
        runs.mkdir()
        for run in ("tiny-c1", "tiny-c2"):
            copy_run(run, runs)
        assert len(new_table(tmp_path, "runs", runs).rows) == 2

    def test_a_run_that_fails_the_audit_makes_no_table(self, tmp_path: Path) -> None:
        """One changed hit rate: unusable input, and no file."""
        runs = tmp_path / "runs"
        runs.mkdir()
        edit_cell(copy_run("tiny-c2", runs), ".csv", 20, "cache_hit_pct", lambda _: "99.00")
        texts = ("--title", "t", "--source", "s", "--dir", str(tmp_path))
        assert main(["table", "new", "made", "--of", "runs", "--from", str(runs), *texts]) == 2
        assert not (tmp_path / "made.toml").exists()

    def test_a_table_is_not_replaced(self, tmp_path: Path) -> None:
        """A name that is taken, or is no name, is refused."""
        (tmp_path / "made.toml").touch()
        texts = ("--title", "t", "--source", "s", "--dir", str(tmp_path))
        for name in ("made", "../made", "Made"):
            command = ["table", "new", name, "--of", "runs", "--from", str(RUNS), *texts]
            assert main(command) == 2

    @pytest.mark.usefixtures("more_than_quick")
    def test_all_recorded_runs_make_a_table_that_they_give_again(
        self, tmp_path: Path, bench_data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """102 runs in 76 rows, 19 of them with repeats; measured again not one cell differs."""
        table = new_table(tmp_path, "runs", bench_data)
        assert (len(table.rows), column(table, "tok_s").kind) == (76, SPREAD)
        assert "2 to 4 repeats of 19 rows" in column(table, "tok_s").why
        capsys.readouterr()
        assert main(["remeasure", str(table.path), "--from", str(bench_data)]) == 0
        assert ": 0 differ" in capsys.readouterr().out


class TestScrapes:
    """From scrapes of a server."""

    def test_counters_and_their_equations(self, tmp_path: Path) -> None:
        """Sums, products and the growth from row to row are found, and nothing that is chance."""
        folder = counted(tmp_path / "scrapes", (1_003, 20_011, 40_507), (7_001, 30_029, 5_003))
        table = new_table(tmp_path, "scrapes", folder)
        assert table.cell("hits", "request2") == 20_011
        assert table.checks == (
            "added = misses",
            "hits + misses = lookups",
            "lookups * hit_pct = 100 * hits",
            "resident_rows - resident_rows.before = misses",
            "capacity_rows * fill_pct = 100 * resident_rows",
        )

    def test_repeats_are_folders(self, tmp_path: Path) -> None:
        """Two launches of a server that differ by four rows: the spread is theirs, with n = 2."""
        first = counted(tmp_path / "first", (1_003, 20_011), (7_001, 30_029))
        second = counted(tmp_path / "second", (1_007, 20_011), (7_001, 30_029))
        table = new_table(tmp_path, "scrapes", first, second)
        hits = column(table, "hits")
        assert (hits.kind, hits.repeats, hits.spread) == (SPREAD, 2, 2)
        assert table.cell("hits", "request1") == 1_005
        assert column(table, "misses").kind == EXACT
        sources = (str(first), str(second))
        assert main(["remeasure", str(table.path), "--from", *sources]) == 0

    def test_two_paths_with_one_name_are_refused(self, tmp_path: Path) -> None:
        """Neither stands for the other; nor does a path that is not there."""
        for place in ("here", "there"):
            (tmp_path / place).mkdir()
            counted(tmp_path / place / "scrapes", (10, 10), (10, 10))
        texts = ("--title", "t", "--source", "s", "--dir", str(tmp_path))
        for second in ("there/scrapes", "nowhere"):
            sources = (str(tmp_path / "here" / "scrapes"), str(tmp_path / second))
            command = ["table", "new", "made", "--of", "scrapes", "--from", *sources, *texts]
            assert main(command) == 2

    def test_among_others_it_is_skipped(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A made table is measured from its own files alone: a folder of tables passes it over."""
        folder = counted(tmp_path / "scrapes", (1_003, 20_011), (7_001, 30_029))
        table = new_table(tmp_path, "scrapes", folder)
        (tmp_path / "second.toml").write_bytes(table.path.read_bytes())
        capsys.readouterr()
        assert main(["remeasure", str(tmp_path), "--from", str(folder)]) == 3
        assert "skip made: measured from files of its own" in capsys.readouterr().out

    def test_a_cell_within_its_spread_stays(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A third launch at the end of the spread changes nothing; one row beyond it, three cells move."""
        for name, hits in (
            ("first", 1_003),
            ("second", 1_007),
            ("third", 1_003),
            ("beyond", 1_002),
        ):
            counted(tmp_path / name, (hits, 20_011), (7_001, 30_029))
        table = new_table(tmp_path, "scrapes", tmp_path / "first", tmp_path / "second")
        for name, moved in (("third", 0), ("beyond", 3)):
            capsys.readouterr()
            code = main(["remeasure", str(table.path), "--from", str(tmp_path / name), "--json"])
            found = json.loads(capsys.readouterr().out)
            assert code == (1 if moved else 0)
            assert sum(entry["beyond"] for entry in found) == moved
            assert all(entry["new"] == entry["old"] for entry in found if not entry["beyond"])

    def test_counters_that_break_a_law_make_no_table(self, tmp_path: Path) -> None:
        """Fewer misses than rows were added."""
        folder = counted(tmp_path / "scrapes", (10, 10), (10, 10))
        text = (
            (folder / "2-request2.prom")
            .read_text()
            .replace("misses_total 20.0", "misses_total 11.0")
        )
        (folder / "2-request2.prom").write_text(text)
        texts = ("--title", "t", "--source", "s", "--dir", str(tmp_path))
        command = ["table", "new", "made", "--of", "scrapes", "--from", str(folder), *texts]
        assert main(command) == 2


class TestReports:
    """From reports of the gate."""

    def test_hash_seeds_are_repeats(self, tmp_path: Path) -> None:
        """Rows of `cachegate rows --json` that differ in their seed alone are repeats of one row."""
        report = tmp_path / "rows.json"
        rows = [
            {"policy": "4-way", "request": "B2", "seed": seed, "hits": hits, "hit_pct": hits / 10}
            for seed, hits in enumerate((850, 856, 855))
        ]
        report.write_text(json.dumps(rows))
        table = new_table(tmp_path, "reports", report)
        assert (column(table, "hits").repeats, column(table, "hits").spread) == (3, 4)
        assert table.cell("hits", "4-way", "B2") == 854
        assert table.cell("hit_pct", "4-way", "B2") == Decimal("85.367")

    @pytest.mark.parametrize("text", ["{}", "[1]", "[", "[[]]", '[{"hits": 1}]', "[]", ""])
    def test_what_is_no_report_is_refused(self, text: str, tmp_path: Path) -> None:
        """Another shape, no JSON at all, rows without a key, or no row."""
        (tmp_path / "report.json").write_text(text)
        texts = ("--title", "t", "--source", "s", "--dir", str(tmp_path))
        source = str(tmp_path / "report.json")
        assert main(["table", "new", "made", "--of", "reports", "--from", source, *texts]) == 2


class TestChecks:
    """Equations in a table's file."""

    def test_a_moved_cell_breaks_its_equations(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each cell of an exact column, one off: some equation of the table says in which row."""
        folder = counted(tmp_path / "scrapes", (1_003, 20_011, 40_507), (7_001, 30_029, 5_003))
        table = new_table(tmp_path, "scrapes", folder)
        assert broken_checks(table) == []
        text = table.path.read_text(encoding="utf-8")
        for name in ("hits", "misses", "lookups", "added", "resident_rows"):
            cell = f"{name} = {table.cell(name, 'request2')}"
            moved = f"{name} = {int(Fraction(table.cell(name, 'request2'))) + 1}"
            assert text.count(cell) == 1
            table.path.write_text(text.replace(cell, moved), encoding="utf-8")
            assert any("[request2]" in line for line in broken_checks(load(table.path))), name
        capsys.readouterr()
        assert main(["remeasure", str(table.path), "--from", str(folder)]) == 1

    @pytest.mark.parametrize(
        "text",
        ["hits", "hits = ", "hits = a", "hits = hits = hits", "hits = 1 +", "hits = model", "= 1"],
    )
    def test_what_is_no_equation_is_refused(self, text: str) -> None:
        """No equation, an unknown column, a key, or half a sum."""
        columns = (
            Column("model", "name", "key", "names the row"),
            Column("hits", "rows", EXACT, "a count"),
        )
        with pytest.raises(ValueError, match=r"equation|neither"):
            parse_check(text, columns)
