"""How is a routing trace read: which experts each layer of each graph asked for, in file order?

`read_route_trace(path)` gives a `RouteTrace`. Format: Helldez/BigMoeOnEdge at 2d4f2b1,
`--route-trace`, "route_trace v1". The rules are column by column over a whole block of rows;
when anything in a block is off, replay/trace_faults.py finds the row and names it.
"""

from __future__ import annotations

from itertools import chain, compress, count, repeat
from operator import ne
from pathlib import Path
from typing import NoReturn

from reference.errors import InputError, printable
from replay.lines import header_columns, preamble_pairs, read_blocks
from replay.trace_faults import NUMBER, REAL_CHARACTERS, explain
from replay.trace_values import (
    DECODE,
    MAX_EXPERTS,
    MAX_LAYERS,
    MAX_NUMBER,
    MAX_SKIPPED_LINES,
    MAX_USED,
    PREFILL,
    Batch,
    RouteTrace,
)

__all__ = ["DECODE", "PREFILL", "Batch", "RouteTrace", "read_route_trace"]

REQUIRED_COLUMNS = frozenset(
    ("turn", "phase", "step", "layer", "slot", "expert", "residency", "expert_bytes")
)


def read_route_trace(path: str | Path) -> RouteTrace:
    """Read a routing trace.

    Raises:
        InputError: the file is no readable trace, a row is malformed or out of range, a routed
            layer has no recorded entry bytes, or there is no row. It names the line.
    """
    reader = _Reader(str(path))
    for first_line, text in read_blocks(path):
        reader.take(first_line, text)
    return reader.finish()


