"""What would a prompt have routed had its tokens been decoded one after the other?

A sizing rule can learn the hit curve from a prefill only this way: it needs the ordered ids, since counters by layer
cannot drive an LRU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from replay.traces import DECODE, PREFILL, Batch, RouteTrace


def prefill_as_decode(trace: RouteTrace) -> RouteTrace:
    """The prefill of a trace of one prefill graph a turn, as decode steps."""
    prefill = [batch for batch in trace.batches if batch.phase == PREFILL]
    return replace(trace, batches=token_by_token(prefill, trace.expert_used))


def token_by_token(batches: Iterable[Batch], k: int) -> list[Batch]:
    """The same routings with each prefill graph taken apart into decode steps; decode batches stay.

    The last MoE layer routes only the final token of a prefill, so the other steps have no batch of that layer.
    """
    apart: list[Batch] = []
    graph: list[Batch] = []
    for batch in batches:
        if graph and (
            batch.phase == DECODE or batch.turn != graph[-1].turn or batch.layer <= graph[-1].layer
        ):
            apart += _steps(graph, k)
            graph = []
        if batch.phase == DECODE:
            apart.append(batch)
        else:
            graph.append(batch)
    return apart + list(_steps(graph, k))


def _steps(graph: Sequence[Batch], k: int) -> Iterator[Batch]:
    """One prefill graph by token, then layer."""
    tokens = max((batch.row_count for batch in graph), default=0) // k
    steps = [
        Batch(batch.turn, DECODE, step, batch.layer, row, k)
        for batch in graph
        for step, row in _rows_by_step(batch, tokens, k)
    ]
    yield from sorted(steps, key=lambda batch: (batch.step, batch.layer))


def _rows_by_step(batch: Batch, tokens: int, k: int) -> Iterable[tuple[int, int]]:
    """Step and first row of each token in a prefill batch; a short batch holds the last tokens."""
    rows = range(batch.first_row, batch.first_row + batch.row_count, k)
    return enumerate(rows, tokens - len(rows))
