"""Which laws do the answers of an expert cache keep: refusals, hits, reads, delivered bytes, residency, the cliff?

Sources: the batch accounting of Helldez/BigMoeOnEdge at 2d4f2b1; refusals, failed reads and the cliff as
BigMoeOnEdge#103 and reference/expert_config.py state them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from reference import oracles
from reference.backing_store import digest, expert_key, value
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
    grown,
    hexadecimal,
    offered,
    shown,
)
from reference.program import Ask, Prefetch, Retain, SetBudget, SetK
from reference.sizing import cliff_bytes, token_demand_bytes
from reference.timeline import Step

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]


# --- results of operations ------------------------------------------------------------------------


@LAWS.law("answers/refusals", 1)
def refusals(case: Case) -> Findings:
    """What is out of place is refused by its name; what is in place is carried out."""
    for step, _, after in case.around():
        if step.refusal is not None:
            expected = step.refusal or "nothing, carried out"
            yield compare(
                step.number, "refused as", expected, after.refusal or "nothing, carried out"
            )


@LAWS.law("answers/hits-add-up", 1)
def hits_add_up(case: Case) -> Findings:
    """The hit flags of a load are one an expert, and add up to the hits counted."""
    for step, before, after in case.around():
        if step.is_load and after.hits is not None and not drops(case):
            yield compare(step.number, "hit flags", len(step.distinct), len(after.hits))
            if step.times == 1 and offered(after, "hits"):
                yield compare(
                    step.number, "hits counted", sum(after.hits), grown(before, after, "hits")
                )


@LAWS.law("answers/reads-are-the-misses", 1)
def reads_are_the_misses(case: Case) -> Findings:
    """A load reads the bytes of its misses and no others; with the cache off, of all its experts."""
    for step, before, after in case.around():
        if step.is_load and after.hits is not None and not drops(case):
            read_bytes = (len(after.hits) - sum(after.hits)) * step.entry_bytes
            if after.read_bytes is not None:
                yield compare(step.number, "read bytes", read_bytes, after.read_bytes)
            if step.times == 1 and offered(after, "read_bytes"):
                yield compare(
                    step.number,
                    "read_bytes counted",
                    read_bytes,
                    grown(before, after, "read_bytes"),
                )


@LAWS.law("answers/rereads-seen-before", 1, all_of(*columns("rereads")))
def rereads_seen_before(case: Case) -> Findings:
    """A miss counts as re-read iff the expert was used before, without prefetch and failures."""
    if fails(case) or speculates(case) or drops(case):
        return
    seen: set[tuple[int, int]] = set()
    for step, before, after in case.around():
        if step.is_load and step.budget_before:
            if after.hits is not None and step.times == 1 and offered(after, "rereads"):
                missed = [e for e, hit in zip(step.distinct, after.hits, strict=False) if not hit]
                again = sum((step.layer, expert) in seen for expert in missed)
                yield compare(
                    step.number, "rereads counted", again, grown(before, after, "rereads")
                )
            seen.update((step.layer, expert) for expert in step.distinct)


@LAWS.law("answers/delivered-bytes", 1)
def delivered_bytes(case: Case) -> Findings:
    """Every load delivers each expert's own bytes in routing order; a failed read delivers nothing."""
    if drops(case):
        return
    for step, _, after in case.around():
        if not step.is_load or after.hits is None:
            continue
        missed = {e for e, hit in zip(step.distinct, after.hits, strict=False) if not hit}
        failed = step.failing & missed
        whole = digest(value(expert_key(step.layer, expert)) for expert in step.valid)
        yield compare(
            step.number, "digest", hexadecimal(None if failed else whole), hexadecimal(after.digest)
        )


@LAWS.law("answers/failed-read-is-absent", 1, all_of("failed-read"))
def failed_read_is_absent(case: Case) -> Findings:
    """After a failed demand read the expert is absent: the next access is a miss, unless it was prefetched since."""
    failed: set[tuple[int, int]] = set()
    for step, _, after in case.around():
        if isinstance(step.operation, Prefetch):
            failed -= {(step.operation.layer, expert) for expert in step.operation.experts}
        if after.hits is None:
            continue
        if step.is_load and not drops(case):
            for expert, hit in zip(step.distinct, after.hits, strict=False):
                key = (step.layer, expert)
                if key in failed and step.times == 1:
                    yield compare(
                        step.number,
                        f"expert {expert} after its failed read",
                        "miss",
                        "hit" if hit else "miss",
                    )
                failed.discard(key)
                if expert in step.failing and not hit:
                    failed.add(key)
        elif isinstance(step.operation, Ask):
            for expert, held in zip(step.operation.experts, after.hits, strict=False):
                if (step.operation.layer, expert) in failed:
                    yield compare(
                        step.number, f"expert {expert} after its failed read", False, held
                    )


