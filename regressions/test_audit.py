"""Does `cachegate audit` pass what is right, and say what it cannot know?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures.recorded_runs import RUNS, copy_run, edit_cell, edit_summary, replace_in
from gate.audit.laws import LAW_IDS
from gate.cli import main
from regressions.audit_report import audit, check_manifest, details, verdicts


class TestRecordedRuns:
    """Runs that are right."""

    def test_committed_runs_replay_to_their_manifest(self) -> None:
        """Every integer of every turn, sessions and a prefill in several graphs included."""
        code, report = audit(RUNS)
        assert check_manifest(RUNS, report) == 7
        assert code == 0
        assert details(report, "fail") == {}

    def test_every_turn_has_every_law_once(self) -> None:
        """The report lists all laws of all turns, in one order."""
        for entry in audit(RUNS)[1]:
            assert tuple(law["law"] for law in entry["laws"]) == LAW_IDS

    def test_outputs_are_the_same_with_any_cache_and_none(self) -> None:
        """Resident, cache off, below and above one cycle: one answer."""
        report = audit(RUNS)[1]
        for run in ("tiny-resident", "tiny-c0", "tiny-c1", "tiny-c2"):
            assert verdicts(report, run)["output"] == "pass"

    def test_a_file_stands_for_its_run(self) -> None:
        """Naming one file of a run audits the run with all its files."""
        code, report = audit(RUNS / "tiny-c2.csv", RUNS / "tiny-c2.route.csv")
        assert (code, [entry["run"] for entry in report]) == (0, ["tiny-c2"])
        assert verdicts(report, "tiny-c2")["I1"] == "pass"

    def test_all_engine_runs(self, engine_runs: Path) -> None:
        """All recorded runs of the tiny models, where they are at hand."""
        code, report = audit(engine_runs)
        assert check_manifest(engine_runs, report) == 22
        assert (code, details(report, "fail")) == (0, {})

    def test_bench_data_shows_the_known_exceptions_and_no_other(self, bench_data: Path) -> None:
        """102 runs of real models: no failure; what is unknown is a mode, or a named exception."""
        code, report = audit(bench_data)
        assert (code, len(report), details(report, "fail")) == (0, 102, {})
        unknown = {key: text.partition(":")[0] for key, text in details(report, "unknown").items()}
        named = {
            key: name for key, name in unknown.items() if name not in {"prefetch", "drop", "policy"}
        }
        assert named == {
            **{
                (f"2026-07-12/{model}_l4_ov", "I8"): "overlap-before-pr22"
                for model in ("qwen_c4000", "gemma_c2000")
            },
            **{
                (f"2026-07-20-sidecar/{pair}-b{n}", "I8"): "sidecar-layout"
                for pair in ("cell", "c2", "qw")
                for n in (1, 2)
            },
            **{
                (f"2026-07-22-drop-cold-experts/bmoe-20260722-{at}", "I13"): "drop-one-decode-short"
                for at in (134209, 140454, 142300)
            },
        }
        assert unknown["2026-07-20-cache-replay/pf1_k2", "I6"] == "prefetch"
        passes = details(report, "pass")
        assert passes["2026-07-17/gpt_c2000_l4", "I7"].startswith("2434 to 2434 prefill lookups")
        for trace in ("gptoss", "qwen", "gemma"):
            assert {
                ("2026-07-15-route-trace/" + trace, f"I{n}") for n in (1, 2, 3)
            } <= passes.keys()


class TestWhatIsNotKnown:
    """Modes that the model does not cover, broken requests, missing artefacts."""

    def test_from_a_cancelled_request_on_nothing_is_judged(self) -> None:
        """Neither pass nor fail, and the reason tells what a naive replay would have claimed."""
        code, report = audit(RUNS / "cancel-in-decode-mid-c6.csv")
        assert code == 3
        for turn in (0, 1):
            assert set(verdicts(report, "cancel-in-decode-mid-c6", turn).values()) == {"unknown"}
        told = [law["detail"] for law in report[1]["laws"][:2]]
        assert all(detail.startswith("cancelled request: ") for detail in told)
        assert told[0].endswith("a naive replay differs in 13 rows")
        assert told[1].endswith("a naive replay gives 36.8 %, recorded 37.0 %")
        assert report[1]["hits"] is None

    def test_a_cancel_that_no_output_tells_of_is_not_a_failure(self, tmp_path: Path) -> None:
        """Without the output, a turn that ended early may have been cancelled."""
        copy_run("cancel-in-decode-mid-c6", tmp_path).with_suffix(".stdout").unlink()
        code, report = audit(tmp_path)
        assert (code, details(report, "fail")) == (0, {})
        assert details(report, "unknown").keys() == {
            ("cancel-in-decode-mid-c6", law) for law in ("I1", "I2", "I10")
        }

    @pytest.mark.parametrize(
        "find,put,name",
        [
            (b"load_all=0", b"load_all=1", "load-all"),
            (b" prefetch=0", b" prefetch=2", "prefetch"),
            (b"predict_prefetch=0", b"predict_prefetch=1", "predict-prefetch"),
            (b"route_ahead=0", b"route_ahead=1", "route-ahead"),
            (b"drop_cold_frac=0", b"drop_cold_frac=0.5", "drop"),
            (b"spec=off", b"spec=ngram", "speculation"),
            (b"drop_prefill=0", b"drop_prefill=0 cache_policy=layer-lfu", "policy"),
            (b"spec_experts=0", b"spec_experts=3", "prefetch"),
        ],
    )
    def test_modes_are_unknown_by_name(
        self, find: bytes, put: bytes, name: str, tmp_path: Path
    ) -> None:
        """In a mode that the model does not cover no law of the cache passes or fails."""
        replace_in(copy_run("tiny-c2", tmp_path), ".csv", find, put)
        report = audit(tmp_path)[1]
        unknown = details(report, "unknown")
        for law in ("I1", "I2", "I3", "I6", "I7", "I8", "I9", "I10", "I11", "output"):
            assert unknown["tiny-c2", law].startswith(f"{name}: ")
        assert report[0]["hits"] is None

    def test_prefill_graphs_that_cannot_be_told_apart_are_unknown(self, tmp_path: Path) -> None:
        """One MoE layer, a prefill in several graphs: the replay is not attempted."""
        text = (
            "# route_trace v1\n# model=m arch=a n_layer=1 n_expert=4 n_expert_used=1\n"
            "# layer=0 expert_bytes=3\n"
            "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n"
            "0,0,-1,0,0,1,1,0,3\n0,0,-1,0,0,2,1,0,3\n0,1,2,0,0,1,1,1,0\n"
        )
        (tmp_path / "one.route.csv").write_text(text)
        report = audit(tmp_path)[1]
        assert details(report, "unknown")["one", "I1"].startswith("prefill graphs: turn 0")

    def test_an_automatic_budget_is_judged_within_its_print(self, tmp_path: Path) -> None:
        """Printed as 6.1, the budget may be what the residency shows; printed as 6.2, it cannot."""
        path = copy_run("mid-c6-ubatch8", tmp_path)
        replace_in(path, ".csv", b"cache_auto=0", b"cache_auto=1")
        for printed, verdict in (("6.1", "pass"), ("6.2", "fail")):
            for row in range(32):
                edit_cell(path, ".csv", row, "cache_budget_mib", lambda _, put=printed: put)
            edit_summary(path, "cache_budget_MiB", printed)
            found = verdicts(audit(tmp_path)[1], "mid-c6-ubatch8")
            assert (found["I1"], found["I2"], found["I5"]) == (verdict, verdict, "pass")

    def test_what_is_missing_is_skipped(self, tmp_path: Path) -> None:
        """A CSV alone, and a trace alone: laws are skipped, or judged without a recorded budget."""
        path = copy_run("tiny-c2", tmp_path)
        path.with_suffix(".stdout").unlink()
        shutil.move(f"{path}.route.csv", tmp_path / "trace.route.csv")
        report = audit(tmp_path)[1]
        assert verdicts(report, "tiny-c2")["I1"] == "skip"
        assert verdicts(report, "tiny-c2")["I4"] == "pass"
        assert verdicts(report, "trace")["I1"] == "pass"
        assert report[1]["lookups"] is None


class TestExceptionsAndExitCodes:
    """Known exceptions, and how the command ends."""

    def test_an_exception_that_no_longer_holds_fails(self, tmp_path: Path) -> None:
        """A run that is named as an exception and passes its law: the entry has outlived its use."""
        folder = tmp_path / "2026-07-22-drop-cold-experts"
        folder.mkdir()
        copy_run("tiny-c2", folder, "bmoe-20260722-134209")
        assert audit(tmp_path)[0] == 1

    def test_an_exception_covers_only_what_it_says(self, tmp_path: Path) -> None:
        """The named run fails its law otherwise than the entry says: that is a failure."""
        folder = tmp_path / "2026-07-22-drop-cold-experts"
        folder.mkdir()
        path = copy_run("tiny-c2", folder, "bmoe-20260722-134209")
        replace_in(path, ".csv", b"drop_cold_frac=0", b"drop_cold_frac=1")
        for routed, verdict in (("256", "pass"), ("248", "unknown"), ("240", "fail")):
            edit_summary(path, "experts_routed", routed)
            report = audit(tmp_path)[1]
            assert verdicts(report, f"{folder.name}/{path.name}")["I13"] == verdict

    def test_nothing_to_judge_is_3(self, tmp_path: Path) -> None:
        """A folder without a run, and one with a table that is no run."""
        assert audit(tmp_path) == (3, [])
        (tmp_path / "x-curve.csv").write_text("budget_mib,policy,hit_pct_cum\n250,lru,0\n")
        assert audit(tmp_path) == (3, [])

    def test_unusable_input_is_2(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A path that is not there, and a damaged file, named with its line."""
        assert main(["audit", str(tmp_path / "none")]) == 2
        path = copy_run("tiny-c2", tmp_path)
        edit_cell(path, ".csv", 3, "read_bytes", lambda _: "many")
        capsys.readouterr()
        assert main(["audit", str(tmp_path)]) == 2
        assert f"{path}.csv:10: read_bytes is `many`" in capsys.readouterr().err

    def test_require_all_wants_every_law(self, tmp_path: Path) -> None:
        """A law that no run exercised is a failure if the caller says so."""
        copy_run("tiny-c2", tmp_path)
        assert main(["audit", str(tmp_path)]) == 0
        assert main(["audit", "--require-all", str(tmp_path)]) == 1
