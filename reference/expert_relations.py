"""Which laws relate several runs of an expert cache: budgets compared, operations left out, the reference beside it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reference.expert_counter_laws import config_of, drops, fails, speculates
from reference.laws import (
    EXPERT,
    Broken,
    Case,
    Finding,
    Registry,
    all_of,
    columns,
    compare,
)
from reference.lockstep import differences
from reference.program import Outcome, Program, Retain, SetBudget, SetK
from reference.sizing import token_demand_bytes

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]


@LAWS.law("lockstep/reference", 0)
def lockstep(case: Case) -> Findings:
    """Every answer is the reference's, at every level the implementation offers."""
    yield from differences(case.program, case.outcome)


@LAWS.law("runs/same-again", 0, again=True)
def same_again(case: Case) -> Findings:
    """The same program gives the same outcome again."""
    again = case.run(case.program)
    for step, first, second in zip(case.steps, case.outcome.answers, again.answers, strict=True):
        yield compare(step.number, "the second run answers", first, second)


@LAWS.law("runs/hits-rise-with-the-budget", 0, all_of(*columns("hits")), again=True)
def hits_rise(case: Case) -> Findings:
    """lru and layer without retain and prefetch: one cycle more of budget never loses a hit."""
    config = config_of(case)
    if config.policy not in ("lru", "layer") or speculates(case) or drops(case) or fails(case):
        return
    if any(isinstance(step.operation, Retain | SetBudget | SetK) for step in case.steps):
        return
    richer = config.budget_bytes + token_demand_bytes(config.shape)
    other = Program(replace(config, budget_bytes=richer), case.program.operations)
    if not case.steps or not case.steps[0].budget_before:
        return
    for step, less, more in zip(
        case.steps, case.outcome.answers, case.run(other).answers, strict=True
    ):
        if {"hits"} <= less.counters.keys() & more.counters.keys():
            few, many = less.counters["hits"], more.counters["hits"]
            yield (
                None
                if few <= many
                else Broken(step.number, f"{few} hits or more", f"{many} hits", other)
            )


@LAWS.law("runs/refused-may-be-left-out", 0, again=True)
def refused_may_be_left_out(case: Case) -> Findings:
    """Leaving out the operations that are refused changes no other answer."""
    kept = [at for at, step in enumerate(case.steps) if not step.refusal or step.times > 1]
    if len(kept) == len(case.steps):
        return
    shorter = Program(case.program.config, tuple(case.program.operations[at] for at in kept))
    outcome: Outcome = case.run(shorter)
    for at, answer in zip(kept, outcome.answers, strict=True):
        yield compare(at + 1, "without what is refused", answer, case.outcome.answers[at])
