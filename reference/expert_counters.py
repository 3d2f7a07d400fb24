"""What the expert cache counts, and over which span.

All counters are cumulative since the cache was opened and are never reset: a turn's figures are differences. The
decode_* ones count decode batches alone, so prefill = total - decode. Source: Helldez/BigMoeOnEdge at 2d4f2b1.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ExpertCounters:
    """The counters of one session.

    lookups, hits: distinct valid ids of a batch, and those found resident. evictions: entries that left, shrinks
    included. rereads: misses and queued prefetches of an id that was evicted before. read_bytes: logical bytes of
    demand reads (without the alignment a device adds). resizes: budget changes carried out. spec_read_bytes,
    spec_experts, spec_useful: bytes of completed speculative reads, entries integrated, integrated entries later hit
    (once each). experts_routed, experts_dropped: router slots the drop policy saw, and dropped, in decode.
    """

    lookups: int = 0
    hits: int = 0
    decode_lookups: int = 0
    decode_hits: int = 0
    evictions: int = 0
    rereads: int = 0
    read_bytes: int = 0
    decode_read_bytes: int = 0
    resizes: int = 0
    spec_read_bytes: int = 0
    spec_experts: int = 0
    spec_useful: int = 0
    experts_routed: int = 0
    experts_dropped: int = 0

    def count_lookup(self, *, hit: bool, decode: bool) -> None:
        """One lookup."""
        self.lookups += 1
        self.hits += hit
        self.decode_lookups += decode
        self.decode_hits += decode and hit

    def count_read(self, size_bytes: int, *, decode: bool) -> None:
        """One batch's demand reads."""
        self.read_bytes += size_bytes
        self.decode_read_bytes += size_bytes if decode else 0

    def as_dict(self) -> dict[str, int]:
        """Name to value."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class DemandMeter:
    """Measures token demand: the distinct bytes asked for in one pass over the layers.

    A pass is published when the next one begins, which is when the layer index does not rise; so the published figure
    is that of the pass before the last one seen. Measured with the cache off, too.
    """

    token_demand_bytes: int = 0
    layer_demand_bytes: int = 0
    _layers: dict[int, int] = field(default_factory=dict)
    _last_layer: int = -1

    def add(self, layer: int, size_bytes: int) -> None:
        """One batch of `layer` asked for `size_bytes` of distinct experts."""
        if layer <= self._last_layer:
            self.token_demand_bytes = sum(self._layers.values())
            self.layer_demand_bytes = max(self._layers.values())
            self._layers = {}
        self._layers[layer] = size_bytes
        self._last_layer = layer


def hit_pct(hits: int, lookups: int) -> float:
    """100 * hits / lookups; -1.0 when there were no lookups, as the engine prints it."""
    return 100.0 * hits / lookups if lookups else -1.0
