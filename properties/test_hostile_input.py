"""Does every command answer hostile files, names, numbers and streams at once, with an error that names the cure?

A test of something that used to take hours has no clock: it ends, or it does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fixtures.damaged_files import written
from fixtures.recorded_runs import RUNS
from gate import cli
from gate.audit.facts import printed_budget
from gate.audit.runs import collect
from gate.cli import main
from gate.report.model import from_file
from gate.report.write import check_names
from gate.rows.emulation import RowsRow
from gate.rows.plot import _points
from gate.show import print_json
from reference.errors import InputError, visible
from replay.lines import MAX_COLUMNS, preamble_pairs
from replay.recordings import read_metrics
from replay.row_traces import MAX_GATHER_ROWS, read_row_trace
from replay.trace_values import MAX_SKIPPED_LINES
from replay.traces import read_route_trace

TRACE = str(RUNS / "tiny-c2.route.csv")
ROUTE_HEADER = "turn,phase,step,layer,slot,expert,residency,expert_bytes"
ROUTE = f"""\
# route_trace v1
# model=m n_layer=2 n_expert=4 n_expert_used=2
# layer=0 expert_bytes=8
# layer=1 expert_bytes=8
{ROUTE_HEADER}
0,0,0,0,0,1,0,8
0,0,0,1,0,1,0,8
"""
METRICS = "step,steps,wall_ms,io_ms,compute_ms,read_bytes,cache_hit_pct\n1,1,3.5,1.0,2.5,7,4.00\n"
LONG = 900_000
"""Characters: just below what a line may have."""

Capsys = pytest.CaptureFixture[str]


def refused(read: Callable[[Path], object], path: Path) -> InputError:
    """The error that a reader answers a file with."""
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.source == str(path)
    return caught.value


class TestLines:
    """Lines that cost their square, and lines that cost more memory than they have bytes."""

    def test_a_header_of_very_many_columns(self, tmp_path: Path) -> None:
        """Both readers refuse it by its line: a list a column and turn would eat the memory."""
        many = ",a" * (LONG // 2)
        trace = written(tmp_path, ROUTE.replace(ROUTE_HEADER, ROUTE_HEADER + many))
        assert refused(read_route_trace, trace).line == 5
        table = written(tmp_path, METRICS.replace("\n", many + "\n", 1) + "# summary a=1\n" * 9)
        assert f"more than {MAX_COLUMNS} columns" in refused(read_metrics, table).problem

    def test_a_model_path_of_very_many_words(self, tmp_path: Path) -> None:
        """Where the path ends is found in one walk from the end of the line."""
        words = "a b=1 " * (LONG // 6)
        assert preamble_pairs(f"# model=/m {words}n_layer=2 n_ctx=4") == {
            "model": f"/m {words}".rstrip(),
            "n_layer": "2",
            "n_ctx": "4",
        }

    def test_a_summary_of_one_long_word(self, tmp_path: Path) -> None:
        """It has no pair, and is refused as such."""
        path = written(tmp_path, f"{METRICS}# summary {'a' * LONG}\n")
        assert refused(read_metrics, path).line == 3

    def test_a_trace_of_empty_lines(self, tmp_path: Path) -> None:
        """Each costs more memory than its byte, so there is an end to them."""
        path = written(tmp_path, ROUTE + "\n" * (MAX_SKIPPED_LINES + 1))
        assert "too many" in refused(read_route_trace, path).problem

    def test_a_preamble_that_contradicts_itself(self, tmp_path: Path) -> None:
        """The same size twice is harmless, another one is not."""
        again = ROUTE.replace("# layer=0", "# n_layer=2\n# layer=0")
        assert read_route_trace(written(tmp_path, again)).layer_count == 2
        other = written(tmp_path, again.replace("# n_layer=2", "# n_layer=3"))
        assert "n_layer=3, but n_layer=2 above" in refused(read_route_trace, other).problem


class TestFiguresOfARun:
    """Numbers that no law expects, in a run that is judged all the same."""

    @pytest.mark.parametrize("text", ["1e9999999999", "1e999", "nan", "inf", "1_000", "１", "-1.0"])
    def test_a_budget_that_is_none(self, text: str) -> None:
        """No budget is recorded then; the first of them would fill the memory with its digits."""
        assert printed_budget(text) is None

    @pytest.mark.parametrize("said", ["1" * 4000, "-1e400", "true", '"4.0"'])
    def test_a_hit_rate_in_the_output(self, said: str, tmp_path: Path, capsys: Capsys) -> None:
        """What no float holds differs from the recorded 4.00; what is no number is not compared."""
        (tmp_path / "a.csv").write_text(METRICS + "# summary tokens=1\n")
        progress = f'BMOE_PROGRESS {{"cache_hit_pct":{said}}}'
        (tmp_path / "a.stdout").write_text(
            f'BMOE_BEGIN {{"id":1}}\n{progress}\nBMOE_DONE {{"tokens":1}}\n'
        )
        assert main(["audit", str(tmp_path)]) == (0 if said[0] == '"' else 1)
        assert ("PROGRESS has" in capsys.readouterr().out) == (said[0] != '"')

    def test_a_time_that_is_no_number(self, tmp_path: Path, capsys: Capsys) -> None:
        """It is the sum of no parts and has no mean: I4 fails where every comparison with it is false."""
        path = written(tmp_path, METRICS.replace("3.5", "nan") + "# summary tokens=1 s/tok=0.004\n")
        assert main(["audit", str(path)]) == 1
        assert "the rows' mean is nan" in capsys.readouterr().out

    def test_what_steers_a_terminal_is_shown_as_text(self, tmp_path: Path, capsys: Capsys) -> None:
        """In a setting of the preamble, and in the name of a run."""
        text = f"# bmoe_metrics v2\n# spec=\x1b[31mred\n{METRICS}# summary tokens=1\n"
        assert main(["audit", str(written(tmp_path, text, "bad\n\x1b[2J.csv"))]) in (0, 3)
        printed = capsys.readouterr().out
        assert "\x1b" not in printed
        assert r"spec=\x1b[31mred" in printed


@pytest.fixture
def deep_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, int]]:
    """A folder with a run far below it, and how far. It is taken down again: rmtree recurses as well."""
    depth = sys.getrecursionlimit() + 200
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    Path("a.csv").write_text(METRICS)
    try:
        yield tmp_path, depth
    finally:
        Path("a.csv").unlink()
        for _ in range(depth):
            os.chdir("..")
            Path("d").rmdir()


class TestFolders:
    """Folders of runs."""

    def test_a_folder_deeper_than_python_recurses(self, deep_folder: tuple[Path, int]) -> None:
        """Its run is found all the same."""
        folder, depth = deep_folder
        (run,) = collect([str(folder)]).runs
        assert run.name.count("/") == depth

    def test_loops_pipes_and_broken_links(self, tmp_path: Path) -> None:
        """None is followed or opened; each is told as passed over."""
        written(tmp_path, METRICS, "a.csv")
        (tmp_path / "loop").symlink_to(tmp_path)
        (tmp_path / "self.csv").symlink_to("self.csv")
        (tmp_path / "gone.csv").symlink_to("nothing")
        os.mkfifo(tmp_path / "pipe.route.csv")
        found = collect([str(tmp_path)])
        assert [run.name for run in found.runs] == ["a"]
        assert {name for name, _ in found.passed_over} == {
            *("loop", "self.csv", "gone.csv", "pipe.route.csv")
        }
        assert {reason.partition(":")[0] for _, reason in found.passed_over} == {
            "not a regular file"
        }

    def test_a_folder_that_may_not_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is an error, wherever it lies: what is in it would be missing without a word."""

        def denied(path: Path) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(os, "scandir", denied)
        with pytest.raises(InputError, match="Permission denied"):
            collect([str(tmp_path)])

    @pytest.mark.parametrize("command", ["audit", "metrics", "curve", "replay", "rows"])
    def test_a_name_that_is_too_long(self, command: str, capsys: Capsys) -> None:
        """Exit code 2, as for any file that is not there."""
        assert main([command, "x" * 5000]) == 2
        assert "File name too long" in capsys.readouterr().err


