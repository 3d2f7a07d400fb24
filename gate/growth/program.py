"""Which program runs the turns of a trace, at given budgets, on any implementation of the expert cache?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.program import DECODE, PREFILL, Begin, End, Load, Operation, Program, SetBudget
from replay import traces
from replay.trace_session import TraceTurns


def program_of(turns: TraceTurns, budgets_bytes: Sequence[int]) -> Program:
    """Every turn as a generation, with its budget set before it begins; budgets are kept to the byte."""
    config = ExpertConfig(turns.shape, budgets_bytes[0] if budgets_bytes else 0, rules=EXACT_BYTES)
    return Program(config, tuple(_operations(turns, budgets_bytes)))


def _operations(turns: TraceTurns, budgets_bytes: Sequence[int]) -> Iterator[Operation]:
    trace = turns.trace
    for span, budget_bytes in zip(turns.spans, budgets_bytes, strict=True):
        yield SetBudget(budget_bytes)
        yield Begin()
        for batch in trace.batches[span.first : span.last]:
            phase = DECODE if batch.phase == traces.DECODE else PREFILL
            yield Load(batch.layer, tuple(trace.experts_of(batch)), phase)
        yield End()
