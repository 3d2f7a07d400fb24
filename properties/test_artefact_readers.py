"""Do the readers of a run's CSV and output read what was written, and refuse what was not, by line?"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.damaged_files import reads_or_refuses, written
from reference.errors import InputError
from replay.artefacts import Kind, classify, read_sidecar
from replay.lines import LINE_LIMIT_BYTES
from replay.recordings import read_metrics
from replay.stdout import read_stdout
from replay.traces import read_route_trace

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"
METRICS = "step,steps,wall_ms,io_ms,compute_ms,read_bytes,cache_hit_pct\n1,2,3.5,1.0,2.5,7,-1.00\n"


class TestMemory:
    """Hostile files cost a bounded amount of memory."""

    @pytest.mark.parametrize("reader", [read_route_trace, read_metrics, read_stdout])
    @pytest.mark.parametrize("head", ["", METRICS], ids=["no head", "a sound head"])
    def test_a_line_of_2_gib(
        self, reader: Callable[[Path], object], head: str, tmp_path: Path
    ) -> None:
        """A line that does not end within the limit is refused having read little more than that."""
        path = tmp_path / "long.csv"
        with path.open("wb") as stream:
            stream.write(head.encode())
            stream.write(b"1" * (LINE_LIMIT_BYTES * 2))
            stream.truncate(2 << 30)
        tracemalloc.start()
        try:
            with pytest.raises(InputError) as caught:
                reader(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert caught.value.line is not None
        assert peak < 64 << 20

    def test_what_is_no_regular_file_is_refused_at_once(self, tmp_path: Path) -> None:
        """A directory, a missing file and a pipe that nobody writes to: none of them hangs."""
        os.mkfifo(tmp_path / "pipe")
        for path, problem in (
            (tmp_path, "a directory"),
            (tmp_path / "none", "No such file"),
            (tmp_path / "pipe", "not a regular file"),
        ):
            for reader in (read_route_trace, read_metrics, read_stdout):
                with pytest.raises(InputError, match=problem):
                    reader(path)


class TestMetrics:
    """Per-token CSVs."""

    def test_every_turn_has_its_rows_and_its_summary(self) -> None:
        """Three turns of a session: rows by the turn column, one summary each."""
        file = read_metrics(RUNS / "session-mid-c6.csv")
        assert (file.version, file.preamble["model"]) == ("v2", "mid.gguf")
        assert [(t.turn, t.row_count, t.total_integer("evictions")) for t in file.turns] == [
            (0, 24, 434),
            (1, 24, 949),
            (2, 24, 1436),
        ]
        assert file.turns[2].columns["cache_hit_pct"][-1] == "46.75"
        assert file.turns[2].total_number("cache_hit_pct") == 46.8

    def test_old_column_sets_are_read_by_name(self, tmp_path: Path) -> None:
        """Without preamble and turn column, summaries tell the turns apart; a model path has spaces."""
        row = METRICS.partition("\n")[2]
        file = read_metrics(
            written(tmp_path, f"{METRICS}# summary tokens=1 s/tok=0.004\n{row}# summary tokens=9\n")
        )
        assert [(t.turn, t.row_count, t.total("tokens")) for t in file.turns] == [
            (0, 1, "1"),
            (1, 1, "9"),
        ]
        assert file.turns[0].total("s/tok") == "0.004"
        spaced = (
            "# bmoe_metrics v1\n# model=/my models/a=b.gguf arch=qwen3moe n_layer=2\n" + METRICS
        )
        assert read_metrics(written(tmp_path, spaced)).preamble["model"] == "/my models/a=b.gguf"

    def test_a_generation_that_failed_has_no_summary(self, tmp_path: Path) -> None:
        """A step that falls back begins the next generation, also without a summary between."""
        row = METRICS.partition("\n")[2]
        file = read_metrics(written(tmp_path, f"{METRICS}{row}# summary tokens=1\n"))
        assert [(t.turn, t.summary is None) for t in file.turns] == [(0, True), (0, False)]

    @pytest.mark.parametrize(
        "find,put,line,problem",
        [
            ("7,", "seven,", 2, "read_bytes is `seven`"),
            ("7,", "-7,", 2, "read_bytes is `-7`"),
            ("3.5", "3.5.5", 2, "wall_ms is `3.5.5`"),
            (",-1.00", "", 2, "a row of 6 fields"),
            ("read_bytes", "bytes", 1, "no column read_bytes"),
            ("io_ms", "wall_ms", 1, "no column io_ms"),
            ("cache_hit_pct", "step", 1, "step stands twice"),
            ("\n1", "\n# bmoe_metrics v9\n1", 2, "bmoe_metrics v9"),
            ("\n1", "\n# summary\n1", 2, "a summary without"),
        ],
    )
    def test_bad_rows_are_named_by_line(
        self, find: str, put: str, line: int, problem: str, tmp_path: Path
    ) -> None:
        """One damaged place: the error names it."""
        path = written(tmp_path, METRICS.replace(find, put, 1))
        with pytest.raises(InputError) as caught:
            read_metrics(path)
        assert (caught.value.line, caught.value.source) == (line, str(path))
        assert problem in caught.value.problem

    @given(junk=st.binary(max_size=30), at=st.integers(0, len(METRICS)), cut=st.integers(0, 30))
    def test_damage_is_refused_or_harmless(
        self, junk: bytes, at: int, cut: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Whatever stands in the file, the answer is a metrics file or an InputError."""
        content = METRICS.encode()[:at] + junk + METRICS.encode()[at + cut :]
        path = written(tmp_path_factory.mktemp("metrics"), content)
        assert reads_or_refuses(read_metrics, path)


