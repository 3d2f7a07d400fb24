"""Does `cachegate remeasure` show what moved, write only that, and refuse where it must?"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from gate.cli import main
from gate.golden.checkout import LOCK, WORKER
from gate.golden.definitions.hits import PROPOSAL_CYCLES
from gate.golden.definitions.traces import FOLDER, budget_of_rounded_cycles
from gate.golden.evidence import gather
from gate.golden.past import history_faults
from gate.golden.remeasured import remeasure
from gate.golden.table_file import load
from properties.scratch_tables import (
    alter_routing,
    checkout,
    commit,
    git,
    scratch_table,
    small_bench,
)
from reference.errors import InputError
from reference.expert_cache import ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from replay.lookups import shape_of
from replay.traces import DECODE, RouteTrace, read_route_trace

HISTORY = """history = [
    { date = 2026-01-02, source = "s", reason = "r", engine = "e", definition = "breakpoints", code = "c", \
changed = { "gptoss/lookups" = [2, 1] }, files = {} },
]"""
"""A measurement that left another number of lookups than stands there."""

SAID = ("--write", "--source", "small runs, recorded again", "--reason", "another routing")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs as they were recorded."""
    return small_bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def other_bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with sound runs of another routing: two runs have changed places."""
    bench = small_bench(tmp_path_factory.mktemp("other"))
    for path in sorted((bench / FOLDER).glob("gptoss.*")):
        twin = path.with_name(path.name.replace("gptoss", "qwen"))
        mine, theirs = path.read_bytes(), twin.read_bytes()
        path.write_bytes(theirs)
        twin.write_bytes(mine)
    return bench


@pytest.fixture(scope="module")
def altered_bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one routing of one trace altered."""
    bench = small_bench(tmp_path_factory.mktemp("altered"))
    alter_routing(bench, "gptoss")
    return bench


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this were no worker of a parallel run, which it may be."""
    monkeypatch.delenv(WORKER, raising=False)


@pytest.fixture
def tables(tmp_path: Path, bench: Path) -> Path:
    """A clean checkout with two tables that the small runs give."""
    for name in ("hit-by-cycles", "breakpoints"):
        scratch_table(name, bench, tmp_path)
    return checkout(tmp_path)


def remeasured(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what was printed, errors too."""
    capsys.readouterr()
    code = main(["remeasure", *arguments])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


