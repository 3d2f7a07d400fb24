"""Do traces of row ids read back as they were written, and is every fault in one named?"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.row_gathers import U64, gather_lists
from reference.errors import InputError
from replay import row_traces
from replay.distinct_count import DistinctCount
from replay.row_traces import read_row_trace

needs_pyarrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None,
    reason="needs the optional extra 'parquet': the package pyarrow",
)
SEPARATORS = st.sampled_from([" ", ",", ", ", "  "])


def read(path: Path, gather_rows: int = 3) -> list[list[int]]:
    """All gathers of a trace."""
    parts = read_row_trace(str(path), gather_rows)
    return [
        part.ids[start:stop].tolist() for part in parts for start, stop in pairwise(part.offsets)
    ]


def in_pieces(ids: Sequence[int], size: int) -> list[list[int]]:
    """The ids in gathers of `size`, the last one perhaps shorter."""
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_traces, "PART_IDS", 8)


# Sound traces


@given(gathers=gather_lists(8).filter(bool), separator=SEPARATORS, comment=st.booleans())
def test_a_text_has_a_gather_a_line(
    tmp_path: Path,
    gathers: list[list[int]],
    separator: str,
    comment: bool,
) -> None:
    """Apart by spaces or commas; an empty line is an empty gather; a comment is none."""
    path = tmp_path / "rows.txt"
    lines = [separator.join(map(str, gather)) for gather in gathers]
    path.write_text("\n".join((["# rows"] if comment else []) + lines) + "\n")
    assert read(path) == gathers


@given(ids=st.lists(U64, max_size=40), gather_rows=st.integers(1, 20))
def test_an_array_is_cut_into_equal_gathers(
    tmp_path: Path, ids: list[int], gather_rows: int
) -> None:
    """One dimension: gathers of the given length; the last one takes what is left."""
    path = tmp_path / "rows.npy"
    np.save(path, np.array(ids, dtype=np.uint64))
    assert read(path, gather_rows) == in_pieces(ids, gather_rows)


@pytest.mark.parametrize("kind", ["<i4", ">u8", "<i8", "u1", ">i2"])
def test_a_line_of_an_array_is_a_gather(tmp_path: Path, kind: str) -> None:
    """Two dimensions: one gather a line, whatever the width and byte order of the integers."""
    rows = np.arange(60).reshape(12, 5).astype(kind)
    np.save(tmp_path / "rows.npy", rows)
    assert read(tmp_path / "rows.npy") == rows.tolist()


@needs_pyarrow
@given(gathers=gather_lists(8), group_rows=st.sampled_from([3, 1000]))
def test_a_list_in_parquet_is_a_gather(
    tmp_path: Path, gathers: list[list[int]], group_rows: int
) -> None:
    """A column of lists holds one gather each, empty ones too."""
    path = tmp_path / "rows.parquet"
    write_parquet(path, {"rows": gathers}, "list", group_rows)
    assert read(path) == gathers


@needs_pyarrow
@given(gathers=gather_lists(8), group_rows=st.sampled_from([3, 1000]))
def test_a_new_number_in_parquet_is_a_new_gather(
    tmp_path: Path, gathers: list[list[int]], group_rows: int
) -> None:
    """Columns `row` and `gather`, across row groups; without `gather` they are cut evenly."""
    folder = tmp_path
    ids = [row for gather in gathers for row in gather]
    numbers = [number for number, gather in enumerate(gathers) for _ in gather]
    write_parquet(folder / "a.parquet", {"row": ids, "gather": numbers}, "plain", group_rows)
    assert read(folder / "a.parquet") == [gather for gather in gathers if gather]
    write_parquet(folder / "b.parquet", {"row": ids}, "plain", group_rows)
    assert read(folder / "b.parquet", 7) == in_pieces(ids, 7)


def write_parquet(path: Path, columns: dict[str, list], kind: str, group_rows: int) -> None:
    """Columns of unsigned 64-bit numbers, or of lists of them."""
    import pyarrow  # noqa: PLC0415 - optional
    from pyarrow import parquet  # noqa: PLC0415

    item = pyarrow.list_(pyarrow.uint64()) if kind == "list" else pyarrow.uint64()
    table = pyarrow.table({name: pyarrow.array(cells, item) for name, cells in columns.items()})
    parquet.write_table(table, path, row_group_size=group_rows)


# Faults


@pytest.mark.parametrize(
    "word", ["-1", str(1 << 64), "9" * 5000, "x", "1.5", "1e3", "0x10", "1_000", "+1", "\u0661"]
)
def test_a_word_that_is_no_id_is_named_with_its_line(tmp_path: Path, word: str) -> None:
    """Ids are plain digits from 0 to 2^64-1; what is not is shown with file and line."""
    path = tmp_path / "rows.txt"
    path.write_text(f"1 2\n\n{(1 << 64) - 1} {word} 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.txt:3: .* is not a row or token id"):
        read(path)


@pytest.mark.parametrize(
    "array, problem",
    [
        (np.array([1, 2, -3]), "item 2 .* is -3"),
        (np.arange(-1, 30)[::-1].copy(), "item 30 .* is -1"),
        (np.array([1.0]), "float64"),
        (np.array([True]), "bool"),
        (np.array(["1"]), "<U1"),
        (np.zeros((2, 2, 2), dtype=int), "shape"),
        (np.asfortranarray(np.arange(6).reshape(2, 3)), "shape"),
        (np.array(7), "shape"),
        (np.array([{}], dtype=object), "cannot be read"),
    ],
)
def test_an_array_of_anything_else_is_refused(tmp_path: Path, array: object, problem: str) -> None:
    """Negative numbers by their place; other types and shapes by name; nothing is unpickled."""
    np.save(tmp_path / "rows.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=problem):
        read(tmp_path / "rows.npy")


@given(
    ending=st.sampled_from(["npy", "parquet", "txt"]),
    data=st.binary(max_size=60),
    cut=st.integers(1, 200),
)
def test_damaged_files_are_refused(tmp_path: Path, ending: str, data: bytes, cut: int) -> None:
    """Whatever bytes stand in a file: gathers or InputError, never another exception."""
    path = tmp_path / f"rows.{ending}"
    np.save(path.with_suffix(".npy"), np.arange(20))
    whole = path.with_suffix(".npy").read_bytes()
    for content in (data, whole[:cut], whole[: cut % 128] + data + whole[cut % 128 :]):
        path.write_bytes(content)
        with suppress(InputError):
            read(path)


@needs_pyarrow
@pytest.mark.parametrize(
    "columns, problem",
    [
        ({"row": [1, None]}, "empty cells"),
        ({"row": [1, -2]}, "item 1 .* is -2"),
        ({"row": ["1"]}, "not integers"),
        ({"rows": [[1], None]}, "empty cells"),
        ({"rows": [[1, None]]}, "empty cells"),
        ({"id": [1]}, "has the columns id"),
    ],
)
def test_parquet_that_holds_no_ids_is_refused(
    tmp_path: Path, columns: dict[str, list], problem: str
) -> None:
    """Missing cells, negative numbers, other types, and a table without a known column."""
    import pyarrow  # noqa: PLC0415 - optional
    from pyarrow import parquet  # noqa: PLC0415

    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=problem):
        read(tmp_path / "rows.parquet")


def test_a_line_without_an_end_costs_bounded_memory(tmp_path: Path) -> None:
    """A file of 2 GiB without a line feed is refused after the longest legal line."""
    path = tmp_path / "rows.txt"
    with path.open("wb") as stream:
        stream.truncate(1 << 31)
    with pytest.raises(InputError, match=r"rows\.txt:1: the line is longer"):
        read(path)


# Different rows


@pytest.mark.parametrize("rows", [0, 1, 1_000, 1_000_000])
def test_different_rows_are_counted_within_a_thousandth(rows: int) -> None:
    """Linear counting is off by 0.03 % standard error at most, and repeats do not count."""
    counted = DistinctCount()
    for _ in range(2):
        counted.add(np.arange(rows, dtype=np.uint64) * np.uint64(3))
    assert counted.estimate() == pytest.approx(rows, rel=1e-3, abs=1e-2)
