"""What must be resident, by stack distance alone: the strong oracle, which keeps no recency list and evicts nothing.

After a batch an expert is resident iff it is in that batch, or the bytes of all distinct experts used at least as
recently as it, its own included, fitted the budget at every batch end and at every shrink since it was last used.
A grow is no checkpoint: it evicts nothing. An expert whose demand read failed counts as never used. A retain is a use
of what is resident. Under policy `layer` all this holds for each layer by itself and its slice of the budget.

Holds for lru and layer without prefetch or dropping, at any sequence of budgets (0, off, is a shrink that nothing
survives). Proof: the resident set is always a prefix of the order of last use, and retain reorders within it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference.eviction import Key
from reference.expert_config import ExpertConfig
from reference.program import Prefetch, Program, Retain
from reference.sizing import ModelShape
from reference.timeline import Step

MAX_EXPANDED = 4096
"""Loads beyond which the oracle, which is quadratic, gives up."""


def applies(program: Program, steps: list[Step]) -> bool:
    """Does the program keep within what the oracle is proved for?"""
    config = program.config
    assert isinstance(config, ExpertConfig)
    return (
        config.policy in ("lru", "layer")
        and not config.dropping.fraction
        and (config.rules.failed_read == "absent" or not any(map(_may_fail, steps)))
        and not any(isinstance(step.operation, Prefetch) for step in steps)
        and sum(step.times for step in steps if step.is_load) <= MAX_EXPANDED
    )


def _may_fail(step: Step) -> bool:
    return step.is_load and bool(step.failing)


@dataclass(slots=True)
class StackOracle:
    """Decides residency step by step.

    Attributes:
        shape: the model.
        sliced: each MoE layer has its own slice of the budget.
        budget_bytes: the budget in force.
        uses: every expert ever used and not failed since, the most recent last; by layer if sliced.
        fits: those that fitted at every checkpoint since their last use.
    """

    shape: ModelShape
    sliced: bool
    budget_bytes: int
    uses: dict[int, dict[Key, int]] = field(default_factory=dict)
    fits: set[Key] = field(default_factory=set)

    @classmethod
    def of(cls, config: ExpertConfig, budget_bytes: int) -> StackOracle:
        """The oracle of a cache just opened."""
        return cls(config.shape, config.policy == "layer", budget_bytes)

    def take(self, step: Step) -> tuple[bool, ...]:
        """Follow one step; gives the hits of its last application, if it is a load."""
        hits: tuple[bool, ...] = ()
        if step.is_load:
            for _ in range(step.times):
                hits = self._load(step)
        elif isinstance(step.operation, Retain) and step.refusal == "":
            self._retain(step.operation)
        elif step.budget_after < self.budget_bytes:
            for pool in self.uses:
                self._checkpoint(pool, step.budget_after, protected=set())
        self.budget_bytes = step.budget_after
        return hits

    def _load(self, step: Step) -> tuple[bool, ...]:
        batch = [(step.layer, expert) for expert in step.distinct]
        hits = tuple(key in self.fits for key in batch)
        if self.budget_bytes == 0:
            return hits
        for expert in step.valid:
            self._use((step.layer, expert))
        for key, hit in zip(batch, hits, strict=True):
            self.fits.add(key)
            if not hit and key[1] in step.failing:
                del self._pool(key)[key]
                self.fits.discard(key)
        self._checkpoint(self._pool_of(step.layer), self.budget_bytes, protected=set(batch))
        return hits

    def _retain(self, act: Retain) -> None:
        for expert in act.experts:
            if (act.layer, expert) in self.fits:
                self._use((act.layer, expert))

    def _use(self, key: Key) -> None:
        pool = self._pool(key)
        pool.pop(key, None)
        pool[key] = self.shape.entry_bytes[key[0]]

    def _pool_of(self, layer: int) -> int:
        return layer if self.sliced else 0

    def _pool(self, key: Key) -> dict[Key, int]:
        return self.uses.setdefault(self._pool_of(key[0]), {})

    def _checkpoint(self, pool: int, budget_bytes: int, protected: set[Key]) -> None:
        if self.sliced:
            budget_bytes //= len(self.shape.moe_layers)
        recent_bytes = 0
        for key, size in reversed(self.uses.get(pool, {}).items()):
            recent_bytes += size
            if recent_bytes > budget_bytes and key not in protected:
                self.fits.discard(key)