class TestArrays:
    """Traces of row ids."""

    def test_a_gather_beyond_all_bounds(self, tmp_path: Path) -> None:
        """One line of 2 Gi ids in a file without blocks: refused by its header, not read."""
        path = tmp_path / "wide.npy"
        np.lib.format.open_memmap(path, mode="w+", dtype=np.int8, shape=(1, 2 << 30))
        problem = refused(lambda p: list(read_row_trace(str(p), 1)), path).problem
        assert problem == f"holds a gather of {2 << 30} rows"
        assert MAX_GATHER_ROWS < 2 << 30

    def test_a_parquet_file_with_a_column_twice(self, tmp_path: Path) -> None:
        """What the library raises is told as a file that cannot be read."""
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        table = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["row", "row"])
        parquet.write_table(table, tmp_path / "twice.parquet")
        fault = refused(lambda p: list(read_row_trace(str(p), 1)), tmp_path / "twice.parquet")
        assert "cannot be read" in fault.problem

    def test_one_file_as_two_requests_is_two_points(self) -> None:
        """Replaying a trace twice shows the warm cache: the picture must not average both."""
        empty = dict.fromkeys(("expected_fill_pct", "full_sets_pct"), 0.0)
        counts = dict.fromkeys(("lookups", "hits", "added", "evictions", "refusals"), 0)
        rows = [
            RowsRow("lru", seed, 1, "c", 1, "a.txt", hit_pct=hit, fill_pct=0.0, **counts, **empty)
            for seed in (0, 1)
            for hit in (0.0 + seed, 90.0 + seed)
        ]
        assert _points(rows, 2, "hit_pct") == ([0, 1], [0.5, 90.5])


