"""Which laws does dropping cold experts keep? Each load is judged by what was seen to be resident before it.

Source: `--drop-cold-experts` of Helldez/BigMoeOnEdge at 2d4f2b1; the rule itself is reference/dropping.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference.backing_store import digest, expert_key, value
from reference.dropping import drop_cold
from reference.expert_counter_laws import config_of
from reference.laws import (
    EXPERT,
    Case,
    Finding,
    Registry,
    all_of,
    columns,
    compare,
    grown,
    hexadecimal,
    offered,
    one_column,
)
from reference.program import Answer, Load
from reference.speculation_queue import Residents, SpeculationQueue
from reference.timeline import Step

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]


def routed(case: Case) -> Iterator[tuple[Step, Answer, Answer, tuple[int, ...], int]]:
    """Each single load on a cache that is on, with the ids it must load and how many slots it must drop."""
    queue, seen_layers = SpeculationQueue(), set[int]()
    for step, before, after in case.around() if config_of(case).dropping.fraction else ():
        if before.resident is None:
            return
        ready = before.resident | queue.take(step, before.resident).integrated
        if step.is_load:
            if step.times == 1 and step.budget_before:
                first = step.layer not in seen_layers
                yield step, before, after, *_dropped(case, step, ready, first)
            seen_layers.add(step.layer)


def _dropped(case: Case, step: Step, ready: Residents, first: bool) -> tuple[tuple[int, ...], int]:
    act, dropping, shape = step.operation, config_of(case).dropping, step.shape
    assert isinstance(act, Load)
    if first or not act.weights or not (step.is_decode or dropping.in_prefill):
        return act.experts, 0
    width = min(shape.k, shape.experts[step.layer])
    return drop_cold(
        act.experts,
        act.weights,
        width,
        dropping.fraction / shape.k,
        lambda expert: (step.layer, expert) in ready,
    )


def _valid(step: Step, experts: Iterable[int]) -> list[int]:
    return [expert for expert in experts if expert < step.shape.experts[step.layer]]


@LAWS.law(
    "dropping/as-the-rule-says", 2, one_column("experts_dropped", "lookups", also=("dropping",))
)
def as_the_rule_says(case: Case) -> Findings:
    """A slot is dropped iff it is not its token's heaviest, not resident, and lighter than F / k."""
    for step, before, after, experts, dropped in routed(case):
        if offered(after, "experts_dropped"):
            got = grown(before, after, "experts_dropped")
            yield compare(step.number, "experts_dropped counted", dropped, got)
        if offered(after, "lookups"):
            lookups, got = len(set(_valid(step, experts))), grown(before, after, "lookups")
            yield compare(step.number, "lookups counted", lookups, got)


@LAWS.law("dropping/top-expert-delivered", 2, all_of("dropping"))
def top_expert_delivered(case: Case) -> Findings:
    """A dropped slot delivers the bytes of its token's heaviest expert, every other slot its own."""
    for step, before, after, experts, _ in routed(case):
        if after.hits is None or before.resident is None or step.failing:
            continue
        whole = digest(value(expert_key(step.layer, expert)) for expert in _valid(step, experts))
        yield compare(step.number, "digest", hexadecimal(whole), hexadecimal(after.digest))


@LAWS.law("dropping/none-in-the-first-batch", 0, all_of("dropping", *columns("experts_dropped")))
def none_in_the_first_batch(case: Case) -> Findings:
    """Nothing is dropped from a layer's first batch, nor in prefill unless asked for, nor without weights."""
    seen_layers = set[int]()
    for step, before, after in case.around() if config_of(case).dropping.fraction else ():
        if not step.is_load or not offered(after, "experts_dropped"):
            continue
        assert isinstance(step.operation, Load)
        armed = step.is_decode or config_of(case).dropping.in_prefill
        sure = step.layer not in seen_layers and step.times == 1
        if sure or not armed or not step.operation.weights or not step.budget_before:
            got = grown(before, after, "experts_dropped")
            yield compare(step.number, "experts_dropped counted", 0, got)
        seen_layers.add(step.layer)
