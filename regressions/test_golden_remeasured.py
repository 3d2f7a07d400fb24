"""Does re-measuring every golden table from the recorded runs change nothing, and show what a changed run moves?"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from fixtures.recorded_runs import edit_cell
from gate.cli import main
from gate.golden.checks import broken_checks
from gate.golden.definitions.hits import PROPOSAL_CYCLES
from gate.golden.definitions.traces import FOLDER, budget_of_rounded_cycles
from gate.golden.past import history_faults
from gate.golden.table import Table
from gate.golden.table_file import TABLES, load, load_all
from reference.expert_cache import ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from replay.lookups import shape_of
from replay.traces import DECODE, read_route_trace

ALTERED_ROW = 8_000
"""Of gpt-oss: a row of decode."""


@pytest.mark.parametrize("table", load_all(), ids=lambda table: table.id)
def test_checks_hold_and_the_history_leads_to_the_cells(table: Table) -> None:
    """Every equation a table states, and every cell that was ever re-measured."""
    assert broken_checks(table) == []
    assert list(history_faults(table)) == []


@pytest.mark.usefixtures("more_than_quick")
def test_every_table_comes_out_as_it_stands(
    bench_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check that CI runs: no cell differs, and only what a server that is not public counted is skipped."""
    assert main(["remeasure", "all", "--from", str(bench_data)]) == 0
    *skipped, told = capsys.readouterr().out.splitlines()
    of_the_server = [table.id for table in load_all() if table.definition == "of_the_server"]
    assert [line.split(":")[0] for line in skipped] == [f"skip {name}" for name in of_the_server]
    assert told.startswith(f"{len(load_all()) - len(of_the_server)} tables, ")
    assert told.endswith(": 0 differ by more than the tolerance")


@pytest.mark.usefixtures("more_than_quick")
def test_one_altered_routing_of_gptoss_moves_what_the_reference_says(
    bench_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the proposal's 18 cells those of gpt-oss move as the reference cache has them, the others not at all."""
    shutil.copytree(bench_data / FOLDER, tmp_path / FOLDER, copy_function=shutil.copyfile)
    (tmp_path / FOLDER).chmod(0o755)
    run = tmp_path / FOLDER / "gptoss"
    edit_cell(run, ".route.csv", ALTERED_ROW, "expert", lambda expert: str((int(expert) + 1) % 128))
    main(["remeasure", "hit-by-cycles", "--from", str(tmp_path), "--json"])
    found = {entry["cell"]: entry for entry in json.loads(capsys.readouterr().out)}
    table = load(TABLES / "hit-by-cycles.toml")
    trace = read_route_trace(run.with_name("gptoss.route.csv"))
    for cycles in PROPOSAL_CYCLES:
        budget = budget_of_rounded_cycles(shape_of(trace), cycles)
        cache = ExpertCache(ExpertConfig(shape_of(trace), budget, rules=EXACT_BYTES))
        for batch in trace.batches:
            experts = trace.expert[batch.first_row : batch.first_row + batch.row_count]
            cache.load(batch.layer, experts, decode=batch.phase == DECODE)
        counted = cache.counters
        measured = Fraction(100 * counted.decode_hits, counted.decode_lookups)
        moved = abs(measured - Fraction(table.cell("gptoss", cycles))) / Fraction(1, 20)
        entry = found[f"{float(cycles):g}/gptoss"]
        assert entry["in_tolerances"] == pytest.approx(float(moved))
        assert entry["beyond"] == (moved > 1)
    assert not any(entry["beyond"] for name, entry in found.items() if "gptoss" not in name)
    main(["remeasure", "breakpoints", "--from", str(tmp_path), "--json"])
    digests = {entry["cell"]: entry for entry in json.loads(capsys.readouterr().out)}
    beyond = {name for name, entry in digests.items() if entry["beyond"]}
    assert "gptoss/digest" in beyond
    assert not {name for name in beyond if not name.startswith("gptoss/")}
