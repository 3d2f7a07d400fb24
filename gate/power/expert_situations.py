"""Which situations does a program put the expert cache in? Named, so that it can be told whether they were reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gate.power.situations import MANY_TIMES, Holds, names
from reference.eviction import Key
from reference.expert_answer_laws import hit_from_one_cycle, no_hit_below
from reference.expert_config import ExpertConfig
from reference.expert_session import IN_GENERATION, NOT_AN_OPERATION, REFUSALS
from reference.laws import Case, grown
from reference.program import (
    Answer,
    Arrive,
    Ask,
    Cancel,
    Load,
    Prefetch,
    Program,
    Retain,
    SetBudget,
    SetK,
)
from reference.run import run
from reference.sizing import ModelShape, cliff_bytes, token_demand_bytes, total_expert_bytes
from reference.speculation_queue import Queued, SpeculationQueue
from reference.timeline import Step

SITUATIONS: dict[str, str] = {
    # the model and the bytes asked for
    "unequal-entries": "layers of unequal entry bytes",
    "dense-layer": "a layer without experts",
    "k-above-experts": "k above a layer's experts",
    "opened-below-a-cycle": "opened with a request above 0 and below one cycle",
    "off-a-cycle-by-a-byte": "a request one byte beside a whole number of cycles",
    "at-the-cliff": "a request at the cliff",
    "beyond-all-experts": "a request beyond all experts",
    # loads
    "repeats-in-a-batch": "an expert stands twice in a batch",
    "not-in-id-order": "the last occurrences of a batch are not in id order",
    "invalid-id": "an id the layer does not have",
    "hits-and-misses": "a batch of hits and misses",
    "long-repeat": "the same batch 200 times or more",
    "off": "a load with the cache off",
    "in-order-below-the-cliff": "tokens pass the layers in order, below the cliff",
    "in-order-from-a-cycle": "tokens pass the layers in order, from one cycle up",
    # what is evicted
    "batch-above-budget": "a batch alone exceeds the budget",
    "batch-above-budget-warm": "such a batch while older entries are resident",
    "several-victims": "more than one entry leaves after a batch",
    "victim-of-another-layer": "a batch evicts an entry of another layer",
    "layer-slice-evicts": "policy layer evicts",
    "exactly-full": "resident bytes equal the budget",
    "exactly-one-cycle": "a load at a budget of exactly one cycle",
    "wide-bytes": "resident bytes beyond 2^32",
    "reread": "an expert is read again after it was evicted",
    # budget and k
    "shrink-evicts": "a shrink evicts",
    "shrink-to-off": "a shrink to 0",
    "on-again": "the cache is off and turned on again",
    "grow-keeps": "a grow with entries resident",
    "resize-inside": "a budget is asked for inside a generation",
    "resize-to-the-same": "a request that changes nothing",
    "k-changes-budget": "a change of k changes the budget",
    # speculation
    "prefetch-arrives": "a prefetch arrives in time",
    "prefetch-late": "a prefetch arrives after the queue was settled",
    "prefetch-lost": "a prefetch fails",
    "prefetch-resident": "a resident expert is prefetched",
    "prefetch-used": "a prefetched entry is hit",
    "prefetch-evicted-unused": "a prefetched entry leaves unused",
    "shrink-with-arrived": "a shrink while a prefetch has arrived",
    "retain-moves": "retain moves an entry that is not the most recent",
    # failures and dropping
    "failed-read": "a demand read fails",
    "failed-read-off": "a read fails with the cache off",
    "failed-among-others": "some of a batch's reads fail and some do not",
    "dropped": "a slot is dropped",
    "dropped-in-prefill": "a slot is dropped in prefill",
    "at-the-threshold": "a router weight exactly at the threshold",
    # generations
    "cancelled-before-decode": "a generation is cancelled before its first decode",
    "cancelled-after-decode": "a generation is cancelled after a decode",
    "several-turns": "three turns or more",
    "asked": "residency is asked for",
    **{f"refused-{n}": f"refused as {n}" for n in REFUSALS if n != NOT_AN_OPERATION},
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a program and the answers around it."""

    config: ExpertConfig
    step: Step
    before: Answer
    after: Answer

    @property
    def there(self) -> frozenset[Key]:
        """What was resident before it."""
        return self.before.resident or frozenset()

    @property
    def left(self) -> frozenset[Key]:
        """What was resident before it and is not after it."""
        return self.there - (self.after.resident or frozenset())

    @property
    def batch(self) -> frozenset[Key]:
        """The distinct experts of a load."""
        return frozenset((self.step.layer, expert) for expert in self.step.distinct)

    def grew(self, counter: str) -> int:
        """How far a counter rose."""
        return grown(self.before, self.after, counter)


