"""How large may the expert cache be? Token demand, cycles and legal budgets, from the model's shape alone.

Token demand (TD), also called one cycle, is what one decode token asks for:
TD = sum over MoE layers of min(k, experts) * entry bytes. Source: BigMoeOnEdge#103; min(k, experts) as
BigMoeOnEdge#167 corrected it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reference.errors import MIB


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What of a model the expert cache needs to know.

    Args:
        entry_bytes: per layer, the bytes of one expert of that layer with all its projections; 0 is a dense layer.
        experts: per layer, how many experts it has; not read where the layer is dense.
        k: experts the router picks per token and layer (top-k).

    Raises:
        ValueError: the two tuples differ in length, a number is negative, or k is below 1.
    """

    entry_bytes: tuple[int, ...]
    experts: tuple[int, ...]
    k: int

    def __post_init__(self) -> None:
        if len(self.entry_bytes) != len(self.experts):
            raise ValueError(
                f"{len(self.entry_bytes)} entry sizes for {len(self.experts)} expert counts"
            )
        if min((*self.entry_bytes, *self.experts, 0)) < 0:
            raise ValueError("entry bytes and expert counts are 0 or more")
        if self.k < 1:
            raise ValueError(f"k is 1 or more, not {self.k}")

    @property
    def moe_layers(self) -> tuple[int, ...]:
        """The layers that hold experts, ascending."""
        return tuple(
            layer
            for layer, (size, count) in enumerate(zip(self.entry_bytes, self.experts, strict=True))
            if size > 0 and count > 0
        )

    def with_k(self, k: int) -> ModelShape:
        """The same model routed with another top-k."""
        return replace(self, k=k)


def layer_demand_bytes(shape: ModelShape, layer: int) -> int:
    """Bytes one decode token asks of `layer`: min(k, experts) * entry bytes; 0 for a dense layer."""
    return min(shape.k, shape.experts[layer]) * shape.entry_bytes[layer]


def token_demand_bytes(shape: ModelShape) -> int:
    """TD, the bytes of one cycle; 0 for a model without MoE layers."""
    return sum(layer_demand_bytes(shape, layer) for layer in shape.moe_layers)


def total_expert_bytes(shape: ModelShape) -> int:
    """Bytes of all experts of all MoE layers."""
    return sum(shape.experts[layer] * shape.entry_bytes[layer] for layer in shape.moe_layers)


def cliff_bytes(shape: ModelShape) -> int:
    """The lowest budget at which a decode token can hit at all: TD - max over layers of (min(k, n) - 1) * entry bytes.

    Holds for plain LRU with at least two MoE layers visited in a fixed order and min(k, n) distinct experts per layer
    and token. Below it a decode token never hits; between it and TD hits are possible. With fewer than two MoE layers
    there is no cliff and this is 0. Proof: an expert is looked up again only after every other layer has been visited
    once, so at least TD minus the rest of its own layer's batch has been used since.
    """
    if len(shape.moe_layers) < 2:
        return 0
    spared = max(
        layer_demand_bytes(shape, layer) - shape.entry_bytes[layer] for layer in shape.moe_layers
    )
    return token_demand_bytes(shape) - spared


def cycles_held(budget_bytes: int, shape: ModelShape) -> float:
    """How many cycles a budget holds; 0.0 for a model without MoE layers."""
    demand = token_demand_bytes(shape)
    return budget_bytes / demand if demand else 0.0


def top_budget_bytes(shape: ModelShape) -> int:
    """The largest legal budget: the least multiple of TD that holds all experts."""
    demand = token_demand_bytes(shape)
    return -(-total_expert_bytes(shape) // demand) * demand if demand else 0


def legal_budgets(shape: ModelShape) -> range:
    """{0} and the whole multiples of TD up to `top_budget_bytes`, ascending, in bytes."""
    demand = token_demand_bytes(shape)
    return range(0, top_budget_bytes(shape) + 1, demand) if demand else range(1)


def floor_to_cycles(request_bytes: int, shape: ModelShape) -> int:
    """The legal budget a request gives: rounded down to whole cycles, at most the top; below one cycle it is 0."""
    demand = token_demand_bytes(shape)
    if demand == 0:
        return 0
    return min(request_bytes // demand * demand, top_budget_bytes(shape))


def step_down(budget_bytes: int, shape: ModelShape) -> int:
    """One cycle less than `budget_bytes` floored; the last step down goes to 0 (cache off)."""
    return max(0, floor_to_cycles(budget_bytes, shape) - token_demand_bytes(shape))


def step_up(budget_bytes: int, shape: ModelShape) -> int:
    """One cycle more than `budget_bytes` floored, at most the top."""
    return floor_to_cycles(floor_to_cycles(budget_bytes, shape) + token_demand_bytes(shape), shape)


AUTO_FLOOR_BYTES = 1536 * MIB
"""Memory `--cache-mb auto` leaves to others unless told otherwise (Helldez/BigMoeOnEdge at 2d4f2b1)."""

AUTO_MINIMUM_BYTES = 1500 * MIB
"""The engine's smallest explicit budget without --force-cache, and the least `auto` asks for."""


def auto_budget_bytes(
    available_bytes: int,
    shape: ModelShape,
    *,
    pending_bytes: int = 0,
    floor_bytes: int = AUTO_FLOOR_BYTES,
    ceiling_bytes: int = 0,
    minimum_bytes: int = AUTO_MINIMUM_BYTES,
) -> int:
    """What `--cache-mb auto` chooses at start, in bytes; not a whole number of MiB or cycles.

    Args:
        available_bytes: MemAvailable at that moment; 0 means it could not be read.
        pending_bytes: allocations still to come (dense weights not yet moved to buffers). Leaving them out plans the
            same bytes twice (BigMoeOnEdge#78).
        floor_bytes: memory left to others.
        ceiling_bytes: an upper bound given by the user; 0 is none.
        minimum_bytes: the least it asks for, itself held below the ceiling and the size of all experts.

    Source: Helldez/BigMoeOnEdge at 2d4f2b1; the deduction of pending bytes is not in #103's base.
    """
    total = total_expert_bytes(shape)
    ceiling = min(ceiling_bytes, total) if ceiling_bytes > 0 else total
    least = min(minimum_bytes, ceiling)
    if available_bytes <= 0:
        return least
    return min(max(available_bytes - pending_bytes - floor_bytes, least), ceiling)
