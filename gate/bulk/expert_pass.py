"""How do many sequences of batches go through one pass of replay/thresholds.py, and what is known of them without it?

Sequences stand one after the other: their experts are different ones, and what came before is less recent than all that
follows, so it moves no threshold. After the batches of each recency list comes a probe, a batch of all its experts: the
thresholds of its lookups say from which budget on each expert is resident in the end.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from gate.bulk.sums import Counted, Mask
from reference.sizing import ModelShape
from replay import kernel
from replay.gathers import Gathers
from replay.hashing import I64, U64
from replay.lookups import Lookups
from replay.thresholds import one_pass

MOST_BYTES = np.iinfo(np.int64).max
"""Threshold of what no budget makes a hit."""


class Pass:
    """The lookups of many sequences of batches.

    Args:
        shapes: the model of each sequence.
        sequence, layer, decode: of each batch; sequences ascend.
        batches: the expert ids of each batch, in routing order.
        by_layer: each layer has a recency list of its own.
    """

    def __init__(
        self,
        *,
        shapes: Sequence[ModelShape],
        sequence: I64,
        layer: I64,
        decode: Mask,
        batches: Gathers,
        by_layer: bool,
    ) -> None:
        self.sequences = len(shapes)
        self.decode = decode
        layers = max((len(shape.entry_bytes) for shape in shapes), default=1) or 1
        experts = max((max(shape.experts, default=0) for shape in shapes), default=0) or 1
        sizes = np.zeros((self.sequences, layers), dtype=np.int64)
        for at, shape in enumerate(shapes):
            sizes[at, : len(shape.entry_bytes)] = shape.entry_bytes
        of_batch = np.repeat(np.arange(len(batches)), np.diff(batches.offsets))
        places = sequence * layers + layer
        names = places[of_batch] * experts + batches.ids.astype(np.int64)
        known, self.slot_key = np.unique(names, return_inverse=True)
        self.slot_batch = of_batch
        self.key_sequence = known // (layers * experts)
        self.key_bytes = sizes[self.key_sequence, known // experts % layers]
        self.list_of = places if by_layer else sequence
        self.key_list = known // experts if by_layer else self.key_sequence
        self.list_sequence = np.arange(self.sequences).repeat(layers if by_layer else 1)

    # --- the engine ---------------------------------------------------------------------------------

    def thresholds(self, engine: str) -> Passed:
        """The lookups and the threshold of each, by an engine of replay/thresholds.py."""
        slots, order = self._with_probes()
        name: kernel.EngineName = "c" if engine == "c" else "python"
        first = slots.distinct("first_occurrence", name)
        touched = slots.distinct("last_occurrence", name)
        key = first.ids.astype(np.int64)
        batch = order.repeat(np.diff(first.offsets))
        columns = (key, touched.ids.astype(np.int64), first.offsets, self.key_bytes)
        theta = np.minimum(_thresholds(name, *columns), np.uint64(MOST_BYTES)).astype(np.int64)
        return Passed(self, key, batch, theta)

    def _with_probes(self) -> tuple[Gathers, I64]:
        """All batches list by list, each list with its probe; and the number of each, probes after the batches."""
        batches, lists = len(self.list_of), len(self.list_sequence)
        order = np.lexsort(
            (np.arange(batches + lists), np.concatenate((self.list_of, np.arange(lists))))
        )
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        batch = np.concatenate((self.slot_batch, batches + self.key_list))
        key = np.concatenate((self.slot_key, np.arange(len(self.key_bytes))))
        widths = np.bincount(batch, minlength=batches + lists)[order]
        offsets = np.concatenate(([0], np.cumsum(widths)))
        return Gathers(
            key[np.argsort(place[batch], kind="stable")].astype(np.uint64), offsets
        ), order

    # --- what is known without it -------------------------------------------------------------------

    @cached_property
    def _asked(self) -> tuple[I64, I64]:
        """Batch and key of each lookup, sorted; found by sorting alone."""
        keys = max(1, len(self.key_bytes))
        both = np.unique(self.slot_batch * keys + self.slot_key)
        return both // keys, both % keys

    @cached_property
    def facts(self) -> Counted:
        """Of each sequence; see gate/bulk/sums.py."""
        batch, key = self._asked
        size, sequence, decode = self.key_bytes[key], self.key_sequence[key], self.decode[batch]
        stays, lasts = self._stays(), self._is_last[batch]
        largest = np.zeros(self.sequences, dtype=np.int64)
        np.maximum.at(largest, self.key_sequence, self.key_bytes)
        smallest = np.full(self.sequences, MOST_BYTES)
        np.minimum.at(smallest, self.key_sequence, self.key_bytes)
        return {
            "lookups": self.count(sequence),
            "decode_lookups": self.count(sequence[decode]),
            "asked_bytes": self.count(sequence, size),
            "decode_asked_bytes": self.count(sequence[decode], size[decode]),
            "met": self.count(self.key_sequence),
            "stayed": self.count(sequence[stays]),
            "last_entries": self.count(sequence[lasts]),
            "smallest": np.minimum(smallest, largest),
            "largest": largest,
        }

    def _stays(self) -> Mask:
        """Which lookups are of an expert that the batch just before of its list loaded, too."""
        batch, key = self._asked
        keys = max(1, len(self.key_bytes))
        before = np.full(len(self.list_of), -1)
        by_list = np.argsort(self.list_of, kind="stable")
        same = self.list_of[by_list[1:]] == self.list_of[by_list[:-1]]
        before[by_list[1:][same]] = by_list[:-1][same]
        found: Mask = np.isin(before[batch] * keys + key, batch * keys + key) & (before[batch] >= 0)
        return found

    @cached_property
    def _is_last(self) -> Mask:
        """Which batches are the last of their list."""
        last = np.full(len(self.list_sequence), -1)
        np.maximum.at(last, self.list_of, np.arange(len(self.list_of)))
        is_last: Mask = last[self.list_of] == np.arange(len(self.list_of))
        return is_last

    def most_bytes(self, share: I64) -> I64:
        """What may be resident at most, where each list of a sequence has `share` bytes of the budget."""
        batch, key = self._asked
        lasts = self._is_last[batch]
        lists = len(self.list_sequence)
        last_bytes = _sums(self.key_list[key[lasts]], self.key_bytes[key[lasts]], lists)
        return self.count(self.list_sequence, np.maximum(last_bytes, share[self.list_sequence]))

    def holds_all(self, share: I64) -> I64:
        """Whether each list holds all that is asked for, as 1 or 0."""
        bytes_of = _sums(self.key_list, self.key_bytes, len(self.list_sequence))
        short = bytes_of > share[self.list_sequence]
        holds: I64 = (self.count(self.list_sequence[short]) == 0).astype(np.int64)
        return holds

    def count(self, sequence: I64, sizes: I64 | None = None) -> I64:
        """How many items each sequence has, or the sum of their sizes."""
        return _sums(sequence, sizes, self.sequences)


class Passed:
    """The lookups of a pass with their thresholds; those of the probes are numbered behind the batches."""

    def __init__(self, asked: Pass, key: I64, batch: I64, theta: I64) -> None:
        self.asked, self.theta = asked, theta
        self.sequence = asked.key_sequence[key]
        self.size = asked.key_bytes[key]
        self.real: Mask = batch < len(asked.list_of)
        self.decode: Mask = np.zeros(len(batch), dtype=bool)
        self.decode[self.real] = asked.decode[batch[self.real]]

    def tallied(self, share: I64, on: Mask) -> Counted:
        """What each sequence counts where each of its lists has `share` bytes, and the cache is on."""
        hit = (self.theta <= share[self.sequence]) & on[self.sequence]
        lookups, hits = self._counted(self.real) * on, self._counted(self.real & hit)
        misses, residents = lookups - hits, self._counted(~self.real & hit)
        return {
            "lookups": lookups,
            "hits": hits,
            "decode_lookups": self._counted(self.decode) * on,
            "decode_hits": self._counted(self.decode & hit),
            "evictions": misses - residents,
            "rereads": (misses - self._counted(~self.real)) * on,
            "read_bytes": self._bytes(self.real & ~hit),
            "decode_read_bytes": self._bytes(self.decode & ~hit),
            "resident_bytes": self._bytes(~self.real & hit),
            "resident_entries": residents,
        }

    def _counted(self, marked: Mask) -> I64:
        return self.asked.count(self.sequence[marked])

    def _bytes(self, marked: Mask) -> I64:
        return self.asked.count(self.sequence[marked], self.size[marked])


def _sums(group: I64, sizes: I64 | None, groups: int) -> I64:
    """Items of each group, or their sizes together: below 2^53, so that sums are exact."""
    return np.bincount(group, sizes, minlength=groups).astype(np.int64)


def _thresholds(
    engine: kernel.EngineName, key: I64, touched: I64, offsets: I64, key_bytes: I64
) -> U64:
    if engine == "c":
        columns = (array("q", column.tobytes()) for column in (key, touched, offsets, key_bytes))
        return np.array(kernel.thresholds(*columns), dtype=np.uint64)
    lists = [column.tolist() for column in (key, touched, offsets, key_bytes)]
    lookups = Lookups(key=lists[0], touched=lists[1], offsets=lists[2], key_bytes=lists[3])
    bounds = zip(lists[2], lists[2][1:], strict=False)
    return np.array(one_pass(lookups, bounds, len(key)), dtype=np.uint64)
