"""The expert cache: which experts are resident after each batch, and what was counted?

One *batch* is one layer's load: all expert ids the router picked there, for one token (decode) or a whole prompt
(prefill). The cache is global over all layers and has one byte budget.

A batch runs in this order:

1. Completed speculative reads are integrated at the cold end; the others are discarded.
2. The ids are walked in order. The first occurrence of an id is one lookup: a hit if it is resident, else a miss that
   is read from storage and becomes resident. Every occurrence, repeats too, makes it most recent, so the final order
   is that of the last occurrences.
3. While more bytes are resident than the budget allows, victims leave; the entries of this batch are protected, so a
   batch larger than the budget stays whole until the next one.

With a budget of 0 the cache is off: every distinct id is read, nothing is kept and no lookup is counted.

Source: Helldez/BigMoeOnEdge at 2d4f2b1 (one global list, eviction at the end of a batch) and BigMoeOnEdge#103 (the
budget rules); see reference/expert_config.py for where the two differ.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reference import eviction
from reference.budget import Budget
from reference.eviction import Entry, Key
from reference.expert_config import ExpertConfig
from reference.expert_counters import DemandMeter, ExpertCounters
from reference.sizing import ModelShape


@dataclass(frozen=True, slots=True)
class Batch:
    """What one load did.

    Args:
        experts: the distinct valid ids in order of first occurrence.
        hits: hit or miss of each of them.
        read_bytes: logical bytes read on demand.
        wrong: those of `experts` whose delivered bytes are wrong.
        failed: a demand read failed, so nothing was delivered.
    """

    experts: tuple[int, ...]
    hits: tuple[bool, ...]
    read_bytes: int
    wrong: frozenset[int] = frozenset()
    failed: bool = False


@dataclass(slots=True)
class Speculation:
    """Speculative reads that have not been integrated yet: those under way, and those complete, each in its order."""

    queued: dict[Key, None] = field(default_factory=dict)
    arrived: dict[Key, None] = field(default_factory=dict)


class ExpertCache:
    """The expert cache over one model.

    Args:
        config: shape, budget, policy and rules.
        next_use: for policy `belady` only: the index of the next batch that uses a key.

    The methods do not know of generations; reference/session.py refuses what is not allowed when.
    """

    def __init__(self, config: ExpertConfig, next_use: Callable[[Key], int] | None = None) -> None:
        self.config = config
        self.rules = config.rules
        self.budget = Budget(config)
        self.residents: OrderedDict[Key, Entry] = OrderedDict()
        self.counters = ExpertCounters()
        self.demand = DemandMeter()
        self._speculation = Speculation()
        self._evicted_once: set[Key] = set()
        self._uses: dict[Key, int] = {}
        self._clock = 0
        self._victim = self._victim_rule(next_use)

    # --- loading ----------------------------------------------------------------------------------------------------

    def load(
        self, layer: int, experts: Sequence[int], *, decode: bool, failing: Iterable[int] = ()
    ) -> Batch:
        """Load one batch of a MoE layer; `experts` holds at least one id.

        Args:
            layer: a MoE layer of the shape.
            experts: ids in routing order; ids outside the layer are skipped.
            decode: the phase to count it under.
            failing: ids whose read fails, if they have to be read.
        """
        self.settle_speculation()
        size = self.shape.entry_bytes[layer]
        valid = [expert for expert in experts if 0 <= expert < self.shape.experts[layer]]
        distinct = tuple(dict.fromkeys(valid))
        self.demand.add(layer, len(distinct) * size)
        if self.is_off:
            batch = self._load_uncached(distinct, size, failing)
        else:
            batch = self._load_cached(layer, valid, distinct, failing, decode)
        self.counters.count_read(batch.read_bytes, decode=decode)
        return batch

    def _load_uncached(self, distinct: tuple[int, ...], size: int, failing: Iterable[int]) -> Batch:
        failed = frozenset(failing) & set(distinct)
        read_bytes = len(distinct) * size
        return Batch(distinct, (False,) * len(distinct), read_bytes, failed, failed=bool(failed))

    def _load_cached(
        self,
        layer: int,
        valid: list[int],
        distinct: tuple[int, ...],
        failing: Iterable[int],
        decode: bool,
    ) -> Batch:
        hits = tuple(self._lookup((layer, expert), decode) for expert in distinct)
        for expert in valid:
            self._touch((layer, expert))
        missed = {expert for expert, hit in zip(distinct, hits, strict=True) if not hit}
        failed = missed & set(failing)
        read_bytes = len(missed) * self.shape.entry_bytes[layer]
        wrong = frozenset(
            expert for expert in distinct if self.residents[layer, expert].wrong_bytes
        )
        self._fail(layer, failed)
        if not failed or self.rules.failed_read == "absent":
            self._evict_after_batch(layer, protected={(layer, expert) for expert in distinct})
        return Batch(distinct, hits, read_bytes, wrong | failed, failed=bool(failed))

    def _lookup(self, key: Key, decode: bool) -> bool:
        """Count the lookup of `key`; a miss becomes resident."""
        self._uses[key] = self._uses.get(key, 0) + 1
        entry = self.residents.get(key)
        self.counters.count_lookup(hit=entry is not None, decode=decode)
        if entry is None:
            self.counters.rereads += key in self._evicted_once
            self._insert(key)
            return False
        if entry.speculative:
            self.counters.spec_useful += 1
            entry.speculative = False
        return True

    def _fail(self, layer: int, experts: Iterable[int]) -> None:
        """The reads of `experts`, all of them misses of this batch, failed."""
        for expert in experts:
            if self.rules.failed_read == "absent":
                del self.residents[layer, expert]
            else:
                self.residents[layer, expert].wrong_bytes = True

    # --- recency and eviction ---------------------------------------------------------------------------------------

    def _insert(self, key: Key) -> None:
        self._clock += 1
        self.residents[key] = Entry(self.shape.entry_bytes[key[0]], self._clock, self._clock)

    def _touch(self, key: Key) -> None:
        self._clock += 1
        self.residents[key].last_use = self._clock
        self.residents.move_to_end(key)

    def _evict_after_batch(self, layer: int, protected: set[Key]) -> None:
        budget, candidates = self.budget_bytes, list(self.residents)
        if eviction.is_partitioned(self.config.policy):
            budget //= len(self.shape.moe_layers)
            candidates = eviction.of_layer(candidates, layer)
        self._evict(budget, candidates, protected)

    def _evict(self, budget: int, candidates: list[Key], protected: set[Key]) -> None:
        """Evict among `candidates` until their bytes fit `budget` or only protected ones are left."""
        held = sum(self.residents[key].size_bytes for key in candidates)
        unprotected = [key for key in candidates if key not in protected]
        while held > budget and unprotected:
            victim = self._victim(self.residents, unprotected)
            unprotected.remove(victim)
            held -= self.residents.pop(victim).size_bytes
            self._evicted_once.add(victim)
            self.counters.evictions += 1

    def _victim_rule(self, next_use: Callable[[Key], int] | None) -> eviction.VictimRule:
        policy = self.config.policy
        if policy in ("lfu", "layerlfu"):
            return eviction.least_frequent(self._uses)
        if policy == "random":
            return eviction.at_random()
        if policy == "belady":
            if next_use is None:
                raise ValueError("policy belady needs the future: replay it, do not run it online")
            return eviction.furthest_use(next_use)
        return eviction.least_recent()

    # --- the budget -------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> ModelShape:
        """The model with the top-k of now."""
        return self.budget.shape

    @property
    def budget_bytes(self) -> int:
        """The budget in force."""
        return self.budget.granted_bytes

    @property
    def is_off(self) -> bool:
        """Budget 0: every load reads, nothing is kept."""
        return self.budget_bytes == 0

    def set_budget(self, request_bytes: int) -> None:
        """Ask for a new budget. A grow evicts nothing; a shrink evicts at once, without protecting the last batch."""
        before = self.budget_bytes
        if self.budget.request(request_bytes):
            self._resized(before)

    def set_k(self, k: int) -> None:
        """The router's top-k changes; with whole-cycle budgets the last request is floored again at once."""
        before = self.budget_bytes
        if self.budget.change_k(k):
            self._resized(before)

    def _resized(self, before: int) -> None:
        self.counters.resizes += 1
        if self.budget_bytes < before:
            self.settle_speculation()
            self._shrink()

    def _shrink(self) -> None:
        if not eviction.is_partitioned(self.config.policy):
            self._evict(self.budget_bytes, list(self.residents), set())
            return
        layers = self.shape.moe_layers
        for layer in layers:
            slice_bytes = self.budget_bytes // len(layers)
            self._evict(slice_bytes, eviction.of_layer(self.residents, layer), set())

    # --- speculation ------------------------------------------------------------------------------------------------

    def prefetch(self, layer: int, experts: Iterable[int]) -> None:
        """Queue speculative reads; ids that are invalid, resident or already queued are skipped."""
        for expert in experts:
            key = (layer, expert)
            known = key in self.residents or key in self._speculation.queued
            if known or key in self._speculation.arrived:
                continue
            if 0 <= expert < self.shape.experts[layer]:
                self.counters.rereads += key in self._evicted_once
                self._speculation.queued[key] = None

    def arrive(self, layer: int, expert: int) -> bool:
        """A queued speculative read completes; False if it is not queued (never was, or came too late)."""
        key = (layer, expert)
        if key not in self._speculation.queued:
            return False
        del self._speculation.queued[key]
        self._speculation.arrived[key] = None
        self.counters.spec_read_bytes += self.shape.entry_bytes[layer]
        return True

    def lose(self, layer: int, expert: int) -> bool:
        """A queued speculative read fails; False if it is not queued."""
        key = (layer, expert)
        if key not in self._speculation.queued:
            return False
        del self._speculation.queued[key]
        return True

    def settle_speculation(self) -> None:
        """Integrate completed speculative reads at the cold end, discard the others; evicts nothing."""
        for key in self._speculation.arrived:
            self._insert(key)
            self.residents[key].speculative = True
            self.residents[key].last_use = 0
            self.residents.move_to_end(key, last=False)
            self.counters.spec_experts += 1
        self._speculation = Speculation()

    def retain(self, layer: int, experts: Iterable[int]) -> None:
        """Resident ids become most recent; nothing is counted."""
        for expert in experts:
            if (layer, expert) in self.residents:
                self._touch((layer, expert))

    # --- what can be seen -------------------------------------------------------------------------------------------

    def is_resident(self, layer: int, expert: int) -> bool:
        """Would a lookup now be a hit?"""
        return (layer, expert) in self.residents

    @property
    def resident_bytes(self) -> int:
        """Bytes of all resident entries."""
        return sum(entry.size_bytes for entry in self.residents.values())

    def order(self) -> tuple[Key, ...]:
        """Resident entries, the least recent first."""
        return tuple(self.residents)
