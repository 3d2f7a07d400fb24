"""Does `cachegate audit` fail a run with one changed cell, by the law that the cell breaks?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.recorded_runs import copy_run, edit_cell, edit_summary, replace_in
from gate.cli import main
from regressions.audit_report import audit, details, verdicts


def flip(cell: str) -> str:
    """Hit to miss, miss to hit."""
    return "0" if cell == "1" else "1"


def more(cell: str) -> str:
    """One more."""
    return str(int(cell) + 1)


def less(cell: str) -> str:
    """One less."""
    return str(int(cell) - 1)


def more_pct(cell: str) -> str:
    """One unit of the second decimal more."""
    return f"{float(cell) + 0.01:.2f}"


def tenfold(cell: str) -> str:
    """Ten times as much, with the same decimals."""
    return f"{float(cell) * 10:.{len(cell.partition('.')[2])}f}"


CORRUPTIONS: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "I1 residency": (
        "I1",
        "tiny-c2",
        lambda run: edit_cell(run, ".route.csv", 300, "residency", flip),
    ),
    "I1 bytes": (
        "I1",
        "tiny-c2",
        lambda run: edit_cell(run, ".route.csv", 0, "expert_bytes", less),
    ),
    "I1 cache off": (
        "I1",
        "tiny-c0",
        lambda run: edit_cell(run, ".route.csv", 9, "residency", flip),
    ),
    "I2 row": ("I2", "tiny-c2", lambda run: edit_cell(run, ".csv", 20, "cache_hit_pct", more_pct)),
    "I2 later turn": (
        "I2",
        "session-mid-c6",
        lambda run: edit_cell(run, ".csv", 60, "cache_hit_pct", more_pct),
    ),
    "I2 resident": ("I2", "tiny-c2", lambda run: edit_summary(run, "cache_resident_MiB", "1.8")),
    "I3 less": ("I3", "tiny-c2", lambda run: edit_cell(run, ".csv", 5, "read_bytes", less)),
    "I3 more": ("I3", "mid-c6-ubatch8", lambda run: edit_cell(run, ".csv", 5, "read_bytes", more)),
    "I4 sum": ("I4", "tiny-c2", lambda run: edit_summary(run, "read_MiB", "40.6")),
    "I4 tokens": ("I4", "tiny-c2", lambda run: edit_summary(run, "tokens", "33")),
    "I4 part of a row": ("I4", "tiny-c2", lambda run: edit_cell(run, ".csv", 3, "io_ms", tenfold)),
    "I4 output": (
        "I4",
        "tiny-c2",
        lambda run: replace_in(run, ".stdout", b"14.2% hit", b"14.3% hit"),
    ),
    "I4 protocol": (
        "I4",
        "session-mid-c6",
        lambda run: replace_in(run, ".stdout", b'"read_mib":33.7', b'"read_mib":33.8'),
    ),
    "I5 row": ("I5", "tiny-c2", lambda run: edit_cell(run, ".csv", 7, "cache_budget_mib", tenfold)),
    "I5 preamble": (
        "I5",
        "tiny-c2",
        lambda run: replace_in(run, ".csv", b"cache_mb=2", b"cache_mb=3"),
    ),
    "I5 resident": ("I5", "tiny-c2", lambda run: edit_summary(run, "cache_resident_MiB", "2.9")),
    "I5 resize": ("I5", "tiny-c2", lambda run: edit_summary(run, "cache_resizes", "1")),
    "I6 more": ("I6", "tiny-c2", lambda run: edit_cell(run, ".csv", 31, "read_bytes", more)),
    "I6 less": ("I6", "tiny-c0", lambda run: edit_cell(run, ".csv", 31, "read_bytes", less)),
    "I7 rate": ("I7", "tiny-c2", lambda run: edit_cell(run, ".csv", 20, "cache_hit_pct", more_pct)),
    "I9 token": ("I9", "tiny-c2", lambda run: edit_summary(run, "token_demand_MiB", "1.6")),
    "I9 layer": ("I9", "tiny-c2", lambda run: edit_summary(run, "layer_demand_MiB", "0.5")),
    "I10 evictions": ("I10", "tiny-c2", lambda run: edit_summary(run, "evictions", "233")),
    "I10 re-reads": ("I10", "tiny-c2", lambda run: edit_summary(run, "rereads", "209")),
    "I11 below": (
        "I11",
        "tiny-c1",
        lambda run: edit_cell(run, ".route.csv", 500, "residency", flip),
    ),
    "I12 faults": ("I12", "tiny-c2", lambda run: edit_cell(run, ".csv", 0, "majflt_mib", more_pct)),
    "I12 free": ("I12", "tiny-c2", lambda run: edit_cell(run, ".csv", 0, "mem_free_mib", tenfold)),
    "I13": ("I13", "tiny-c2", lambda run: edit_summary(run, "experts_routed", "256")),
}


class TestCorruptedRuns:
    """Runs that were right, with one cell changed."""

    @pytest.mark.parametrize("name", sorted(CORRUPTIONS))
    def test_one_cell_fails_its_law(self, name: str, tmp_path: Path) -> None:
        """The law fails on the changed run, passes on the original, and the exit code says so."""
        law, run, corrupt = CORRUPTIONS[name]
        path = copy_run(run, tmp_path)
        assert audit(tmp_path)[0] == 0
        assert verdicts(audit(tmp_path)[1], run)[law] == "pass"
        corrupt(path)
        code, report = audit(tmp_path)
        assert law in {fault for _, fault in details(report, "fail")}
        assert code == 1

    def test_a_repeated_expert_that_misses_fails_the_cliff(self, tmp_path: Path) -> None:
        """I11 from one cycle up: whatever repeated row is made a miss, the law fails."""
        path = copy_run("tiny-c2", tmp_path)
        lines = path.with_name("tiny-c2.route.csv").read_text().splitlines()
        rows = [line.split(",") for line in lines if line[0].isdigit()]
        used = {(row[2], row[3], row[5]) for row in rows if row[1] == "1"}
        again = next(
            at
            for at, row in enumerate(rows)
            if row[1] == "1" and (str(int(row[2]) - 1), row[3], row[5]) in used
        )
        edit_cell(path, ".route.csv", again, "residency", flip)
        assert verdicts(audit(tmp_path)[1], "tiny-c2")["I11"] == "fail"

    def test_twins_that_differ_fail(self, tmp_path: Path) -> None:
        """I8: of three twins the odd one out fails, in hits or in reads; the others pass."""
        for name in ("a", "b", "c"):
            copy_run("tiny-c2", tmp_path, name)
        assert {verdicts(audit(tmp_path)[1], name)["I8"] for name in ("a", "b", "c")} == {"pass"}
        for column, change in (("cache_hit_pct", more_pct), ("read_bytes", more)):
            edit_cell(tmp_path / "b", ".csv", 12, column, change)
            report = audit(tmp_path)[1]
            found = [verdicts(report, name)["I8"] for name in ("a", "b", "c")]
            assert found == ["pass", "fail", "pass"]
            copy_run("tiny-c2", tmp_path, "b")

    def test_an_output_that_depends_on_the_cache_fails(self, tmp_path: Path) -> None:
        """One changed byte of an answer fails the law of outputs on that run."""
        for run in ("tiny-resident", "tiny-c0", "tiny-c1", "tiny-c2"):
            copy_run(run, tmp_path)
        out = tmp_path / "tiny-c1.stdout"
        head, mark, tail = out.read_bytes().partition(b"\n=== perf ===")
        out.write_bytes(head[:-1] + b"?" + mark + tail)
        code, report = audit(tmp_path)
        assert (code, set(details(report, "fail"))) == (1, {("tiny-c1", "output")})

    def test_another_prompt_is_no_twin(self, tmp_path: Path) -> None:
        """Without traces, runs that differ from the first token on prove nothing: unknown, not fail."""
        for name in ("a", "b"):
            copy_run("tiny-c2", tmp_path, name)
            (tmp_path / f"{name}.route.csv").unlink()
        for row in range(32):
            edit_cell(tmp_path / "b", ".csv", row, "cache_hit_pct", more_pct)
        assert verdicts(audit(tmp_path)[1], "b")["I8"] == "unknown"

    def test_a_failure_is_told_with_its_law_and_a_command(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What an engineer sees: law, sentence, run, line, expected and got, how to see it again."""
        path = copy_run("tiny-c2", tmp_path)
        edit_cell(path, ".csv", 20, "cache_hit_pct", more_pct)
        assert main(["audit", str(tmp_path)]) == 1
        told = capsys.readouterr().out.partition("\nFAIL I2")[2].splitlines()
        assert told[0] == ": the replayed hit rate is the printed one at every token"
        assert told[2].strip().startswith("line 27: cache_hit_pct ")
        assert told[3].strip() == f"again: cachegate audit {path}.csv"

    @given(
        at=st.floats(0, 1, exclude_max=True),
        junk=st.binary(max_size=8),
        suffix=st.sampled_from((".csv", ".route.csv", ".stdout")),
    )
    def test_no_damage_crashes_the_audit(
        self, at: float, junk: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Whatever stands in one place of one file, the command ends with one of its exit codes."""
        path = copy_run("tiny-c2", tmp_path_factory.mktemp("damaged"))
        file = path.with_name(path.name + suffix)
        data = file.read_bytes()
        place = int(at * len(data))
        file.write_bytes(data[:place] + junk + data[place + len(junk) :])
        assert main(["audit", str(path.parent)]) in {0, 1, 2, 3}
