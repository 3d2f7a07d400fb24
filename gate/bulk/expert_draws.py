"""Which small runs of an expert cache are drawn? Tokens and prompts of small models, at budgets that matter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fixtures.expert_shapes import SIZES
from gate.bulk.expert_runs import ExpertRuns
from gate.bulk.sums import Mask
from reference.expert_config import Rules
from reference.sizing import ModelShape, cliff_bytes, token_demand_bytes, total_expert_bytes
from replay.gathers import Gathers
from replay.hashing import I64

BUDGETS = 8
"""Of each sequence, or as many fewer as divide the number of runs."""

MOST_LAYERS, MOST_EXPERTS, MOST_K, MOST_BATCHES = 4, 6, 3, 24
PREFILL_SHARE = 0.15


def draw_expert_runs(
    draw: np.random.Generator, count: int, rules: Rules, policy: str
) -> ExpertRuns:
    """So many runs of small models; policy lru or layer."""
    budgets = next(some for some in range(BUDGETS, 0, -1) if count % some == 0)
    shapes = _shapes(draw, count // budgets)
    lengths = draw.integers(1, MOST_BATCHES + 1, len(shapes))
    sequence = np.repeat(np.arange(len(shapes)), lengths)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    layer = _layers(draw, shapes, sequence, np.arange(len(sequence)) - starts[sequence])
    prefill = draw.random(len(sequence)) < PREFILL_SHARE
    batches = _batches(draw, shapes, sequence, layer, prefill)
    requests = _requests(draw, shapes, budgets)
    return ExpertRuns(rules, policy, shapes, requests, starts, layer, ~prefill, batches)


def _shapes(draw: np.random.Generator, count: int) -> list[ModelShape]:
    layers = draw.integers(1, MOST_LAYERS + 1, count).tolist()
    family = draw.integers(0, len(SIZES), count).tolist()
    place = draw.integers(0, 1 << 20, (count, MOST_LAYERS)).tolist()
    experts = draw.integers(1, MOST_EXPERTS + 1, (count, MOST_LAYERS)).tolist()
    k = draw.integers(1, MOST_K + 1, count).tolist()
    return [
        ModelShape(
            tuple(SIZES[family[at]][p % len(SIZES[family[at]])] for p in place[at][: layers[at]]),
            tuple(experts[at][: layers[at]]),
            k[at],
        )
        for at in range(count)
    ]


def _padded(rows: Sequence[tuple[int, ...]]) -> I64:
    """Numbers of each layer as an array; layers that are not there have 0."""
    return np.array([row + (0,) * (MOST_LAYERS - len(row)) for row in rows], dtype=np.int64)


def _layers(
    draw: np.random.Generator, shapes: Sequence[ModelShape], sequence: I64, place: I64
) -> I64:
    """The layer of each batch, the `place`-th of its sequence: in two of three sequences in order, else any."""
    count = np.array([len(shape.entry_bytes) for shape in shapes])[sequence]
    in_order = (draw.random(len(shapes)) < 2 / 3)[sequence]
    layer: I64 = np.where(in_order, place % count, draw.integers(0, count))
    return layer


def _batches(
    draw: np.random.Generator,
    shapes: Sequence[ModelShape],
    sequence: I64,
    layer: I64,
    prefill: Mask,
) -> Gathers:
    """The experts of each batch: of a token k different ones, of a prompt any, with repeats.

    Those of a token stand side by side from a drawn one on, upwards or down. Half the sequences have hot experts.
    """
    known = _padded([shape.experts for shape in shapes])[sequence, layer]
    k = np.array([shape.k for shape in shapes])[sequence]
    widths = np.where(prefill, draw.integers(1, 3 * known), np.minimum(k, known))
    offsets = np.concatenate(([0], np.cumsum(widths)))
    batch = np.repeat(np.arange(len(known)), widths)
    power = np.where(draw.random(len(shapes)) < 0.5, 1, 3)[sequence]
    first = (known * draw.random(len(known)) ** power).astype(np.int64)
    way = np.where(draw.random(len(known)) < 0.5, 1, -1)
    token = (first[batch] + way[batch] * (np.arange(len(batch)) - offsets[batch])) % known[batch]
    prompt = (known[batch] * draw.random(len(batch)) ** power[batch]).astype(np.int64)
    return Gathers(np.where(prefill[batch], prompt, token).astype(np.uint64), offsets)


def _requests(draw: np.random.Generator, shapes: Sequence[ModelShape], budgets: int) -> I64:
    """Budgets at and beside what some experts take together, whole cycles, the cliff and the edges.

    Thresholds are sums of entries, so most budgets are one, or a byte more or less.
    """
    shape = (len(shapes), budgets)
    taken = draw.integers(
        0, _padded([s.experts for s in shapes])[:, None] + 1, (*shape, MOST_LAYERS)
    )
    entries = (taken * _padded([s.entry_bytes for s in shapes])[:, None]).sum(axis=2)
    demand = np.array([token_demand_bytes(s) for s in shapes])[:, None]
    edges = np.array([(0, 1, cliff_bytes(s), total_expert_bytes(s)) for s in shapes])
    edge = np.take_along_axis(edges, draw.integers(0, edges.shape[1], shape), axis=1)
    kind = draw.integers(0, 6, shape)
    requests = np.select([kind < 3, kind < 5], [entries, draw.integers(0, 5, shape) * demand], edge)
    beside: I64 = np.maximum(0, requests + draw.integers(-1, 2, shape))
    return beside
