"""Which laws do the counters of an expert cache keep, and its budget? Level 0.

Sources: the batch accounting of Helldez/BigMoeOnEdge at 2d4f2b1; budgets as
BigMoeOnEdge#103 and reference/expert_config.py state them.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference.expert_config import ExpertConfig
from reference.laws import (
    EXPERT,
    Broken,
    Case,
    Finding,
    Registry,
    all_of,
    any_of,
    at_most,
    columns,
    compare,
    grown,
    offered,
    one_column,
)
from reference.program import Load, Prefetch, SetBudget, SetK
from reference.sizing import legal_budgets, token_demand_bytes

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]

CUMULATIVE = (
    *("lookups", "hits", "decode_lookups", "decode_hits", "evictions", "rereads"),
    *("read_bytes", "decode_read_bytes", "resizes", "spec_read_bytes", "spec_experts"),
    *("spec_useful", "experts_routed", "experts_dropped"),
)
TOTALS = ("lookups", "hits", "read_bytes")
"""Each with a counter of decode loads alone beside it."""
OF_LOADS = ("hits", "read_bytes", "spec_useful")
"""What only a load moves."""
ROUTED = ("experts_routed", "experts_dropped", "lookups")
"""What dropping moves."""
PARTS = (
    *(("hits", "lookups"), ("decode_hits", "decode_lookups"), ("decode_hits", "hits")),
    *(("decode_lookups", "lookups"), ("decode_read_bytes", "read_bytes")),
    *(("spec_useful", "spec_experts"), ("spec_useful", "hits")),
    ("experts_dropped", "experts_routed"),
)
"""A counter and one that is never below it."""


def config_of(case: Case) -> ExpertConfig:
    assert isinstance(case.program.config, ExpertConfig)
    return case.program.config


def drops(case: Case) -> bool:
    return config_of(case).dropping.fraction > 0


def fails(case: Case) -> bool:
    return any(isinstance(step.operation, Load) and step.operation.failing for step in case.steps)


def speculates(case: Case) -> bool:
    return any(isinstance(step.operation, Prefetch) for step in case.steps)


# --- counters -------------------------------------------------------------------------------------


@LAWS.law("counters/zero-at-start", 0, one_column(*CUMULATIVE))
def zero_at_start(case: Case) -> Findings:
    """Every cumulative counter can be read as 0 before the first operation."""
    for name in CUMULATIVE:
        if offered(case.outcome.opened, name):
            yield compare(0, name, 0, case.outcome.opened.counters[name])


@LAWS.law("counters/never-fall", 0)
def never_fall(case: Case) -> Findings:
    """Cumulative counters never fall, and no counter is negative."""
    for step, before, after in case.around():
        for name in CUMULATIVE:
            if offered(after, name) and offered(before, name):
                yield at_most(
                    step.number,
                    f"{name} before the step",
                    after.counters[name],
                    before.counters[name],
                )
        for name, got in after.counters.items():
            yield at_most(step.number, f"{name} negated", 0, -got)


@LAWS.law("counters/parts-of-the-whole", 0, any_of(*(columns(*pair) for pair in PARTS)))
def parts_of_the_whole(case: Case) -> Findings:
    """Hits are at most lookups, and decode counts at most the totals."""
    for step, _, after in case.around():
        for part, whole in PARTS:
            if offered(after, part, whole):
                yield at_most(step.number, part, after.counters[whole], after.counters[part])


@LAWS.law("counters/one-lookup-an-expert", 0, all_of(*columns("lookups")))
def one_lookup_an_expert(case: Case) -> Findings:
    """A load counts one lookup for each distinct valid expert, none with the cache off."""
    for step, before, after in case.around():
        if offered(after, "lookups") and not (step.is_load and drops(case)):
            counted = len(step.distinct) * step.times if step.budget_before else 0
            yield compare(step.number, "lookups counted", counted, grown(before, after, "lookups"))


@LAWS.law("counters/phases-apart", 0, any_of(*(columns(name, f"decode_{name}") for name in TOTALS)))
def phases_apart(case: Case) -> Findings:
    """A prefill load leaves the decode counters alone; a decode load moves both alike."""
    for step, before, after in case.around():
        for total in TOTALS:
            decode = f"decode_{total}"
            if step.is_load and offered(after, total, decode):
                counted = grown(before, after, total) if step.is_decode else 0
                yield compare(
                    step.number, f"{decode} counted", counted, grown(before, after, decode)
                )


@LAWS.law("counters/quiet-operations", 0, one_column(*OF_LOADS, "evictions"))
def quiet_operations(case: Case) -> Findings:
    """Only a load counts lookups, hits and reads; only a load, a shrink or a smaller k evicts."""
    for step, before, after in case.around():
        if not step.is_load:
            for name in OF_LOADS:
                if offered(after, name):
                    yield compare(step.number, f"{name} counted", 0, grown(before, after, name))
            if offered(after, "evictions") and step.budget_after >= step.budget_before:
                yield compare(
                    step.number, "evictions counted", 0, grown(before, after, "evictions")
                )


@LAWS.law(
    "counters/residents-balance",
    0,
    all_of(*columns("lookups", "hits", "evictions", "resident_entries")),
)
def residents_balance(case: Case) -> Findings:
    """Entries that came in (misses, prefetches) less evictions are the entries resident."""
    if fails(case):
        return
    for step, before, after in case.around():
        if offered(after, "lookups", "hits", "evictions", "resident_entries"):
            came = grown(before, after, "lookups") - grown(before, after, "hits")
            came += grown(before, after, "spec_experts") if offered(after, "spec_experts") else 0
            left = grown(before, after, "evictions")
            yield compare(
                step.number,
                "resident entries gained",
                came - left,
                grown(before, after, "resident_entries"),
            )


@LAWS.law("counters/rereads-were-evicted", 0, all_of(*columns("rereads", "evictions")))
def rereads_were_evicted(case: Case) -> Findings:
    """There are at most as many re-reads as evictions, without prefetch and failed reads."""
    for step, _, after in case.around():
        if offered(after, "rereads", "evictions") and not speculates(case) and not fails(case):
            yield at_most(
                step.number, "rereads", after.counters["evictions"], after.counters["rereads"]
            )


@LAWS.law("counters/turns", 0, all_of(*columns("turn")))
def turns(case: Case) -> Findings:
    """A turn is counted when a generation ends, or is cancelled after its first decode."""
    for step, _, after in case.around():
        if offered(after, "turn"):
            yield compare(step.number, "turn", step.turn, after.counters["turn"])


@LAWS.law("counters/token-demand", 0, all_of(*columns("token_demand_bytes", "layer_demand_bytes")))
def token_demand(case: Case) -> Findings:
    """Token demand is the distinct bytes of the last complete pass over the layers, cache on or off."""
    if drops(case):
        return
    published = widest = 0
    asked: dict[int, int] = {}
    last_layer = -1
    for step, _, after in case.around():
        for _ in range(min(step.times, 3) if step.is_load else 0):
            if step.layer <= last_layer:
                published, widest, asked = sum(asked.values()), max(asked.values()), {}
            asked[step.layer] = len(step.distinct) * step.entry_bytes
            last_layer = step.layer
        if offered(after, "token_demand_bytes", "layer_demand_bytes"):
            yield compare(
                step.number, "token_demand_bytes", published, after.counters["token_demand_bytes"]
            )
            yield compare(
                step.number, "layer_demand_bytes", widest, after.counters["layer_demand_bytes"]
            )


@LAWS.law("counters/routed-and-dropped", 0, all_of("dropping", *columns(*ROUTED)))
def routed_and_dropped(case: Case) -> Findings:
    """With dropping, every decode slot counts as routed, and what is routed is looked up or dropped."""
    if not drops(case):
        return
    for step, before, after in case.around():
        if step.is_decode and step.budget_before and offered(after, *ROUTED):
            assert isinstance(step.operation, Load)
            seen = len(step.operation.experts) * step.times if step.operation.weights else 0
            yield compare(
                step.number, "experts_routed counted", seen, grown(before, after, "experts_routed")
            )
            if seen == len(step.distinct) * step.times:
                kept = seen - grown(before, after, "experts_dropped")
                yield compare(step.number, "lookups counted", kept, grown(before, after, "lookups"))


# --- budgets --------------------------------------------------------------------------------------


@LAWS.law("budget/as-requested", 0, all_of(*columns("budget_bytes")))
def as_requested(case: Case) -> Findings:
    """The budget is the request under the declared rule: floored to whole cycles, or kept to the byte."""
    if offered(case.outcome.opened, "budget_bytes"):
        opened = case.steps[0].budget_before if case.steps else None
        if opened is not None:
            yield compare(0, "budget_bytes", opened, case.outcome.opened.counters["budget_bytes"])
    for step, _, after in case.around():
        if offered(after, "budget_bytes"):
            yield compare(
                step.number, "budget_bytes", step.budget_after, after.counters["budget_bytes"]
            )


@LAWS.law(
    "budget/legal", 0, all_of("budget=cycles", "shrink_to_zero=off", *columns("budget_bytes"))
)
def legal(case: Case) -> Findings:
    """With whole-cycle budgets, the budget is 0 or a multiple of the token demand, up to the least that holds all."""
    if config_of(case).rules.budget != "cycles" or config_of(case).rules.shrink_to_zero != "off":
        return
    for step, _, after in case.around():
        if offered(after, "budget_bytes"):
            got = after.counters["budget_bytes"]
            demand = token_demand_bytes(step.shape)
            yield (
                None
                if got in legal_budgets(step.shape)
                else Broken(
                    step.number,
                    f"budget_bytes 0 or whole cycles of {demand}",
                    f"budget_bytes {got}",
                )
            )


@LAWS.law("budget/resizes-counted", 0, all_of(*columns("resizes")))
def resizes_counted(case: Case) -> Findings:
    """A change of the budget counts one resize; what changes nothing counts none."""
    for step, before, after in case.around():
        changes = isinstance(step.operation, SetBudget | SetK) and step.refusal == ""
        if not offered(after, "resizes") or (changes and config_of(case).rules.budget == "bytes"):
            continue
        counted = int(changes and step.budget_after != step.budget_before)
        yield compare(step.number, "resizes counted", counted, grown(before, after, "resizes"))


@LAWS.law("budget/never-above", 0, all_of(*columns("resident_bytes")))
def never_above(case: Case) -> Findings:
    """After a load at most max(budget, bytes of its batch) is resident; after a shrink at most the budget."""
    if config_of(case).policy in ("layer", "layerlfu"):
        return
    for step, _, after in case.around():
        if not offered(after, "resident_bytes"):
            continue
        got = after.counters["resident_bytes"]
        if step.is_load and step.budget_before:
            allowed = max(step.budget_after, len(step.distinct) * step.entry_bytes)
            if config_of(case).rules.failed_read == "absent" or not step.failing:
                yield at_most(step.number, "resident_bytes", allowed, got)
        elif step.budget_after < step.budget_before or not step.budget_after:
            yield at_most(step.number, "resident_bytes", step.budget_after, got)


@LAWS.law("budget/evicts-no-more-than-needed", 0, all_of(*columns("evictions", "resident_bytes")))
def evicts_no_more(case: Case) -> Findings:
    """lru: a load evicts nothing while everything fits, and stops as soon as it does."""
    config = config_of(case)
    if config.policy != "lru" or fails(case):
        return
    largest = max(config.shape.entry_bytes, default=0)
    for step, before, after in case.around():
        shrinks = step.budget_after < step.budget_before
        if not (step.is_load or shrinks) or not offered(after, "evictions", "resident_bytes"):
            continue
        if step.budget_after and grown(before, after, "evictions"):
            freed_too_many = step.budget_after - largest - after.counters["resident_bytes"]
            yield at_most(step.number, "bytes freed beyond the largest entry", -1, freed_too_many)
