"""Is a file that is no golden table refused, with the line and what was expected?"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from gate.golden.table import STATED
from gate.golden.table_file import MAX_FILE_BYTES, load, load_all
from reference.errors import InputError

GOOD = """\
title = "What does a cycle weigh?"
status = "asserted"
source = { document = "a report", section = "1", commit = "abc", date = 2026-07-26, data = "runs" }
definition = "weigh"
words = "Sum over the layers."
columns = [
    { name = "model", unit = "name", kind = "key", why = "names the row" },
    { name = "cycles", unit = "cycles", kind = "printed_digits", digits = 2, why = "as printed" },
    { name = "layers", unit = "layers", kind = "exact", why = "a count" },
    { name = "ms", unit = "ms", kind = "spread", repeats = 5, spread = 0.25, why = "five runs" },
]
rows = [
    { model = "a", cycles = 2.90, layers = 4, ms = 17.5 },
    { model = "b", cycles = 1.65, status = "stated", measured = { cycles = 1.66, layers = 3 } },
]
"""


def write(folder: Path, text: str | bytes) -> Path:
    """A file `table.toml` with this content."""
    path = folder / "table.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(folder: Path, text: str | bytes) -> InputError:
    """The error that loading this content gives."""
    with pytest.raises(InputError) as found:
        load(write(folder, text))
    assert found.value.source.endswith("table.toml")
    return found.value


def test_a_table_is_read_with_its_digits_lines_and_tolerances(tmp_path: Path) -> None:
    """Printed zeros survive, rows know their line, and each kind gives its tolerance."""
    table = load(write(tmp_path, GOOD))
    assert table.id == "table"
    assert [row.line for row in table.rows] == [13, 14]
    assert str(table.rows[0].cells["cycles"]) == "2.90"
    assert table.rows[1].status == STATED
    assert table.cell("cycles", "b") == Decimal("1.66")
    tolerances = [str(column.tolerance) for column in table.columns]
    assert tolerances == ["0", "1/200", "0", "1/4"]


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    """A file with CRLF gives the same table with the same lines."""
    plain, windows = load(write(tmp_path, GOOD)), load(write(tmp_path, GOOD.replace("\n", "\r\n")))
    assert plain.rows == windows.rows


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("cycles = 2.90", "cycles = 2.9", 13, "cycles is 2.9"),
        ("cycles = 2.90", "cycles = 2", 13, "cycles is 2"),
        ("cycles = 2.90", 'cycles = "2.90"', 13, "cycles is 2.90"),
        ("cycles = 2.90", "cycles = 1e999999", 13, "cycles is 1E+999999"),
        ("cycles = 2.90", "cycles = nan", 13, "cycles is NaN"),
        ("cycles = 2.90", "cycles = -inf", 13, "cycles is -Infinity"),
        ("cycles = 2.90", "cycles = true", 13, "cycles is True"),
        ("cycles = 2.90", "cycles = [1]", 13, "cycles is [1]"),
        ("layers = 4", "layers = 10000000000000000000", 13, "layers is 1"),
        ("cycles = 2.90", "weight = 2.90", 13, "no column is called weight"),
        ('model = "b"', 'model = "a"', 14, "the row of line 13 again"),
        ('model = "a", ', "", 13, "the row lacks its key model"),
        ('"stated"', '"guessed"', 14, "status is guessed"),
        ('status = "stated", ', "", 14, "measured does not fit"),
        (", measured = { cycles = 1.66, layers = 3 }", "", 14, "measured does not fit"),
        ("measured = { cycles = 1.66, layers = 3 }", "measured = 3", 14, "measured is no table"),
        ("cycles = 1.66, ", "", 14, "measured does not fit"),
        ("1.66", "1.6", 14, "cycles is 1.6"),
        ("digits = 2", "digits = 20", 8, "digits is wrong"),
        ("digits = 2, ", "", 8, "the column lacks digits"),
        ('"printed_digits"', '"about"', 8, "kind is about"),
        ('why = "as printed"', 'why = ""', 8, "why is empty"),
        ("repeats = 5", "repeats = 1", 10, "repeats or spread is wrong"),
        ("spread = 0.25", "spread = 0", 10, "repeats or spread is wrong"),
        ('name = "layers"', 'name = "cycles"', 9, "the column cycles again"),
        ('name = "layers"', 'name = "status"', 9, "status cannot be a column's name"),
        ('"key"', '"exact"', None, "no column identifies a row"),
        ('status = "asserted"\n', "", None, "the table lacks status"),
        ("title =", "titel =", None, "the table lacks title"),
        ('commit = "abc"', 'commit = ""', None, "source.commit"),
        ("2026-07-26", '"2026-07-26"', None, "source.date"),
        ("source = {", "source = 3 # {", None, "source is no table"),
        ("rows = [\n", "rows = [", None, "rows does not stand one entry a line"),
        (',\n    { model = "b"', ', { model = "b"', None, "rows does not stand one entry"),
        ("rows = [", "rows = [ 7,", None, "rows is no array of tables"),
        ("title = ", "title = = ", 1, "Invalid"),
    ],
)
def test_a_fault_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int | None, problem: str
) -> None:
    """Each way to write a table wrongly is refused by what is wrong and where."""
    assert old in GOOD
    fault = refused(tmp_path, GOOD.replace(old, new, 1))
    assert problem in fault.problem
    assert fault.line == line


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x00",
        b"\xff\xfe",
        b"\x1f\x8b\x08\x00",
        b"rows = " + b"[" * 100_000,
        b"rows = " + b"9" * 5_000,
        b"#" * (MAX_FILE_BYTES + 1),
    ],
    ids=["empty", "nul", "utf16", "gzip", "nested", "long number", "too large"],
)
def test_hostile_content_is_refused(tmp_path: Path, content: bytes) -> None:
    """Content that is no table at all ends in an error, not in a crash or in exhausted memory."""
    refused(tmp_path, content)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    """A path that cannot be opened as a file is refused."""
    (tmp_path / "table.toml").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "table.toml")


def test_all_tables_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    """Order is by file name, and other files are passed over."""
    for name in ("b.toml", "a.toml", "notes.md"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    assert [table.id for table in load_all(tmp_path)] == ["a", "b"]
