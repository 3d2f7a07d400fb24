"""Does the reader of routing traces read what was written, and refuse what was not, by line?"""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.damaged_files import reads_or_refuses, written
from fixtures.trace_texts import HEADER, Model, TraceText, models, trace_texts
from reference.errors import InputError
from replay.lines import preamble_pairs
from replay.traces import read_route_trace

PREAMBLE = (
    "# route_trace v1\n# model=toy.gguf arch=toy n_layer=2 n_expert=4 n_expert_used=2\n"
    "# layer=0 expert_bytes=3\n# layer=1 expert_bytes=5\n"
)
ROWS = "0,0,0,0,0,1,0.5,0,3\n0,0,0,0,1,2,0.5,0,3\n0,0,0,1,0,3,0.5,0,5\n0,0,0,1,1,0,0.5,0,5\n"
GOOD = f"{PREAMBLE}{HEADER}\n{ROWS}"


class TestRouteTrace:
    """Routing traces that are sound."""

    @given(trace=trace_texts())
    def test_batches_come_back_in_file_order(
        self, trace: TraceText, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Turns, graphs and layers are told apart by file order; where they cannot be, it is said."""
        read = read_route_trace(written(tmp_path_factory.mktemp("trace"), trace.text))
        unknown = {turn for turn, known in read.prefill_boundaries_known.items() if not known}
        assert unknown == trace.unknown_turns
        found = [
            (b.turn, b.phase, b.layer, tuple(read.expert[b.first_row :][: b.row_count]))
            for b in read.batches
        ]
        assert [b for b in found if b[0] not in unknown] == [
            b for b in trace.batches if b[0] not in unknown
        ]
        assert read.row_count == sum(len(ids) for *_, ids in trace.batches)

    @given(model=models())
    def test_preamble_gives_the_model_back(self, model: Model) -> None:
        """A model path may hold spaces and `=`; sizes are read behind it."""
        pairs = preamble_pairs(model.preamble()[1])
        assert pairs["model"] == model.name
        assert pairs["n_expert_used"] == str(model.used)

    @given(junk=st.binary(max_size=40), at=st.integers(0, len(GOOD)), cut=st.integers(0, 30))
    def test_damage_is_refused_or_harmless(
        self, junk: bytes, at: int, cut: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Whatever stands in the file, the answer is a trace or an InputError, nothing else."""
        good = GOOD.encode()
        path = written(tmp_path_factory.mktemp("trace"), good[:at] + junk + good[at + cut :])
        assert reads_or_refuses(read_route_trace, path)

    def test_line_of_a_row_counts_comments(self, tmp_path: Path) -> None:
        """A row's line is right where comments and empty lines stand between the rows."""
        rows = ROWS.replace("\n0,0,0,1,0", "\n# a note\n\n0,0,0,1,0")
        path = written(tmp_path, f"{PREAMBLE}{HEADER}\n{rows}")
        trace = read_route_trace(path)
        lines = path.read_text().splitlines()
        for row in range(trace.row_count):
            assert lines[trace.line_of(row) - 1].split(",")[5] == str(trace.expert[row])

    def test_columns_are_read_by_name(self, tmp_path: Path) -> None:
        """Columns in another order, and columns that nobody knows, change nothing."""
        swapped = (
            "expert,turn,phase,step,layer,slot,residency,expert_bytes,new\n3,0,1,9,1,0,1,0,x\n"
        )
        trace = read_route_trace(written(tmp_path, PREAMBLE + swapped))
        assert (trace.expert, trace.residency, trace.weight, trace.dropped) == (
            [3],
            [1],
            None,
            None,
        )
        assert trace.batches == [(0, 1, 9, 1, 0, 1)]

    def test_preamble_keys_may_be_missing(self, tmp_path: Path) -> None:
        """Sizes that the preamble leaves out are taken from the rows, and named as derived."""
        trace = read_route_trace(
            written(tmp_path, GOOD.replace("n_layer=2 n_expert=4 n_expert_used=2", "x=1"))
        )
        assert trace.derived == ("n_layer", "n_expert", "n_expert_used")
        assert (trace.layer_count, trace.expert_count, trace.expert_used) == (2, 4, 2)

    def test_windows_line_ends_and_byte_order_mark(self, tmp_path: Path) -> None:
        """A file whose lines all end in CR LF, behind a byte order mark, reads the same."""
        plain = read_route_trace(written(tmp_path, GOOD.encode()))
        other = read_route_trace(
            written(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
        )
        assert other == plain

    def test_rows_span_blocks(self, tmp_path: Path) -> None:
        """A batch that lies across two read blocks stays one batch."""
        tokens = 40_000
        rows = "".join(f"0,0,{t},0,0,1,0.5,0,{0 if t else 3}\n" for t in range(tokens))
        trace = read_route_trace(written(tmp_path, f"{PREAMBLE}{HEADER}\n{rows}"))
        assert trace.batches == [(0, 0, 0, 0, 0, tokens)]


BAD_ROWS = {
    "truncated row": ("0,0,0,1,1,0", "a row of 6 fields"),
    "too many fields": ("0,0,0,1,1,0,0.5,0,5,5", "a row of 10 fields"),
    "letters for a number": ("0,0,0,1,1,abc,0.5,0,5", "expert is `abc`"),
    "letters for a weight": ("0,0,0,1,1,0,high,0,5", "weight is `high`"),
    "underscore": ("0,0,0,1,1,0,0.5,0,1_0", "expert_bytes is `1_0`"),
    "negative layer": ("0,0,0,-1,1,0,0.5,0,5", "layer is `-1`"),
    "layer beyond the model": ("0,0,0,2,1,0,0.5,0,5", "layer is `2`"),
    "negative expert": ("0,0,0,1,1,-3,0.5,0,5", "expert is `-3`"),
    "expert beyond the model": ("0,0,0,1,1,4,0.5,0,5", "expert is `4`"),
    "expert 10^9": ("0,0,0,1,1,1000000000,0.5,0,5", "expert is `1000000000`"),
    "a number of 5000 digits": (f"0,0,0,1,1,{'9' * 5000},0.5,0,5", "expert is `999"),
    "phase 2": ("0,2,0,1,1,0,0.5,0,5", "phase is `2`"),
    "residency 3": ("0,0,0,1,1,0,0.5,3,5", "residency is `3`"),
    "slot beyond k": ("0,0,0,1,2,0,0.5,0,5", "slot is `2`"),
    "step -2": ("0,1,-2,1,1,0,0.5,0,5", "step is `-2`"),
    "not ascii digits": ("0,0,0,1,1,٣,0.5,0,5", "expert is `"),
    "NUL": ("0,0,0,1,1,\0,0.5,0,5", "a NUL byte"),
    "CR LF among LF": ("0,0,0,1,1,0,0.5,0,5\r", "mixed line ends"),
    "lone CR": ("0,0,0,1,1,0,0.5,0,5\r0,0,0,1,1,0,0.5,0,5", "mixed line ends"),
}

BAD_FILES = {
    "empty": (b"", 1, "is empty"),
    "gzip": (gzip.compress(GOOD.encode()), 1, "is gzip data"),
    "zstd": (b"\x28\xb5\x2f\xfd1234", 1, "is zstd data"),
    "no rows": (f"{PREAMBLE}{HEADER}\n".encode(), 6, "without rows"),
    "no header": (PREAMBLE.encode(), 1, "no header line"),
    "missing column": (GOOD.replace(",residency", "").encode(), 5, "no column residency"),
    "double column": (GOOD.replace("weight", "expert").encode(), 5, "expert stands twice"),
    "rows for a header": ((PREAMBLE + ROWS).encode(), 5, "no column"),
    "other version": (GOOD.replace("trace v1", "trace v2").encode(), 1, "route_trace v2"),
    "no entry bytes": (GOOD.replace("# layer=1 ", "# layer 1 ").encode(), 8, "no recorded entry"),
    "0 entry bytes": (GOOD.replace("bytes=5\n", "bytes=0\n").encode(), 8, "no recorded entry"),
    "10^9 experts": (GOOD.replace("n_expert=4", "n_expert=1000000000").encode(), 2, "`1000000000`"),
    "10^9 layers": (GOOD.replace("n_layer=2", "n_layer=1000000000").encode(), 2, "`1000000000`"),
    "no experts": (GOOD.replace("n_expert=4", "n_expert=0").encode(), 2, "n_expert=0"),
    "layer twice": (GOOD.replace("layer=1 ", "layer=0 ").encode(), 4, "layer 0 stands twice"),
    "layer beyond": (GOOD.replace("n_layer=2", "n_layer=1").encode(), 5, "entry bytes of layer 1"),
    "turn falls": (GOOD.replace("0,0,0,0,0,1", "1,0,0,0,0,1").encode(), 7, "turn falls"),
    "model not UTF-8": (GOOD.encode().replace(b"toy.", b"\xff\xfe."), 2, "not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), 1, "NUL byte"),
    "old Mac line ends": (GOOD.replace("\n", "\r").encode(), 1, "mixed line ends"),
}


class TestRouteTraceRefusals:
    """Routing traces that are not sound: the error names file and line."""

    @pytest.mark.parametrize("name", sorted(BAD_ROWS))
    def test_a_bad_row_is_named_by_line(self, name: str, tmp_path: Path) -> None:
        """The last row is bad: the error says so, with its line."""
        row, problem = BAD_ROWS[name]
        text = GOOD.replace("0,0,0,1,1,0,0.5,0,5", row)
        assert text != GOOD
        path = written(tmp_path, text)
        with pytest.raises(InputError) as caught:
            read_route_trace(path)
        assert (caught.value.line, caught.value.source) == (9, str(path))
        assert problem in caught.value.problem

    @pytest.mark.parametrize("name", sorted(BAD_FILES))
    def test_a_bad_file_is_named_by_line(self, name: str, tmp_path: Path) -> None:
        """What is wrong above the rows, or with the file as a whole, has a line too."""
        content, line, problem = BAD_FILES[name]
        path = written(tmp_path, content)
        with pytest.raises(InputError) as caught:
            read_route_trace(path)
        assert (caught.value.line, caught.value.source) == (line, str(path))
        assert problem in caught.value.problem

    def test_numbers_that_claim_much_cost_nothing(self, tmp_path: Path) -> None:
        """Nothing is allocated by what a file claims: 10^9 experts or layers are refused first."""
        tracemalloc.start()
        try:
            for claim in ("n_expert=1000000000", "n_layer=1000000000", "layer=1000000000"):
                key = claim.partition("=")[0]
                with pytest.raises(InputError):
                    read_route_trace(
                        written(tmp_path, GOOD.replace(f"{key}=", f"{claim} x{key}=", 1))
                    )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 << 20