def situations(program: Program) -> Iterator[str]:
    """The situations of a program, each as often as it is reached."""
    case, config = Case.of(program, run(program), run), program.config
    assert isinstance(config, ExpertConfig)
    yield from names(_of_the_model(config))
    yield from names(_of_a_request(config.shape, config.budget_bytes))
    yield from names(_of_the_order(case))
    prefetched = Prefetched()
    for around in case.around():
        moment = Moment(config, *around)
        yield from names(_of_a_step(moment))
        yield from names(prefetched.take(moment))
        if moment.step.is_load:
            for holds in (_of_a_batch(moment), _of_evictions(moment), _of_what_is_lost(moment)):
                yield from names(holds)


# --- the model and the budget ---------------------------------------------------------------------


def _of_the_model(config: ExpertConfig) -> Holds:
    shape = config.shape
    return {
        "unequal-entries": len({shape.entry_bytes[layer] for layer in shape.moe_layers}) > 1,
        "dense-layer": len(shape.moe_layers) < len(shape.entry_bytes),
        "k-above-experts": any(shape.experts[layer] < shape.k for layer in shape.moe_layers),
        "opened-below-a-cycle": 0 < config.budget_bytes < token_demand_bytes(shape),
    }


def _of_the_order(case: Case) -> Holds:
    """Is it a program that the laws of the cliff speak of?"""
    on = any(step.budget_before for step in case.steps)
    return {
        "in-order-below-the-cliff": on and any(True for _ in no_hit_below(case)),
        "in-order-from-a-cycle": any(True for _ in hit_from_one_cycle(case)),
    }


def _of_a_request(shape: ModelShape, asked: int) -> Holds:
    demand = token_demand_bytes(shape)
    return {
        "off-a-cycle-by-a-byte": demand > 2 and asked % demand in (1, demand - 1),
        "at-the-cliff": asked == cliff_bytes(shape) > 0,
        "beyond-all-experts": asked > total_expert_bytes(shape) > 0,
    }


def _of_a_step(at: Moment) -> Holds:
    act, refusal = at.step.operation, at.after.refusal
    cancelled = isinstance(act, Cancel) and not refusal
    return {
        **(_of_a_resize(at, act) if isinstance(act, SetBudget) else {}),
        "shrink-evicts": at.step.budget_after < at.step.budget_before and at.grew("evictions"),
        "k-changes-budget": isinstance(act, SetK) and at.step.budget_before != at.step.budget_after,
        "retain-moves": isinstance(act, Retain) and at.before.order != at.after.order,
        "cancelled-before-decode": cancelled and not at.grew("turn"),
        "cancelled-after-decode": cancelled and at.grew("turn"),
        "several-turns": at.grew("turn") and at.step.turn == 3,
        "asked": isinstance(act, Ask),
        f"refused-{refusal}": refusal,
    }


def _of_a_resize(at: Moment, act: SetBudget) -> Holds:
    if at.after.refusal:
        return {"resize-inside": at.after.refusal == IN_GENERATION}
    was, now = at.step.budget_before, at.step.budget_after
    return {
        **_of_a_request(at.step.shape, act.request_bytes),
        "shrink-to-off": now == 0 < was,
        "on-again": was == 0 < now and at.step.number > 1,
        "grow-keeps": now > was and at.there,
        "resize-to-the-same": was == now,
    }


