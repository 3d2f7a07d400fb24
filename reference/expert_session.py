"""One session of an expert cache: generations, turns, refusals, and the answer to each operation of a program.

A session is a sequence of generations (turns) on one cache that stays warm between them. Loads, prefetches and retains
belong inside a generation, budget and k changes between generations. What is out of place is refused by name and
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.backing_store import digest, expert_key, value
from reference.dropping import drop_cold
from reference.expert_cache import Batch, ExpertCache
from reference.expert_config import ExpertConfig
from reference.program import (
    DECODE,
    Answer,
    Arrive,
    Ask,
    Begin,
    Cancel,
    End,
    Load,
    Lose,
    Operation,
    Plain,
    Prefetch,
    Repeat,
    Retain,
    SetBudget,
    SetK,
    plain,
)

NO_GENERATION = "no-generation"
IN_GENERATION = "in-generation"
NO_SUCH_LAYER = "no-such-layer"
DENSE_LAYER = "dense-layer"
NO_EXPERTS = "no-experts"
CACHE_OFF = "cache-off"
NOT_QUEUED = "not-queued"
NOT_AN_OPERATION = "not-an-operation-of-this-cache"
REFUSALS = (
    NO_GENERATION,
    IN_GENERATION,
    NO_SUCH_LAYER,
    DENSE_LAYER,
    NO_EXPERTS,
    CACHE_OFF,
    NOT_QUEUED,
    NOT_AN_OPERATION,
)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the answer to one operation holds beside the counters."""

    refusal: str = ""
    hits: tuple[bool, ...] | None = None
    read_bytes: int | None = None
    digest: int | None = None


DONE = Delivered()