@pytest.mark.parametrize(
    "arguments",
    [
        ("curve", TRACE, "--turn", "9" * 5000),
        ("curve", TRACE, "--turn", "１"),
        ("curve", TRACE, "--cycles", "1_000"),
        ("curve", TRACE, "--cycles", "１"),
        ("curve", TRACE, "--cycles", ""),
        ("curve", TRACE, "--cycles", "0e999999999"),
        ("curve", TRACE, "--budget-mib", ","),
        ("curve", TRACE, "--plot", ""),
        ("rows", TRACE, "--us-per-miss", "6.4,7"),
        ("rows", TRACE, "--cache-size", "1e18TiB"),
        ("rows", TRACE, "--plot", "x.pdf"),
        ("metrics", TRACE, TRACE, "--interval", "1,2"),
        ("check", "-n", "-1"),
        ("check", "-n", "many"),
        ("check", "--bench-data", "/nowhere"),
    ],
    ids=lambda arguments: " ".join((arguments[0], *arguments[-2:]))[:40],
)
def test_an_argument_that_cannot_be_meant(arguments: tuple[str, ...], capsys: Capsys) -> None:
    """Exit code 2, a short message that names the option, and nothing on standard output."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"cachegate: {arguments[-2]}: ")
    assert len(printed.err) < 400


class TestReports:
    """Reports that are read, and reports that are to be written."""

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"format": 1', "9" * 5000, '{"a": NaN}'])
    def test_no_report(self, text: str, tmp_path: Path) -> None:
        """Whatever JSON it is, or none."""
        assert (
            "not a report" in refused(lambda p: from_file(str(p)), written(tmp_path, text)).problem
        )

    def test_a_pipe_and_a_device(self, tmp_path: Path, capsys: Capsys) -> None:
        """Neither is waited for, and the device that never ends is not read."""
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", Path("/dev/zero")):
            assert main(["compare", str(path), str(path)]) == 2
            assert "is not a regular file" in capsys.readouterr().err

    def test_a_folder_that_cannot_hold_a_report_costs_no_run(self, tmp_path: Path) -> None:
        """It is asked for before anything runs, and nothing is left in one that can."""
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="--report"):
            check_names([str(tmp_path / "file" / "r.json")])
        check_names([str(tmp_path / "new" / "r.json")])
        assert list((tmp_path / "new").iterdir()) == []

    def test_a_page_that_cannot_be_written_prints_no_step(
        self, tmp_path: Path, capsys: Capsys
    ) -> None:
        """Exit code 2, the reason, and an empty standard output."""
        program = written(tmp_path, "expert-cache v1 entry_bytes=1\nbegin\n", "a.prog")
        assert main(["replay", str(program), "--html", str(tmp_path / "no" / "a.html")]) == 2
        printed = capsys.readouterr()
        assert (printed.out, "--html: cannot write" in printed.err) == ("", True)


def test_a_list_is_printed_as_json_writes_it(capsys: Capsys) -> None:
    """Item by item, and equal to the last byte."""
    for items in ([], [{}], [1, {"a": [1, {"b": "x\ny"}], "c": {}}, []]):
        print_json(iter(items))
        assert capsys.readouterr().out == json.dumps(items, indent=1) + "\n"


@pytest.mark.parametrize(
    "text, shown",
    [("plain ü日", "plain ü日"), ("a\nb\x1b[2J", r"a\nb\x1b[2J"), ("\udcff", r"\udcff")],
)
def test_every_name_is_shown_on_one_line(text: str, shown: str) -> None:
    """What would steer a terminal, or is no text at all, is escaped; the rest stays."""
    assert visible(text) == shown
    assert str(InputError("is bad", source=text)) == f"{shown}: is bad"


class TestStreams:
    """What standard output and error are connected to."""

    def run(self, *arguments: str, shell: str = "", **environment: str) -> tuple[int, bytes, bytes]:
        """Exit code, output and errors of the command in a process of its own."""
        command = [sys.executable, "-m", "gate.cli", *arguments]
        script = f'"$0" "$@" {shell}; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", script, *command],
            env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
            cwd=Path(cli.__file__).parent.parent,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    @pytest.mark.parametrize("form", ["--json", "--csv", "--scope=all"])
    @pytest.mark.parametrize(
        "shell, code, told",
        [
            ("> /dev/full", 2, b"cachegate: No space left on device\n"),
            ("| true", 141, b""),
            (">&-", 2, b"cachegate: standard output is closed\n"),
            ("2>&-", 0, b""),
        ],
    )
    def test_an_output_that_takes_nothing(
        self, shell: str, code: int, told: bytes, form: str
    ) -> None:
        """A full disk, a reader that is gone, no output at all: an exit code, one line, no traceback."""
        ended, _, errors = self.run("curve", TRACE, "--all", form, shell=shell)
        assert (ended, errors.startswith(told), b"Traceback" in errors) == (code, True, False)
        assert bool(errors) == bool(told)

    def test_an_output_in_another_encoding(self, tmp_path: Path) -> None:
        """What it lacks is escaped: a name never costs the result."""
        path = written(tmp_path, ROUTE, "ü日.route.csv")
        code, output, errors = self.run("curve", str(path), PYTHONIOENCODING="latin-1")
        assert (code, errors) == (0, b"")
        assert b"\xfc\\u65e5.route.csv" in output

    def test_a_name_that_is_no_text(self, tmp_path: Path) -> None:
        """Bytes that are no UTF-8 name a file as well as others."""
        path = os.fsencode(tmp_path) + b"/\xff.route.csv"
        with open(path, "w") as file:  # noqa: PTH123 - a path of bytes
            file.write(ROUTE)
        code, output, errors = self.run("curve", os.fsdecode(path))
        assert (code, errors) == (0, b"")
        assert rb"\udcff.route.csv" in output


def test_a_command_can_be_interrupted_while_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Loading numpy takes a while: ctrl-C ends it as it ends the work itself."""

    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", interrupted)
    assert main(["rows"]) == 130
    assert capsys.readouterr() == ("", "cachegate: interrupted\n")
