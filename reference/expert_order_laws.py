"""Which laws does the order of the residents keep: who is recent, who leaves? Level 3.

Each step is judged by the victim orders that the implementation shows before and after it; nothing is modelled.
Source: the recency list of Helldez/BigMoeOnEdge at 2d4f2b1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference.eviction import Key
from reference.expert_counter_laws import config_of, drops
from reference.laws import EXPERT, Case, Finding, Registry, compare
from reference.program import Load, Retain
from reference.speculation_queue import SpeculationQueue
from reference.timeline import Step

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]
Order = tuple[Key, ...]


def seen(case: Case) -> Iterator[tuple[Step, Order, Order, frozenset[Key]]]:
    """Each step with the orders around it and what it integrated, without dropping; recency policies only."""
    queue = SpeculationQueue()
    known = config_of(case).policy in ("lru", "layer") and not drops(case)
    for step, before, after in case.around() if known else ():
        if before.order is None or after.order is None:
            return
        yield step, before.order, after.order, queue.take(step, frozenset(before.order)).integrated


def used(step: Step, there: Order) -> Order:
    """What a step uses, in the order of the last uses: the most recent last."""
    act = step.operation
    if step.is_load and step.budget_before:
        uses = [(step.layer, expert) for expert in step.valid]
    elif isinstance(act, Retain) and step.refusal == "":
        uses = [(act.layer, expert) for expert in act.experts if (act.layer, expert) in there]
    else:
        uses = []
    return tuple(dict.fromkeys(reversed(uses)))[::-1]


@LAWS.law("order/used-is-recent", 3)
def used_is_recent(case: Case) -> Findings:
    """What a load or a retain used stands last, in the order of the last occurrences."""
    for step, before, after, _ in seen(case):
        if isinstance(step.operation, Load) and step.operation.failing:
            continue
        uses = used(step, before)
        if uses:
            yield compare(step.number, "the most recent", uses, after[-len(uses) :])


@LAWS.law("order/nothing-else-moves", 3)
def nothing_else_moves(case: Case) -> Findings:
    """Entries that a step neither uses nor evicts keep their order."""
    for step, before, after, _ in seen(case):
        uses = set(used(step, before))
        stayed = [key for key in before if key in after and key not in uses]
        now = [key for key in after if key in before and key not in uses]
        yield compare(step.number, "the order of the others", stayed, now)


@LAWS.law("order/first-leave", 3)
def first_leave(case: Case) -> Findings:
    """Who leaves stood first: in its layer under policy layer, over all under lru; no expert of the batch leaves."""
    layers = config_of(case).shape.moe_layers
    for step, before, after, _ in seen(case):
        if isinstance(step.operation, Load) and (step.operation.failing or step.times > 1):
            continue
        batch = set(used(step, before))
        sliced = config_of(case).policy == "layer"
        for pool in layers if sliced else (None,):
            candidates = [k for k in before if k not in batch and pool in (None, k[0])]
            left = [key for key in candidates if key not in after]
            yield compare(step.number, "who left", candidates[: len(left)], left)