class ExpertSession:
    """Runs operations one by one on a cache opened with `config`; `make_cache` makes that cache."""

    def __init__(
        self, config: ExpertConfig, make_cache: Callable[[ExpertConfig], ExpertCache] = ExpertCache
    ) -> None:
        self.config = config
        self.cache = make_cache(config)
        self.in_generation = False
        self.turn = 0
        self._decoded = False
        self._seen_layers: set[int] = set()

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation and answer it; a repeat answers with its last application."""
        done = DONE
        for _ in range(operation.count if isinstance(operation, Repeat) else 1):
            done = self._apply(plain(operation))
        return self.observe(done)

    def observe(self, done: Delivered = DONE) -> Answer:
        """The state as every observation level sees it."""
        cache = self.cache
        counters = cache.counters.as_dict() | {
            "resident_bytes": cache.resident_bytes,
            "resident_entries": len(cache.residents),
            "budget_bytes": cache.budget_bytes,
            "token_demand_bytes": cache.demand.token_demand_bytes,
            "layer_demand_bytes": cache.demand.layer_demand_bytes,
            "turn": self.turn,
        }
        order = cache.order()
        return Answer(
            counters, done.refusal, done.hits, done.read_bytes, done.digest, frozenset(order), order
        )

    def _apply(self, operation: Plain) -> Delivered:
        match operation:
            case Begin():
                return self._begin()
            case End():
                return self._end(counts_as_turn=True)
            case Cancel():
                return self._end(counts_as_turn=self._decoded)
            case Load():
                return self._refused(operation.layer, operation.experts) or self._load(operation)
            case Prefetch() | Retain():
                return self._speculate(operation)
            case Arrive():
                return self._settle(operation, self.cache.arrive)
            case Lose():
                return self._settle(operation, self.cache.lose)
            case Ask():
                return self._ask(operation)
            case SetBudget():
                return self._set_budget(operation)
            case SetK():
                return self._set_k(operation)
            case _:
                return Delivered(NOT_AN_OPERATION)

    # --- generations ------------------------------------------------------------------------------------------------

    def _begin(self) -> Delivered:
        if self.in_generation:
            return Delivered(IN_GENERATION)
        self.in_generation, self._decoded = True, False
        return DONE

    def _end(self, *, counts_as_turn: bool) -> Delivered:
        """A generation that was cancelled before its first decode does not count as a turn."""
        if not self.in_generation:
            return Delivered(NO_GENERATION)
        self.in_generation = False
        self.turn += counts_as_turn
        return DONE

    def _refused(self, layer: int, experts: tuple[int, ...]) -> Delivered | None:
        """The refusal of an operation on a layer of a running generation, if it must be refused."""
        if not self.in_generation:
            return Delivered(NO_GENERATION)
        if layer >= len(self.config.shape.entry_bytes):
            return Delivered(NO_SUCH_LAYER)
        if layer not in self.config.shape.moe_layers:
            return Delivered(DENSE_LAYER)
        return None if experts else Delivered(NO_EXPERTS)

    # --- loading ----------------------------------------------------------------------------------------------------

    def _load(self, load: Load) -> Delivered:
        decode = load.phase == DECODE
        self._decoded |= decode
        routed = self._routed(load, decode)
        batch = self.cache.load(load.layer, routed, decode=decode, failing=load.failing)
        self._seen_layers.add(load.layer)
        return Delivered("", batch.hits, batch.read_bytes, self._digest(load.layer, routed, batch))

    def _routed(self, load: Load, decode: bool) -> tuple[int, ...]:
        """The ids that are loaded: those of the program, less what the drop policy drops."""
        dropping = self.config.dropping
        armed = dropping.fraction > 0 and not self.cache.is_off
        if not (armed and load.weights and (decode or dropping.in_prefill)):
            return load.experts
        self.cache.counters.experts_routed += len(load.experts)
        if load.layer not in self._seen_layers:
            return load.experts
        self.cache.settle_speculation()
        shape = self.cache.shape
        routed, dropped = drop_cold(
            load.experts,
            load.weights,
            min(shape.k, shape.experts[load.layer]),
            dropping.fraction / shape.k,
            lambda expert: self.cache.is_resident(load.layer, expert),
        )
        self.cache.counters.experts_dropped += dropped
        return routed

    def _digest(self, layer: int, routed: tuple[int, ...], batch: Batch) -> int | None:
        """Digest of the bytes delivered for each valid slot; wrong bytes are 0, a failed batch delivers nothing."""
        if batch.failed and self.config.rules.failed_read == "absent":
            return None
        known = set(batch.experts)
        return digest(
            0 if expert in batch.wrong else value(expert_key(layer, expert))
            for expert in routed
            if expert in known
        )

    def _ask(self, ask: Ask) -> Delivered:
        return Delivered("", tuple(self.cache.is_resident(ask.layer, e) for e in ask.experts))

    # --- speculation ------------------------------------------------------------------------------------------------

    def _speculate(self, operation: Prefetch | Retain) -> Delivered:
        refused = self._refused(operation.layer, operation.experts)
        if refused:
            return refused
        if self.cache.is_off:
            return Delivered(CACHE_OFF)
        act = self.cache.prefetch if isinstance(operation, Prefetch) else self.cache.retain
        act(operation.layer, operation.experts)
        return DONE

    def _settle(self, operation: Arrive | Lose, act: Callable[[int, int], bool]) -> Delivered:
        """Every id is tried; refused only when none of them was queued."""
        found = [act(operation.layer, expert) for expert in operation.experts]
        return DONE if any(found) else Delivered(NOT_QUEUED)

    # --- budget and k -----------------------------------------------------------------------------------------------

    def _set_budget(self, operation: SetBudget) -> Delivered:
        if self.in_generation and self.config.rules.resize_in_generation == "refuse":
            return Delivered(IN_GENERATION)
        self.cache.set_budget(operation.request_bytes)
        return DONE

    def _set_k(self, operation: SetK) -> Delivered:
        if self.in_generation:
            return Delivered(IN_GENERATION)
        self.cache.set_k(operation.k)
        return DONE
