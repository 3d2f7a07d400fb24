"""What is a run of gathers as arrays, and how does each row come to count once per gather?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from replay import kernel
from replay.hashing import I64, U64

GatherOrder = Literal["first_occurrence", "last_occurrence", "sorted"]


@dataclass(frozen=True)
class Gathers:
    """Some gathers of one table, in order.

    Args:
        ids: row ids of all gathers, one after the other.
        offsets: gather i is ids[offsets[i]:offsets[i + 1]]; ascends from 0 to len(ids).
    """

    ids: U64
    offsets: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, gathers: Iterable[Sequence[int]]) -> Gathers:
        """The same from sequences of ids, each from 0 to 2^64-1; OverflowError for any other."""
        groups = [np.array(gather, dtype=np.uint64) for gather in gathers]
        return cls.joined(groups)

    @classmethod
    def joined(cls, groups: Sequence[U64]) -> Gathers:
        """One gather an array."""
        lengths = [len(group) for group in groups]
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)
        ids = np.concatenate(groups) if groups else np.empty(0, dtype=np.uint64)
        return cls(ids, offsets)

    def distinct(
        self,
        order: GatherOrder = "first_occurrence",
        engine: kernel.EngineName | None = None,
    ) -> Gathers:
        """Each id once per gather, in the order in which a RowCache works through them."""
        module = kernel.built() if (engine or kernel.engine_name()) == "c" else None
        if module is None or order != "first_occurrence":
            return self._distinct_by_sorting(order)
        ids = np.empty_like(self.ids)
        offsets = np.empty_like(self.offsets)
        count = module.distinct(self.ids, self.offsets, ids, offsets)
        return Gathers(ids[:count], offsets)

    def _distinct_by_sorting(self, order: GatherOrder) -> Gathers:
        """Equal ids of a gather become neighbours, in order of occurrence; one of them is kept."""
        gather = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        by_id = np.lexsort((self.ids, gather))
        ids, gather = self.ids[by_id], gather[by_id]
        changes = np.ones(len(ids) + 1, dtype=bool)
        changes[1:-1] = (ids[1:] != ids[:-1]) | (gather[1:] != gather[:-1])
        kept = by_id[changes[1:] if order == "last_occurrence" else changes[:-1]]
        offsets = np.searchsorted(np.sort(kept), self.offsets).astype(np.int64)
        return Gathers(self.ids[kept if order == "sorted" else np.sort(kept)], offsets)
