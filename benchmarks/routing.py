"""How fast is synthetic routing made, and does a stream of any length stay within bounded memory?

    python -m benchmarks.routing [MODEL] [ROUTINGS]        10^8 routings unless told otherwise

The stream runs through an LRU cache of four cycles as it is made; nothing of it is kept.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import OrderedDict

from fixtures.routing import NamedRouting, named_routing, router_of
from reference.sizing import token_demand_bytes

REPORTS = 10
CYCLES = 4


class LayerLru:
    """A plain LRU cache over (layer, expert), evicting after each layer."""

    def __init__(self, routing: NamedRouting) -> None:
        shape = routing.shape
        self.sizes = [shape.entry_bytes[layer] for layer in shape.moe_layers]
        self.budget_bytes = CYCLES * token_demand_bytes(shape)
        self.order: OrderedDict[int, int] = OrderedDict()
        self.held = self.hits = self.lookups = 0

    def load(self, token: list[list[int]]) -> None:
        """All layers of one token."""
        order = self.order
        for layer, experts in enumerate(token):
            size, base = self.sizes[layer], layer << 20
            for expert in experts:
                if base + expert in order:
                    self.hits += 1
                    order.move_to_end(base + expert)
                else:
                    order[base + expert] = size
                    self.held += size
            self.lookups += len(experts)
            while self.held > self.budget_bytes:
                self.held -= order.popitem(last=False)[1]


def main() -> None:
    """Stream and report."""
    routing = named_routing(sys.argv[1] if len(sys.argv) > 1 else "qwen3-30b-a3b")
    wanted = int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**8
    cache, stream = LayerLru(routing), router_of(routing, 1).tokens()
    print(f"{'routings':>12} {'CPU s':>8} {'us/routing':>10} {'hit %':>6} {'peak MiB':>8}")
    for report in range(1, REPORTS + 1):
        while cache.lookups < wanted * report // REPORTS:
            cache.load(next(stream).tolist())
        cpu_s = time.process_time()
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{cache.lookups:>12} {cpu_s:>8.1f} {1e6 * cpu_s / cache.lookups:>10.2f} "
            f"{100 * cache.hits / cache.lookups:>6.2f} {peak_mib:>8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
