"""What must the loop keep, whatever the rule answers? The turns it runs are those of the reference cache.

Judged is a workload over a trace: something that plays turns at budgets and gives samples (replay/closed_loop.py). It
is held against reference/ alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gate.growth.program import program_of
from reference.expert_cache import ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.growth_events import Sample
from reference.laws import Broken, Finding, compare
from reference.program import Answer, SetBudget
from reference.run import run
from replay.closed_loop import TurnDone, Workload
from replay.prompts import token_by_token
from replay.sampled_curve import PREFILL, SAMPLES
from replay.trace_session import TraceTurns
from replay.traces import Batch

MakeWorkload = Callable[[TraceTurns, str], Workload]


def judge_loop(
    make: MakeWorkload, turns: TraceTurns, budgets_bytes: Sequence[int]
) -> list[tuple[str, Broken]]:
    """Every law that does not hold for turns run at these budgets, with the first place where it does not."""
    found = []
    for name, law in LOOP_LAWS.items():
        broken = next((finding for finding in law(make, turns, budgets_bytes) if finding), None)
        if broken:
            found.append((name, broken))
    return found


def _same_turns(
    make: MakeWorkload, turns: TraceTurns, budgets_bytes: Sequence[int]
) -> Iterable[Finding]:
    """Each turn hits, reads and holds what the reference session does under the same budgets, set between turns."""
    workload = make(turns, PREFILL)
    done = [workload.play(number, budget) for number, budget in enumerate(budgets_bytes)]
    for number, (mine, theirs) in enumerate(
        zip(done, _reference(turns, budgets_bytes), strict=True)
    ):
        yield compare(number + 1, "hits, read, held", theirs, _seen(mine))


def _seen(done: TurnDone) -> tuple[int, int, int]:
    return done.decode.hits, done.decode.read_bytes, done.work.resident_bytes


def _reference(turns: TraceTurns, budgets_bytes: Sequence[int]) -> list[tuple[int, int, int]]:
    """Decode hits, decode bytes read, and bytes held at the end, by turn."""
    program = program_of(turns, budgets_bytes)
    found, before = [], (0, 0)
    held = zip(program.operations, run(program).answers, strict=True)
    last: Answer | None = None
    for operation, answer in held:
        if isinstance(operation, SetBudget) and last is not None:
            found.append(_since(before, last))
            before = _decoded(last)
        last = answer
    return [*found, _since(before, last)] if last else found


def _decoded(answer: Answer) -> tuple[int, int]:
    return answer.counters["decode_hits"], answer.counters["decode_read_bytes"]


def _since(before: tuple[int, int], answer: Answer) -> tuple[int, int, int]:
    hits, read_bytes = _decoded(answer)
    return hits - before[0], read_bytes - before[1], answer.counters["resident_bytes"]


def _samples(
    make: MakeWorkload, turns: TraceTurns, budgets_bytes: Sequence[int]
) -> Iterable[Finding]:
    """A sample counts what the reference cache hits, cold, at each legal budget, when its tokens come one by one: the
    prompt of the latest turn that has one, or everything up to the end of the turn."""
    for kind in SAMPLES:
        workload = make(turns, kind)
        for number in range(len(turns.spans)):
            expected = _expected_sample(turns, kind, number)
            yield compare(number + 1, f"{kind} sample", expected, workload.sample(number))


def _expected_sample(turns: TraceTurns, kind: str, number: int) -> Sample | None:
    batches = turns.trace.batches
    if kind == PREFILL:
        prompts = [span for span in turns.spans[: number + 1] if span.has_prefill]
        routed = batches[prompts[-1].first : prompts[-1].decode] if prompts else []
    else:
        routed = batches[: turns.spans[number].last]
    if not routed:
        return None
    steps = token_by_token(routed, turns.trace.expert_used)
    hits = [_reference_hits(turns, steps, budget_bytes) for budget_bytes in turns.legal]
    return Sample(sum(len(set(turns.trace.experts_of(step))) for step in steps), tuple(hits))


def _reference_hits(turns: TraceTurns, steps: Sequence[Batch], budget_bytes: int) -> int:
    cache = ExpertCache(ExpertConfig(turns.shape, budget_bytes, rules=EXACT_BYTES))
    for step in steps:
        cache.load(step.layer, turns.trace.experts_of(step), decode=True)
    return cache.counters.hits


LOOP_LAWS = {"loop/reference-turns": _same_turns, "loop/samples": _samples}
"""By name."""
