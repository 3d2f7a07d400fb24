"""Does a golden table keep what it said before, and can that be read and drawn?"""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gate.cli import main
from gate.golden.changes import with_changes
from gate.golden.measurement import measurement_line
from gate.golden.past import history_faults, past
from gate.golden.remeasured import remeasure
from gate.golden.rewrite import NewTable, rewritten, write_tables
from gate.golden.table import Measurement
from gate.golden.table_file import load
from properties.scratch_tables import alter_routing, scratch_table, small_bench
from reference.errors import InputError


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that was re-measured twice: with one routing altered, and as it was again."""
    folder = tmp_path_factory.mktemp("history")
    bench, altered = small_bench(folder / "bench"), small_bench(folder / "altered")
    alter_routing(altered, "gptoss")
    path = scratch_table("hit-by-cycles", bench, folder)
    for day, (source, reason) in enumerate([(altered, "to see it move"), (bench, "and back")], 2):
        write(path, source, datetime.date(2026, 1, day), reason)
    return path


def write(path: Path, bench: Path, date: datetime.date, reason: str) -> None:
    """Re-measure a table that lies in no checkout."""
    found = remeasure(load(path), bench)
    assert found.changes
    record = Measurement(
        date=date,
        source="small runs, 'quoted' \"twice\" \\ and with = { brackets }",
        reason=reason,
        engine="0.19.0",
        definition=found.table.definition,
        code="0123456789ab",
        changed={change.name: (change.old, change.new) for change in found.changes},
        files={"a/b.route.csv": "0" * 64},
    )
    write_tables([NewTable(found.table, found.changes, record)])


def test_every_earlier_value_is_kept(table: Path) -> None:
    """Two measurements, the second found what the first left, and the table is as it was before both."""
    read = load(table)
    assert [each.reason for each in read.history] == ["to see it move", "and back"]
    for name, (first, second) in past(read).items():
        row, _, column = name.partition("/")
        assert (first.after, second.after) == (second.before, first.before)
        assert read.cell(column, *[key for (key,) in read.keys if f"{key}" == row]) == second.after
    assert list(history_faults(read)) == []


def test_a_cell_changed_by_hand_shows(table: Path, tmp_path: Path) -> None:
    """The history no longer leads to what stands there; no less if it breaks in the middle."""
    text = table.read_text(encoding="utf-8")
    name, (first, second) = next(iter(past(load(table)).items()))
    cycles, _, column = name.partition("/")
    lines = text.splitlines(keepends=True)
    (at,) = (n for n, line in enumerate(lines) if f"{{ cycles = {cycles}," in line)
    hand = lines.copy()
    hand[at] = hand[at].replace(f"{column} = {second.after}", f"{column} = {first.after}")
    torn = [line.replace(f"{first.after}]", f"{first.before}]") for line in lines]
    for number, changed in enumerate((hand, torn)):
        path = tmp_path / f"changed-{number}.toml"
        path.write_text("".join(changed), encoding="utf-8")
        assert changed != lines
        assert name in next(history_faults(load(path)))


def test_one_line_changes_for_the_cells_of_a_row(table: Path, tmp_path: Path) -> None:
    """The new text differs from the old in the rows of the changed cells and one line of history."""
    read = load(table)
    altered = small_bench(tmp_path / "altered")
    alter_routing(altered, "gptoss")
    changes = remeasure(read, altered).changes
    record = replace(read.history[0], reason="a third time")
    old = table.read_text(encoding="utf-8").splitlines()
    new = rewritten(NewTable(read, changes, record)).splitlines()
    new.remove(measurement_line(record))
    moved = {n for n, (a, b) in enumerate(zip(old, new, strict=True), 1) if a != b}
    assert moved == {change.row.line for change in changes}


def test_windows_line_ends_are_kept(table: Path, tmp_path: Path) -> None:
    """A file with CRLF stays one, in every line."""
    path = tmp_path / "crlf.toml"
    path.write_bytes(table.read_bytes().replace(b"\n", b"\r\n"))
    read = load(path)
    text = rewritten(NewTable(read, [], read.history[0]))
    assert text.count("\n") == text.count("\r\n") == len(table.read_text().splitlines()) + 1


def test_a_text_that_cannot_be_changed_is_refused(table: Path, tmp_path: Path) -> None:
    """A history that does not stand one entry a line is not read, and so nothing is written over it."""
    path = tmp_path / "joined.toml"
    joined = table.read_text(encoding="utf-8").replace("history = [\n", "history = [")
    path.write_text(joined, encoding="utf-8")
    with pytest.raises(InputError, match="history does not stand one entry a line"):
        load(path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("date = 2026-01-02", "date = 2026-01-02T00:00:00", "date is no date"),
        ("date = 2026-01-02", 'date = "2026-01-02"', "date is no date"),
        ("date = 2026-01-02, ", "", "has changed, code"),
        ('reason = "to see it move"', 'reason = " "', "reason is empty or no text"),
        ('engine = "0.19.0"', "engine = 19", "engine is empty or no text"),
        ('"0000', '"000', "files.a/b.route.csv is no digest"),
        ("files = {", "files = 3 }, # {", "files is no table"),
        ("changed = {", "changed = {}, was = {", "has changed, code"),
        ('/gptoss" = [', '/gptoss" = [1, ', "is no pair of cells"),
        ('/gptoss" = [', '/gptoss" = [nan, 1], x = [', "is no pair of cells"),
        ('/gptoss" = [', '/gptoss" = [1e999999, 1], x = [', "is no pair of cells"),
        ("history = [", "checks = [3]\nhistory = [", "checks is no array of texts"),
        ("history = [", "checks = ['gptoss']\nhistory = [", "check gptoss: no equation"),
    ],
)
def test_a_fault_in_a_history_is_named(
    old: str, new: str, problem: str, table: Path, tmp_path: Path
) -> None:
    """Each way to write a measurement or a check wrongly is refused by what is wrong."""
    text = table.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "faulty.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"faulty\.toml") as found:
        load(path)
    assert problem in found.value.problem


def test_changes_apply_to_the_table_as_they_do_to_its_file(table: Path, tmp_path: Path) -> None:
    """The table with changes in memory is the one that is read from the changed file."""
    read = load(table)
    altered = small_bench(tmp_path / "altered")
    alter_routing(altered, "gptoss")
    changes = remeasure(read, altered).changes
    path = tmp_path / table.name
    path.write_text(rewritten(NewTable(read, changes, read.history[0])), encoding="utf-8")
    assert with_changes(read, changes).rows == load(path).rows


def test_the_command_shows_source_reason_files_and_values(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was measured, why, with which engine and files, and the values one after another."""
    assert main(["history", str(table)]) == 0
    told = capsys.readouterr().out
    for part in ("to see it move", "engine 0.19.0", "000000000000 a/b.route.csv", "0123456789ab"):
        assert part in told
    name, (first, second) = next(iter(past(load(table)).items()))
    assert f"{first.after} (2026-01-02), {second.after} (2026-01-03)" in told
    assert name in told
    assert main(["history", str(table), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_table_that_never_changed_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A golden table of the project, with its first source."""
    assert main(["history", "cliff"]) == 0
    assert "never re-measured" in capsys.readouterr().out
    assert main(["history", "no-such-table"]) == 2


@pytest.mark.usefixtures("more_than_quick")
def test_the_plot_is_the_same_each_time(table: Path, tmp_path: Path) -> None:
    """Drawn twice, the picture has the same bytes; without a number to draw there is none."""
    pytest.importorskip("matplotlib", reason="needs the optional extra 'plot'")
    pictures = [tmp_path / name for name in ("one.svg", "two.svg")]
    for picture in pictures:
        assert main(["history", str(table), "--plot", str(picture)]) == 0
    one, two = (picture.read_text(encoding="utf-8") for picture in pictures)
    assert one == two
    assert "gptoss (%)" in one
    assert main(["history", "cliff", "--plot", str(tmp_path / "three.svg")]) == 2
