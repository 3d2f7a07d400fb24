"""Which lookups does a routing trace make? The form the fast engines work on.

A lookup is one distinct expert of one batch; the recency order a batch leaves is that of the last occurrences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

from reference.errors import InputError
from reference.sizing import ModelShape
from replay.traces import DECODE, RouteTrace

MOST_BYTES = (1 << 64) - 1
"""All experts together have fewer bytes, so that NEVER (replay/thresholds.py) is above every threshold."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive batches of one phase of one turn: batches `first` to `last - 1`."""

    turn: int
    decode: bool
    first: int
    last: int


@dataclass(slots=True)
class Lookups:
    """The lookups of a sequence of batches.

    Attributes:
        key: index of the expert each lookup is of, batch by batch, in order of first occurrence.
        touched: the same experts of each batch, in order of last occurrence.
        offsets: where each batch starts in `key` and `touched`, and their length.
        layer: the layer of each batch.
        key_bytes, key_layer: entry bytes and layer of each expert index.
        segments: the batches by turn and phase.
        slices: into how many parts policy `layer` divides a budget: the model's MoE layers.
    """

    key: list[int] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    layer: list[int] = field(default_factory=list)
    key_bytes: list[int] = field(default_factory=list)
    key_layer: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    slices: int = 1

    def first_touches(self) -> list[int]:
        """How many lookups of each segment are the first of their expert."""
        counts = []
        seen = 0
        for segment in self.segments:
            highest = max(self.key[: self.offsets[segment.last]], default=-1) + 1
            counts.append(highest - seen)
            seen = highest
        return counts

    def layers(self) -> list[int]:
        """The layers that are looked up, ascending."""
        return sorted(set(self.layer))


def lookups_of(trace: RouteTrace) -> Lookups:
    """The lookups of all turns of a trace, in file order.

    Raises:
        InputError: the batches of a prefill cannot be told apart, so their lookups are unknown; or the experts have
            MOST_BYTES or more together.
    """
    for turn, known in trace.prefill_boundaries_known.items():
        if not known:
            raise InputError(
                f"the prefill of turn {turn} ran in several graphs whose boundaries the trace does not show",
                source=trace.source,
                expected="two or more MoE layers in every graph, or a prefill in one graph",
                cure="record again without --ubatch",
            )
    found = Lookups()
    index: dict[int, int] = {}
    stride = trace.expert_count
    for batch in trace.batches:
        ids = trace.expert[batch.first_row : batch.first_row + batch.row_count]
        base = batch.layer * stride
        keys = [index.setdefault(base + expert, len(index)) for expert in ids]
        distinct = dict.fromkeys(keys)
        found.key += distinct
        found.touched += distinct if len(distinct) == len(keys) else _by_last_occurrence(keys)
        found.offsets.append(len(found.key))
    found.layer = [batch.layer for batch in trace.batches]
    found.key_layer = [key // stride for key in index]
    found.key_bytes = [trace.entry_bytes[layer] for layer in found.key_layer]
    if sum(found.key_bytes) >= MOST_BYTES:
        raise InputError(
            f"its experts have {sum(found.key_bytes)} bytes together",
            source=trace.source,
            expected=f"less than {MOST_BYTES} bytes",
        )
    found.segments = _segments(trace)
    found.slices = len(trace.moe_layers)
    return found


def _by_last_occurrence(keys: list[int]) -> list[int]:
    return list(dict.fromkeys(reversed(keys)))[::-1]


def _segments(trace: RouteTrace) -> list[Segment]:
    segments, first = [], 0
    for (turn, phase), group in groupby(trace.batches, key=lambda batch: batch[:2]):
        last = first + sum(1 for _ in group)
        segments.append(Segment(turn, phase == DECODE, first, last))
        first = last
    return segments


def shape_of(trace: RouteTrace) -> ModelShape:
    """The model's shape as the trace's preamble records it; layers it does not list are dense."""
    layers = range(trace.layer_count)
    return ModelShape(
        tuple(trace.entry_bytes.get(layer, 0) for layer in layers),
        tuple(trace.expert_count if layer in trace.entry_bytes else 0 for layer in layers),
        trace.expert_used,
    )
