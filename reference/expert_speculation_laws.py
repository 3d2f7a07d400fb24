"""Which laws do prefetches keep: what is queued, what becomes resident, how it is counted, when it leaves?

Nothing here models what is resident: each step is judged by what the implementation shows before and after it.
Source: the speculation of Helldez/BigMoeOnEdge at 2d4f2b1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference.eviction import Key
from reference.expert_counter_laws import config_of, drops
from reference.expert_session import NOT_QUEUED
from reference.laws import (
    EXPERT,
    Case,
    Finding,
    Registry,
    all_of,
    columns,
    compare,
    grown,
    offered,
    shown,
)
from reference.program import Answer, Arrive, Lose, Retain
from reference.speculation_queue import Queued, Residents, SpeculationQueue
from reference.timeline import Step

LAWS = Registry(EXPERT)
Findings = Iterable[Finding]


def seen(case: Case) -> Iterator[tuple[Step, Answer, Answer, Residents, Residents, Queued]]:
    """Each step with the answers and the residents around it and what it did to the queue, without dropping."""
    queue = SpeculationQueue()
    for step, before, after in case.around() if not drops(case) else ():
        if before.resident is None or after.resident is None:
            return
        yield (
            step,
            before,
            after,
            before.resident,
            after.resident,
            queue.take(step, before.resident),
        )


def bytes_of(case: Case, keys: Iterable[Key]) -> int:
    sizes = config_of(case).shape.entry_bytes
    return sum(sizes[layer] for layer, _ in keys)


@LAWS.law("speculation/refusals", 2, all_of("prefetch"))
def refusals(case: Case) -> Findings:
    """An arrival, or a failed read, is refused iff none of its experts is queued."""
    for step, _, after, _, _, queued in seen(case):
        if isinstance(step.operation, Arrive | Lose) and step.times == 1:
            expected = "" if queued.completed or queued.failed else NOT_QUEUED
            yield compare(
                step.number, "refused as", expected or "nothing", after.refusal or "nothing"
            )


@LAWS.law("speculation/read-when-complete", 2, all_of("prefetch", *columns("spec_read_bytes")))
def read_when_complete(case: Case) -> Findings:
    """Speculative bytes are counted when a read completes, for what was queued and no more."""
    for step, before, after, _, _, queued in seen(case):
        if offered(after, "spec_read_bytes"):
            read_bytes = bytes_of(case, queued.completed)
            got = grown(before, after, "spec_read_bytes")
            yield compare(step.number, "spec_read_bytes counted", read_bytes, got)


@LAWS.law("speculation/only-what-arrived", 2, all_of("prefetch"))
def only_what_arrived(case: Case) -> Findings:
    """Beside the experts of a load, only prefetches that arrived in time become resident, and not before it."""
    for step, _, _, there, now, queued in seen(case):
        loaded = {(step.layer, expert) for expert in step.distinct} if step.is_load else set()
        strange = now - there - loaded - queued.integrated
        yield compare(step.number, "resident without a read", [], sorted(strange))


@LAWS.law("speculation/hit-iff-resident", 2)
def hit_iff_resident(case: Case) -> Findings:
    """A load hits the experts that were resident before it, or whose prefetch had arrived."""
    for step, _, after, there, _, queued in seen(case):
        if step.is_load and step.times == 1 and after.hits is not None:
            ready = there | queued.integrated
            expected = tuple((step.layer, expert) in ready for expert in step.distinct)
            yield compare(step.number, f"hits of {list(step.distinct)}", expected, after.hits)


@LAWS.law("speculation/useful-once", 2, all_of("prefetch", *columns("spec_useful")))
def useful_once(case: Case) -> Findings:
    """The first lookup of an entry that a prefetch brought counts as useful, later ones do not."""
    unused: set[Key] = set()
    for step, before, after, there, now, queued in seen(case):
        unused |= queued.integrated
        used = {(step.layer, expert) for expert in step.distinct} if step.is_load else set()
        useful = len(used & unused & (there | queued.integrated))
        if offered(after, "spec_useful"):
            got = grown(before, after, "spec_useful")
            yield compare(step.number, "spec_useful counted", useful, got)
        unused = (unused - used) & now


@LAWS.law("speculation/unused-leave-first", 2, all_of("prefetch"))
def unused_leave_first(case: Case) -> Findings:
    """lru: while a prefetched entry is neither used nor retained, no other entry leaves."""
    unused: set[Key] = set()
    for step, _, _, there, now, queued in seen(case):
        unused |= queued.integrated
        if step.is_load:
            unused -= {(step.layer, expert) for expert in step.distinct}
        if isinstance(step.operation, Retain):
            unused -= {(step.operation.layer, expert) for expert in step.operation.experts}
        left = there - now - unused
        stays = unused & now if config_of(case).policy == "lru" and left else set()
        if step.is_load and step.failing:
            stays = set()
        yield compare(step.number, f"unused when {shown(left)} left", [], sorted(stays))
        unused &= now


@LAWS.law("speculation/rereads-were-evicted", 2, all_of(*columns("rereads")))
def rereads_were_evicted(case: Case) -> Findings:
    """A miss, or a queued prefetch, counts as a re-read iff its expert was evicted before."""
    evicted: set[Key] = set()
    for step, before, after, there, now, queued in seen(case):
        loaded = {(step.layer, e) for e in step.distinct} if step.is_load else set()
        if step.times > 1 and loaded:
            return
        ready = there | queued.integrated
        read = (loaded - ready if step.budget_before else set()) | queued.added
        if offered(after, "rereads"):
            again, got = len(read & evicted), grown(before, after, "rereads")
            yield compare(step.number, "rereads counted", again, got)
        failed = {(step.layer, e) for e in step.failing} - ready if step.is_load else set()
        kept = loaded if step.budget_before else set()
        evicted |= (ready | kept) - now - failed