# --- loads ----------------------------------------------------------------------------------------


def _of_a_batch(at: Moment) -> Holds:
    step, act, hits = at.step, at.step.operation, at.after.hits or ()
    assert isinstance(act, Load)
    last = list(dict.fromkeys(reversed(step.valid)))[::-1]
    return {
        "repeats-in-a-batch": len(step.valid) > len(step.distinct),
        "not-in-id-order": last != sorted(last),
        "invalid-id": len(step.valid) < len(act.experts),
        "hits-and-misses": 0 < sum(hits) < len(hits),
        "long-repeat": step.times >= MANY_TIMES,
        "off": not step.budget_before,
        "exactly-one-cycle": step.budget_before == token_demand_bytes(step.shape),
        "wide-bytes": at.after.counters["resident_bytes"] > 1 << 32,
        "reread": at.grew("rereads"),
    }


def _of_evictions(at: Moment) -> Holds:
    step, budget, left = at.step, at.step.budget_before, at.left
    above = 0 < budget < len(at.batch) * step.entry_bytes
    return {
        "batch-above-budget": above,
        "batch-above-budget-warm": above and at.there - at.batch,
        "several-victims": step.times == 1 and len(left) > 1,
        "victim-of-another-layer": any(layer != step.layer for layer, _ in left),
        "layer-slice-evicts": at.config.policy == "layer" and left,
        "exactly-full": at.after.counters["resident_bytes"] == budget > 0,
    }


def _of_what_is_lost(at: Moment) -> Holds:
    step, act, hits = at.step, at.step.operation, at.after.hits or ()
    assert isinstance(act, Load)
    missed = {expert for expert, hit in zip(step.distinct, hits, strict=False) if not hit}
    failed, dropped = missed & step.failing, at.grew("experts_dropped")
    threshold = at.config.dropping.fraction / step.shape.k
    return {
        "failed-read": failed and step.budget_before,
        "failed-read-off": failed and not step.budget_before,
        "failed-among-others": failed and failed != missed,
        "dropped": dropped,
        "dropped-in-prefill": dropped and not step.is_decode,
        "at-the-threshold": threshold and threshold in act.weights,
    }


# --- speculation ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Prefetched:
    """What became of the prefetches so far.

    Attributes:
        queue: reads under way, and complete ones.
        unused: keys that became resident by a prefetch, and were not used since.
        late: keys whose read was still under way when the queue was settled.
    """

    queue: SpeculationQueue = field(default_factory=SpeculationQueue)
    unused: frozenset[Key] = frozenset()
    late: frozenset[Key] = frozenset()

    def take(self, at: Moment) -> Holds:
        """Follow one step; what does it do to a prefetch?"""
        step, act = at.step, at.step.operation
        arrived, under_way = frozenset(self.queue.arrived), frozenset(self.queue.queued)
        done = self.queue.take(step, at.there)
        comes = {(act.layer, e) for e in act.experts} if isinstance(act, Arrive) else set()
        told = self._told(at, done) | {
            "prefetch-late": comes & self.late - done.completed,
            "shrink-with-arrived": arrived and step.budget_after < step.budget_before,
        }
        settled = step.is_load or step.budget_after < step.budget_before
        self.late = (self.late | under_way if settled else self.late) - comes - done.added
        return told

    def _told(self, at: Moment, done: Queued) -> dict[str, object]:
        act = at.step.operation
        wanted = {(act.layer, e) for e in act.experts} if isinstance(act, Prefetch) else set()
        self.unused |= done.integrated
        self.unused -= at.batch if at.step.is_load else frozenset()
        lost = self.unused - (at.after.resident or frozenset())
        self.unused -= lost
        return {
            "prefetch-arrives": done.completed,
            "prefetch-lost": done.failed,
            "prefetch-resident": wanted & at.there and not at.after.refusal,
            "prefetch-used": at.grew("spec_useful"),
            "prefetch-evicted-unused": lost,
        }