class TestTheCheck:
    """Without --write."""

    def test_the_same_runs_give_an_empty_diff(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Every cell comes out as it stands, for a folder of tables and for one; nothing is written."""
        code, told = remeasured(capsys, str(tables), "--from", str(bench))
        assert (code, told) == (
            0,
            "2 tables, 30 cells: 0 differ by more than the tolerance\n",
        )
        assert main(["remeasure", str(tables / "breakpoints.toml"), "--from", str(bench)]) == 0
        assert git(tables, "status", "--porcelain") == ""

    def test_one_altered_routing_shows_exactly_the_cells_it_moves(
        self, tables: Path, altered_bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The reference cache says which cells move and how far; no other cell is shown."""
        table = tables / "hit-by-cycles.toml"
        code, told = remeasured(capsys, str(table), "--from", str(altered_bench), "--json")
        found = {entry["cell"]: entry for entry in json.loads(told)}
        trace = read_route_trace(altered_bench / FOLDER / "gptoss.route.csv")
        expected = {}
        for cycles in PROPOSAL_CYCLES:
            cell = Fraction(load(table).cell("gptoss", Fraction(cycles)))
            moved = abs(reference_hit_pct(trace, cycles) - cell) / Fraction(1, 20)
            name = f"{float(cycles):g}/gptoss"
            assert found[name]["in_tolerances"] == pytest.approx(float(moved))
            if moved > 1:
                expected[name] = moved
        assert expected
        assert {name for name, entry in found.items() if entry["beyond"]} == set(expected)
        assert code == 1

    def test_the_digest_sees_what_the_hit_table_rounds_away(
        self, tables: Path, altered_bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One routing changes the digest of its trace alone."""
        table = str(tables / "breakpoints.toml")
        code, told = remeasured(capsys, table, "--from", str(altered_bench))
        assert code == 1
        assert "gptoss/digest" in told
        assert "gemma" not in told
        assert "qwen" not in told

    def test_a_table_without_its_sources_is_skipped_among_others(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is named, and never counted as measured; alone it is unusable input."""
        text = (tables / "breakpoints.toml").read_text(encoding="utf-8")
        lost = tables / "lost.toml"
        lost.write_text(text.replace('"breakpoints"', '"memory_signal"', 1), encoding="utf-8")
        code, told = remeasured(capsys, str(tables), "--from", str(bench))
        assert (code, told.splitlines()[0]) == (0, "skip lost: nothing for memory_signal")
        assert "2 tables" in told
        assert main(["remeasure", str(lost), "--from", str(bench)]) == 2
        assert main(["remeasure", str(lost), "--from", str(bench / "none")]) == 2

    def test_nothing_measured_is_3(self, tmp_path: Path, tables: Path) -> None:
        """A folder that holds nothing for any table."""
        (tmp_path / "empty").mkdir()
        assert main(["remeasure", str(tables), "--from", str(tmp_path / "empty")]) == 3

    @pytest.mark.parametrize(
        ("added", "told"),
        [
            ("checks = ['lookups = first_touches']", "does not hold"),
            (HISTORY, "was measured as 1, but stands as"),
        ],
    )
    def test_a_broken_check_and_a_cell_changed_by_hand_are_faults(
        self,
        added: str,
        told: str,
        tables: Path,
        bench: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Though every cell comes out: an equation that the new cells break, a history that leads elsewhere."""
        table = tables / "breakpoints.toml"
        text = table.read_text(encoding="utf-8")
        table.write_text(f"{text}{added}\n", encoding="utf-8")
        code, printed = remeasured(capsys, str(table), "--from", str(bench))
        assert (code, "FAIL breakpoints" in printed and told in printed) == (1, True)
        assert ": 0 differ" in printed

    def test_a_row_that_only_one_has_is_a_fault(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Cells are re-measured; rows are not made or dropped on the way."""
        table = tables / "breakpoints.toml"
        lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
        table.write_text("".join(line for line in lines if '"gemma"' not in line), encoding="utf-8")
        code, told = remeasured(capsys, str(table), "--from", str(bench))
        assert code == 1
        assert "FAIL breakpoints [trace=gemma]: the row is measured, but not in the table" in told


@pytest.mark.usefixtures("alone")
class TestWriting:
    """With --write."""

    def test_a_measurement_is_written_recorded_and_idempotent(
        self, tables: Path, other_bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One line changes for the cells of a row, one is added to the history; then nothing more."""
        table = tables / "breakpoints.toml"
        write = (str(table), "--from", str(other_bench), *SAID)
        accepted = accept_all(table, other_bench, capsys)
        code, told = remeasured(capsys, *write, *accepted)
        assert (code, told.splitlines()[-1]) == (
            0,
            f"{len(accepted) // 2} cells of 1 tables written",
        )
        assert git(tables, "diff", "--numstat").split()[:2] == ["5", "2"]
        (record,) = load(table).history
        assert (record.source, record.reason) == (SAID[2], SAID[4])
        assert (record.engine, record.definition) == ("0.19.0", "breakpoints")
        assert sorted(record.files) == [
            f"{FOLDER}/{trace}.route.csv" for trace in ("gemma", "gptoss", "qwen")
        ]
        assert list(history_faults(load(table))) == []
        commit(tables)
        assert remeasured(capsys, *write, *accepted)[0] == 0
        assert git(tables, "status", "--porcelain") == ""

    def test_a_cell_beyond_its_tolerance_must_be_named(
        self, tables: Path, other_bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """All but one are named: nothing is written, and that one is asked for."""
        table = tables / "breakpoints.toml"
        accepted = accept_all(table, other_bench, capsys)
        command = (str(table), "--from", str(other_bench), *SAID, *accepted[2:])
        code, told = remeasured(capsys, *command)
        assert code == 1
        assert f'--accept "breakpoints:{accepted[1]}"' in told
        assert told.endswith("nothing was written\n")
        assert git(tables, "status", "--porcelain") == ""

    def test_an_accepted_name_that_is_no_cell_is_a_slip(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A misspelt cell is refused, and so is a name that several tables have."""
        for name, cells in (("gptoss/digits", 0), ("gptoss/digest", 1)):
            code, told = remeasured(
                capsys, str(tables), "--from", str(bench), *SAID, "--accept", name
            )
            assert code == (0 if cells else 2)
            assert cells or "gptoss/digits names 0 cells" in told

    def test_runs_that_fail_the_audit_are_refused(
        self, tables: Path, altered_bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A trace with an altered routing no longer replays to its own residency column."""
        table = tables / "breakpoints.toml"
        accepted = accept_all(table, altered_bench, capsys)
        code, told = remeasured(capsys, str(table), "--from", str(altered_bench), *SAID, *accepted)
        assert code == 2
        assert "fails the audit: " in told
        assert "law I1 fails" in told
        assert git(tables, "status", "--porcelain") == ""

    @pytest.mark.usefixtures("more_than_quick")
    def test_two_measurements_that_differ_are_none(self, tables: Path, bench: Path) -> None:
        """Other rows than a second process measures: refused; the same rows: the files, by digest."""
        table = load(tables / "breakpoints.toml")
        rows = remeasure(table, bench).rows
        evidence = gather(table, bench, rows)
        assert all(
            sha256((bench / name).read_bytes()).hexdigest() == digest
            for name, digest in evidence.files.items()
        )
        with pytest.raises(InputError, match="measured twice, with two results"):
            gather(table, bench, [{**rows[0], "lookups": 1}, *rows[1:]])

    @pytest.mark.parametrize("lacking", ["--source", "--reason"])
    def test_a_source_and_a_reason_are_demanded(
        self, lacking: str, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without either, or with an empty one, it is wrong usage."""
        at = SAID.index(lacking)
        without = (*SAID[:at], *SAID[at + 2 :])
        for said in (without, (*without, lacking, " ")):
            code, told = remeasured(capsys, str(tables), "--from", str(bench), *said)
            assert (code, f"--write needs a {lacking[2:]}" in told) == (2, True)

    def test_options_of_writing_are_refused_in_the_check(self, tables: Path, bench: Path) -> None:
        """A forgotten --write does not look like a write that changed nothing."""
        for option in ("--source", "--reason", "--accept"):
            assert main(["remeasure", str(tables), "--from", str(bench), option, "x"]) == 2

    def test_a_dirty_tree_is_refused(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A changed file, and one that git does not know."""
        for name in ("breakpoints.toml", "note.txt"):
            with (tables / name).open("a", encoding="utf-8") as file:
                file.write("# changed\n")
            code, told = remeasured(capsys, str(tables), "--from", str(bench), *SAID)
            assert (code, "dirty" in told and name in told) == (2, True)
            commit(tables)

    def test_a_folder_that_is_no_checkout_is_refused(
        self, tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without git there is no diff to review."""
        table = scratch_table("breakpoints", bench, tmp_path)
        code, told = remeasured(capsys, str(table), "--from", str(bench), *SAID)
        assert (code, "no usable git checkout" in told) == (2, True)

    def test_a_second_one_at_work_is_refused(
        self, tables: Path, bench: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """While another process holds the checkout's lock; afterwards it goes on."""
        with (tables / ".git" / LOCK).open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            code, told = remeasured(capsys, str(tables), "--from", str(bench), *SAID)
            assert (code, "another re-measurement is at work" in told) == (2, True)
        assert remeasured(capsys, str(tables), "--from", str(bench), *SAID)[0] == 0


class TestParallelRuns:
    """Under pytest -n."""

    def test_a_worker_must_not_write(
        self,
        tables: Path,
        bench: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """A process that xdist started is refused, whatever it would write."""
        monkeypatch.setenv(WORKER, "gw0")
        code, told = remeasured(capsys, str(tables), "--from", str(bench), *SAID)
        assert (code, "a parallel run (gw0)" in told) == (2, True)

    @pytest.mark.usefixtures("more_than_quick")
    def test_under_two_real_workers_nothing_is_written(
        self, tables: Path, other_bench: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Two tests of a run with -n 2 try to write, and both are refused."""
        folder = tmp_path_factory.mktemp("suite")
        arguments = ["remeasure", str(tables), "--from", str(other_bench), *SAID]
        (folder / "test_write.py").write_text(
            "import pytest\nfrom gate.cli import main\n"
            f"@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n): assert main({arguments!r}) == 2\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout
        assert git(tables, "status", "--porcelain") == ""


def accept_all(table: Path, bench: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, ...]:
    """--accept for every cell that moves by more than its tolerance."""
    _, told = remeasured(capsys, str(table), "--from", str(bench), "--json")
    moving = [entry["cell"] for entry in json.loads(told) if entry["beyond"]]
    assert moving
    return tuple(word for cell in moving for word in ("--accept", cell))


def reference_hit_pct(trace: RouteTrace, cycles: Fraction) -> Fraction:
    """The decode hit rate by the reference cache, loaded batch by batch."""
    budget = budget_of_rounded_cycles(shape_of(trace), cycles)
    cache = ExpertCache(ExpertConfig(shape_of(trace), budget, rules=EXACT_BYTES))
    for batch in trace.batches:
        experts = trace.expert[batch.first_row : batch.first_row + batch.row_count]
        cache.load(batch.layer, experts, decode=batch.phase == DECODE)
    return Fraction(100 * cache.counters.decode_hits, cache.counters.decode_lookups)
