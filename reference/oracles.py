"""What must be resident, by stack distance alone: the strong oracle, which keeps no recency list and evicts nothing.

After a batch an expert is resident iff it is in that batch, or the bytes of all distinct experts used at least as
recently as it, its own included, fitted the budget at every batch end and at every shrink since it was last used.
A grow is no checkpoint: it evicts nothing. An expert whose demand read failed counts as never used.

Holds for plain LRU without prefetch, retain or dropping, at any sequence of budgets (0, off, is a shrink that nothing
survives). Proof: the resident set is always a prefix of the order of last use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference.eviction import Key
from reference.expert_config import ExpertConfig
from reference.program import Prefetch, Program, Retain
from reference.timeline import Step

MAX_EXPANDED = 4096
"""Loads beyond which the oracle, which is quadratic, gives up."""


def applies(program: Program, steps: list[Step]) -> bool:
    """Does the program keep within what the oracle is proved for?"""
    config = program.config
    assert isinstance(config, ExpertConfig)
    return (
        config.policy == "lru"
        and not config.dropping.fraction
        and (config.rules.failed_read == "absent" or not any(map(_may_fail, steps)))
        and not any(isinstance(step.operation, Prefetch | Retain) for step in steps)
        and sum(step.times for step in steps if step.is_load) <= MAX_EXPANDED
    )


def _may_fail(step: Step) -> bool:
    return step.is_load and bool(step.failing)


@dataclass(slots=True)
class StackOracle:
    """Decides residency step by step.

    Attributes:
        uses: every expert ever used and not failed since, the most recent last.
        fits: those that fitted at every checkpoint since their last use.
    """

    budget_bytes: int
    uses: dict[Key, int] = field(default_factory=dict)
    fits: set[Key] = field(default_factory=set)

    def take(self, step: Step) -> tuple[bool, ...]:
        """Follow one step; gives the hits of its last application, if it is a load."""
        hits: tuple[bool, ...] = ()
        if step.is_load:
            for _ in range(step.times):
                hits = self._load(step)
        elif step.budget_after < self.budget_bytes:
            self._checkpoint(step.budget_after, protected=set())
        self.budget_bytes = step.budget_after
        return hits

    def _load(self, step: Step) -> tuple[bool, ...]:
        batch = [(step.layer, expert) for expert in step.distinct]
        hits = tuple(key in self.fits for key in batch)
        if self.budget_bytes == 0:
            return hits
        for expert in step.valid:
            self.uses.pop((step.layer, expert), None)
            self.uses[step.layer, expert] = step.entry_bytes
        for key, hit in zip(batch, hits, strict=True):
            self.fits.add(key)
            if not hit and key[1] in step.failing:
                del self.uses[key]
                self.fits.discard(key)
        self._checkpoint(self.budget_bytes, protected=set(batch))
        return hits

    def _checkpoint(self, budget_bytes: int, protected: set[Key]) -> None:
        recent_bytes = 0
        for key, size in reversed(self.uses.items()):
            recent_bytes += size
            if recent_bytes > budget_bytes and key not in protected:
                self.fits.discard(key)