# --- what is resident -----------------------------------------------------------------------------


@LAWS.law("residency/batch-stays", 2)
def batch_stays(case: Case) -> Findings:
    """After a load every expert of its batch is resident, unless the cache is off or its read failed."""
    for step, _, after in case.around():
        if step.is_load and step.budget_before and after.resident is not None and not drops(case):
            there = {(step.layer, expert) for expert in set(step.distinct) - step.failing}
            missing = sorted(there - after.resident)
            yield compare(step.number, "experts of the batch not resident:", [], missing)


@LAWS.law("residency/stack-distance", 1)
def stack_distance(case: Case) -> Findings:
    """lru, layer: an expert hits iff what was used since, its own bytes included, fitted at every checkpoint."""
    if not oracles.applies(case.program, list(case.steps)):
        return
    opened = case.steps[0].budget_before if case.steps else 0
    oracle = oracles.StackOracle.of(config_of(case), opened)
    for step, _, after in case.around():
        hits = oracle.take(step)
        if step.is_load and after.hits is not None:
            yield compare(step.number, f"hits of {list(step.distinct)}", hits, after.hits)
        if isinstance(step.operation, Ask) and after.hits is not None:
            held = tuple((step.operation.layer, e) in oracle.fits for e in step.operation.experts)
            yield compare(step.number, "residency", held, after.hits)
        if after.resident is not None:
            yield compare(step.number, "resident", sorted(oracle.fits), sorted(after.resident))


@LAWS.law("residency/set-and-counters", 2, all_of(*columns("resident_bytes", "resident_entries")))
def set_and_counters(case: Case) -> Findings:
    """The resident set has the bytes and the number of entries that the counters say."""
    sizes = config_of(case).shape.entry_bytes
    for step, _, after in case.around():
        if after.resident is not None and offered(after, "resident_bytes", "resident_entries"):
            held = sum(sizes[layer] for layer, _ in after.resident)
            yield compare(step.number, "resident_bytes", held, after.counters["resident_bytes"])
            yield compare(
                step.number,
                "resident_entries",
                len(after.resident),
                after.counters["resident_entries"],
            )


# --- the cliff ------------------------------------------------------------------------------------


@LAWS.law("cliff/no-hit-below", 0, all_of(*columns("decode_hits")))
def no_hit_below(case: Case) -> Findings:
    """lru, two or more MoE layers in order: no decode hit below TD - max (min(k, n) - 1) * entry bytes."""
    shape = config_of(case).shape
    bound = cliff_bytes(shape)
    if not _decodes_in_order(case):
        return
    for step, before, after in case.around():
        if step.is_decode and step.budget_before < bound and offered(after, "decode_hits"):
            yield compare(step.number, "decode hits", 0, grown(before, after, "decode_hits"))


@LAWS.law("cliff/hit-from-one-cycle", 0, all_of(*columns("decode_hits")))
def hit_from_one_cycle(case: Case) -> Findings:
    """An expert used in two consecutive decode tokens of its layer hits, from one cycle up."""
    if not _decodes_in_order(case):
        return
    last: dict[int, set[int]] = {}
    demand = token_demand_bytes(config_of(case).shape)
    for step, before, after in case.around():
        if step.is_load:
            again = last.get(step.layer, set()).intersection(step.distinct)
            if step.is_decode and step.budget_before >= demand and offered(after, "decode_hits"):
                hits = grown(before, after, "decode_hits")
                expected = f"decode hits {len(again)} or more, of experts {shown(sorted(again))}"
                held = hits >= len(again)
                yield None if held else Broken(step.number, expected, f"decode hits {hits}")
            last[step.layer] = set(step.distinct) if step.is_decode else set()


def _decodes_in_order(case: Case) -> bool:
    """Plain lru at one budget and k; all loads pass the MoE layers in order with at least min(k, n) experts each."""
    config = config_of(case)
    changes = (SetBudget, SetK, Prefetch, Retain)
    if config.policy != "lru" or drops(case) or fails(case) or len(config.shape.moe_layers) < 2:
        return False
    if any(isinstance(step.operation, changes) for step in case.steps):
        return False
    loads = [step for step in case.steps if step.is_load]
    in_order = cycle(config.shape.moe_layers)
    return all(_is_full(step) and step.layer == next(in_order) for step in loads)


def _is_full(step: Step) -> bool:
    """One batch of min(k, n) distinct experts; of at least as many in prefill."""
    width = min(step.shape.k, step.shape.experts[step.layer])
    fits = len(step.distinct) == width if step.is_decode else len(step.distinct) >= width
    return fits and step.times == 1