class TestStdout:
    """What runs print, in raw bytes."""

    def test_a_one_shot_run(self) -> None:
        """The answer is the bytes between the marks, and the closing figures are read."""
        out = read_stdout(RUNS / "tiny-c2.stdout")
        assert out.answer is not None
        assert len(out.answer) == int(out.figures["tokens"]) == len(out.requests[0].progress) == 32
        assert (out.figures["hit_pct"], out.figures["evictions"]) == ("14.2", "232")
        with pytest.raises(UnicodeDecodeError):
            out.answer.decode()

    def test_a_session_with_a_cancel(self) -> None:
        """Requests carry their ids, and the cancelled one says so."""
        out = read_stdout(RUNS / "cancel-in-decode-mid-c6.stdout")
        assert out.is_session
        assert [(r.id, r.cancelled, len(r.progress)) for r in out.requests] == [
            (1, True, 5),
            (2, False, 16),
        ]

    @pytest.mark.parametrize("body", ["{", "[1]", "1" * 5000, "[" * 100_000, '{"a":\udcff}'])
    def test_a_damaged_record_is_named_by_line(self, body: str, tmp_path: Path) -> None:
        """A protocol line that is no JSON object is an error; other lines may be anything."""
        path = written(
            tmp_path, b"\xff\xfe noise\nBMOE_DONE " + body.encode("utf-8", "surrogateescape")
        )
        with pytest.raises(InputError) as caught:
            read_stdout(path)
        assert caught.value.line == 2

    @given(junk=st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(
        self, junk: bytes, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Model output is any bytes at all."""
        content = b"BMOE_BEGIN {}\n=== answer ===\n" + junk + b"\n=== perf ===\n"
        path = written(tmp_path_factory.mktemp("stdout"), content)
        assert reads_or_refuses(read_stdout, path)


class TestKinds:
    """Files are told apart by their first lines."""

    def test_both_meanings_of_metrics(self, tmp_path: Path) -> None:
        """A `.metrics` file is device figures in one campaign and a per-token CSV in another."""
        figures, rows = tmp_path / "a.metrics", tmp_path / "b.metrics"
        figures.write_text("peak_rss_kb=6086860\nbatt_temp_max_dC=-1\n")
        rows.write_text(METRICS)
        assert (classify(figures).kind, classify(rows).kind) == (Kind.SIDECAR, Kind.METRICS)
        assert read_sidecar(figures) == {"peak_rss_kb": 6086860, "batt_temp_max_dC": -1}

    def test_tables_that_are_no_runs_are_passed_over_by_reason(self, tmp_path: Path) -> None:
        """A table of hit rates by budget is no run, and is told so."""
        table = tmp_path / "curve.csv"
        table.write_text("budget_mib,policy,hit_pct_cum,hit_pct_decode,read_mib\n250,lru,0,0,1\n")
        kind, reason = classify(table)
        assert kind is Kind.OTHER
        assert "hit rates by budget" in reason