class _Reader:
    """The state of one reading: preamble first, then blocks of rows."""

    def __init__(self, source: str) -> None:
        self.trace = RouteTrace(source)
        self.names: list[str] = []
        self.last_key: tuple[int, int, int, int] | None = None
        self.layer_fell: set[int] = set()
        self.step_unknown: set[int] = set()
        self.highest_slot = 0

    def take(self, line: int, text: str) -> None:
        """Take one block of whole lines that starts at `line`."""
        while not self.names and text:
            head, _, text = text.partition("\n")
            self._take_head(line, head)
            line += 1
        if text:
            self._take_rows(line, text)

    def _take_head(self, line: int, head: str) -> None:
        if head.startswith("#"):
            self._take_preamble(line, head)
        elif head.strip():
            self.names = header_columns(head, REQUIRED_COLUMNS, self.trace.source, line)
            self.trace.first_row_line = line + 1
            self._settle_preamble(line)

    def _take_preamble(self, line: int, comment: str) -> None:
        if comment.startswith("# route_trace") and comment.split()[2:] != ["v1"]:
            self._fault(f"`{printable(comment)}`", line, "# route_trace v1")
        pairs = preamble_pairs(comment)
        if {"layer", "expert_bytes"} <= pairs.keys():
            layer = self._preamble_number(pairs["layer"], line, MAX_LAYERS - 1)
            if layer in self.trace.entry_bytes:
                self._fault(f"layer {layer} stands twice in the preamble", line)
            entry = self._preamble_number(pairs["expert_bytes"], line, MAX_NUMBER)
            self.trace.entry_bytes[layer] = entry
            return
        for name, high in (
            ("n_layer", MAX_LAYERS),
            ("n_expert", MAX_EXPERTS),
            ("n_expert_used", MAX_USED),
        ):
            if name not in pairs:
                continue
            if not self._preamble_number(pairs[name], line, high):
                self._fault(f"{name}=0", line, "at least 1")
            before = self.trace.preamble.get(name, pairs[name])
            if before != pairs[name]:
                self._fault(f"{name}={pairs[name]}, but {name}={before} above", line, "one value")
        self.trace.preamble.update(pairs)

    def _preamble_number(self, text: str, line: int, high: int) -> int:
        if not NUMBER.fullmatch(text) or not 0 <= int(text) <= high:
            self._fault(f"`{printable(text)}` in the preamble", line, f"a number from 0 to {high}")
        return int(text)

    def _settle_preamble(self, line: int) -> None:
        """Before the first row: the model's sizes, and layers without entries left out."""
        trace, said = self.trace, self.trace.preamble
        trace.model, trace.arch = said.get("model", ""), said.get("arch", "")
        highest = max(trace.entry_bytes, default=-1) + 1
        trace.layer_count = int(said.get("n_layer", highest))
        if highest > trace.layer_count:
            self._fault(
                f"entry bytes of layer {highest - 1}, but n_layer={trace.layer_count}", line
            )
        trace.expert_count = int(said.get("n_expert", 0))
        trace.expert_used = int(said.get("n_expert_used", 0))
        trace.derived = tuple(k for k in ("n_layer", "n_expert", "n_expert_used") if k not in said)
        # A dense layer is written with expert_bytes=0 or not at all: it has no entries.
        trace.entry_bytes = {at: size for at, size in trace.entry_bytes.items() if size}
        if "weight" in self.names:
            trace.weight = []
        if "dropped" in self.names:
            trace.dropped = []

    def _take_rows(self, line: int, text: str) -> None:
        rows = text.removesuffix("\n").split("\n")
        if "#" in text or "" in rows:
            aside = [line + i for i, row in enumerate(rows) if not row or row.startswith("#")]
            self.trace.skipped_lines += aside
            if len(self.trace.skipped_lines) > MAX_SKIPPED_LINES:
                self._fault("too many comments and empty lines", aside[-1], "rows of a trace")
            rows = [row for row in rows if row and not row.startswith("#")]
        if not rows:
            return
        try:
            self._take_columns(rows)
        except (ValueError, KeyError):
            raise explain(self.trace, self.names, rows) from None

    def _take_columns(self, rows: list[str]) -> None:
        """Check and keep a block of rows, column by column; ValueError if anything is off."""
        width, trace = len(self.names), self.trace
        if set(map(str.count, rows, repeat(","))) != {width - 1}:
            raise ValueError
        fields = ",".join(rows).split(",")
        column = {name: fields[i::width] for i, name in enumerate(self.names)}
        expert_high = (trace.expert_count or MAX_EXPERTS) - 1
        slot_high = (trace.expert_used or MAX_USED) - 1
        turn = _integers(column["turn"], self.last_key[0] if self.last_key else 0, MAX_NUMBER)
        if turn != sorted(turn):
            raise ValueError
        phase = _integers(column["phase"], PREFILL, DECODE)
        step = _integers(column["step"], -1, MAX_NUMBER)
        layer = _integers(column["layer"], 0, trace.layer_count - 1)
        if not trace.entry_bytes.keys() >= set(layer):
            raise ValueError
        self.highest_slot = max(self.highest_slot, *_integers(column["slot"], 0, slot_high))
        expert = _integers(column["expert"], 0, expert_high)
        residency = _integers(column["residency"], 0, 2)
        row_bytes = _integers(column["expert_bytes"], 0, MAX_NUMBER)
        weight = _reals(column["weight"]) if trace.weight is not None else []
        dropped = _integers(column["dropped"], 0, 1) if trace.dropped is not None else []
        self._cut_batches(turn, phase, step, layer)
        trace.expert += expert
        trace.residency += residency
        trace.row_expert_bytes += row_bytes
        if trace.weight is not None:
            trace.weight += weight
        if trace.dropped is not None:
            trace.dropped += dropped

    def _cut_batches(
        self, turn: list[int], phase: list[int], step: list[int], layer: list[int]
    ) -> None:
        """Start a batch where turn, phase or layer changes, and in decode where step does."""
        mark = [at if kind else -2 for at, kind in zip(step, phase, strict=True)]
        keys = list(zip(turn, phase, mark, layer, strict=True))
        starts = list(compress(count(), map(ne, keys, chain((self.last_key,), keys))))
        base, trace = self.trace.row_count, self.trace
        ends = [*starts[1:], len(keys)]
        if not starts or starts[0]:
            grown = trace.batches.pop()
            rows = grown.row_count + (starts[0] if starts else len(keys))
            trace.batches.append(grown._replace(row_count=rows))
        for at, end in zip(starts, ends, strict=False):
            if trace.batches:
                self._note_order(trace.batches[-1], turn[at], phase[at], layer[at])
            if step[at] < 0:
                self.step_unknown.add(turn[at])
            trace.batches.append(
                Batch(turn[at], phase[at], step[at], layer[at], base + at, end - at)
            )
        self.last_key = keys[-1]

    def _note_order(self, before: Batch, turn: int, phase: int, layer: int) -> None:
        """Within one phase of a turn, a layer that falls back begins the next graph."""
        if turn == before.turn and phase == before.phase and layer <= before.layer:
            self.layer_fell.add(turn * 2 + phase)

    def _fault(self, problem: str, line: int, expected: str = "") -> NoReturn:
        raise InputError(problem, source=self.trace.source, line=line, expected=expected)

    def finish(self) -> RouteTrace:
        """The trace, once the last block is taken."""
        trace = self.trace
        if not self.names:
            self._fault(
                "no header line", 1, f"a header that names {', '.join(sorted(REQUIRED_COLUMNS))}"
            )
        if not trace.batches:
            self._fault("a trace without rows", trace.first_row_line, "at least one routing")
        trace.expert_count = trace.expert_count or max(trace.expert) + 1
        trace.expert_used = trace.expert_used or self.highest_slot + 1
        for turn in sorted({batch.turn for batch in trace.batches}):
            ambiguous = turn in self.step_unknown and turn * 2 + PREFILL not in self.layer_fell
            trace.prefill_boundaries_known[turn] = not ambiguous
        return trace


def _integers(texts: list[str], low: int, high: int) -> list[int]:
    """The column as integers within [low, high]; ValueError if one is not."""
    known = {text: int(text) for text in set(texts) if NUMBER.fullmatch(text)}
    numbers = [known[text] for text in texts]
    if min(known.values()) < low or max(known.values()) > high:
        raise ValueError
    return numbers


def _reals(texts: list[str]) -> list[float]:
    """The column as floats, `nan` where the engine did not know it; ValueError if one is none."""
    if not REAL_CHARACTERS.issuperset("".join(texts)):
        raise ValueError
    return list(map(float, texts))
