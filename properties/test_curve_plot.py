"""Does the picture of `cachegate curve` show what it promises, and does a failure to draw print nothing?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fixtures.recorded_runs import RUNS
from gate.cli import main

TINY = str(RUNS / "tiny-c2.route.csv")
ONE_LAYER = """\
# route_trace v1
# model=toy.gguf arch=toy n_layer=1 n_expert=4 n_expert_used=1
# layer=0 expert_bytes=3
turn,phase,step,layer,slot,expert,weight,residency,expert_bytes
0,0,0,0,0,1,0.5,0,3
0,1,1,0,0,1,0.5,1,0
"""


@pytest.fixture
def drawing(more_than_quick: None) -> None:
    """Skips where nothing can be drawn; loading what draws takes a second."""
    pytest.importorskip("matplotlib")


def test_svg_shows_policies_cliff_and_operating_point(drawing: None, tmp_path: Path) -> None:
    """A curve a policy, the gap between cliff and cycle, and the budget of the run beside the trace; twice the same."""
    files = [tmp_path / "first.svg", tmp_path / "second.svg"]
    for file in files:
        assert main(["curve", TINY, "--policy", "lru,belady", "--plot", str(file)]) == 0
    text = files[0].read_text()
    for label in ("lru", "belady", "gap: cliff at 0.875 cycles", "recorded run: 2 MiB"):
        assert f"<!-- {label}" in text
    assert text == files[1].read_text()


def test_png_holds_a_panel_a_trace(drawing: None, tmp_path: Path) -> None:
    """Two traces make a picture twice as high as one."""
    heights = []
    for traces in ([TINY], [TINY, TINY]):
        file = tmp_path / f"{len(traces)}.png"
        assert main(["curve", *traces, "--cycles", "1,2", "--plot", str(file)]) == 0
        data = file.read_bytes()
        assert data.startswith(b"\x89PNG")
        heights.append(int.from_bytes(data[20:24], "big"))
    assert heights[1] == 2 * heights[0]


def test_one_moe_layer_has_no_gap(drawing: None, tmp_path: Path) -> None:
    """Nothing is marked that is not there: no cliff, and no run beside the trace."""
    (tmp_path / "toy.route.csv").write_text(ONE_LAYER)
    file = tmp_path / "toy.svg"
    assert main(["curve", str(tmp_path / "toy.route.csv"), "--plot", str(file)]) == 0
    assert "<!-- gap" not in file.read_text()
    assert "<!-- recorded run" not in file.read_text()


def test_a_file_that_cannot_be_written_is_unusable(
    drawing: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and no table."""
    assert main(["curve", TINY, "--plot", str(tmp_path / "none" / "curve.png")]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "--plot: cannot write" in printed.err) == ("", True)


def test_without_matplotlib_the_cure_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, no table and no file; the message says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    file = tmp_path / "curve.svg"
    assert main(["curve", TINY, "--plot", str(file)]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "cachegate[plot]" in printed.err) == ("", True)
    assert not file.exists()
