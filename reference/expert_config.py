"""What an expert cache is opened with: shape, requested budget, policy, and the rules where implementations differ.

The engine (Helldez/BigMoeOnEdge at 2d4f2b1) and the self-sizing proposal (BigMoeOnEdge#103) disagree in a few places.
Each place is a parameter here; the defaults are the proposal's, `ENGINE_RULES` the engine's. An implementation
declares its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference.sizing import ModelShape

POLICIES = ("lru", "lfu", "random", "layer", "layerlfu", "belady")

BUDGET_RULES = ("cycles", "bytes")
RESIZE_RULES = ("refuse", "apply")
ZERO_RULES = ("off", "one-byte")
GROW_RULES = ("free", "total")
FAILED_READ_RULES = ("absent", "resident")


@dataclass(frozen=True, slots=True)
class Rules:
    """The places where two correct caches may differ.

    Args:
        budget: "cycles": a request is floored to whole multiples of the token demand, at most the least multiple that
            holds all experts. "bytes": it is kept to the byte.
        resize_in_generation: "refuse": answered with the refusal `in-generation`, nothing changes. "apply": carried
            out at once (in the engine it is undefined: a data race).
        shrink_to_zero: "off": the cache is off and a later grow turns it on again. "one-byte": the budget becomes one
            byte; a cache opened with 0 stays off for ever.
        grow: with budgets kept to the byte, what bounds one that grows: "free": nothing. "total": the bytes of all
            experts. (The opening budget is bounded by neither; whole cycles always end at the top.)
        failed_read: what a failed demand read leaves: "absent": the entry is not resident and the next access is a
            miss. "resident": the batch stays marked resident with wrong bytes and nothing is evicted, which is the
            engine's known fault.
    """

    budget: str = "cycles"
    resize_in_generation: str = "refuse"
    shrink_to_zero: str = "off"
    grow: str = "free"
    failed_read: str = "absent"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("budget", BUDGET_RULES),
            ("resize_in_generation", RESIZE_RULES),
            ("shrink_to_zero", ZERO_RULES),
            ("grow", GROW_RULES),
            ("failed_read", FAILED_READ_RULES),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is one of {', '.join(allowed)}, not {getattr(self, name)}"
                )


PROPOSAL_RULES = Rules()
ENGINE_RULES = Rules("bytes", "apply", "one-byte", "total", "resident")
EXACT_BYTES = Rules(budget="bytes")
"""The proposal's rules with the budget kept to the byte: what small examples and replays use."""


@dataclass(frozen=True, slots=True)
class Dropping:
    """The policy that drops cold experts of a token (`--drop-cold-experts F`); F = 0 is off.

    Args:
        fraction: F in [0, 1]: a missing expert is dropped when its weight is below F / k.
        in_prefill: also drop in prefill; otherwise in decode only.
    """

    fraction: float = 0.0
    in_prefill: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 1.0:
            raise ValueError(f"the drop fraction lies in [0, 1], not {self.fraction}")


@dataclass(frozen=True, slots=True)
class ExpertConfig:
    """Everything an expert cache is opened with.

    Args:
        shape: the model.
        budget_bytes: the requested budget; 0 is off.
        policy: one of `POLICIES`; programs use the online ones, `belady` needs the future and is replayed only.
        rules: see `Rules`.
        dropping: see `Dropping`.

    Raises:
        ValueError: a negative budget or an unknown policy.
    """

    shape: ModelShape
    budget_bytes: int = 0
    policy: str = "lru"
    rules: Rules = PROPOSAL_RULES
    dropping: Dropping = field(default_factory=Dropping)

    def __post_init__(self) -> None:
        if self.budget_bytes < 0:
            raise ValueError(f"a budget is 0 or more bytes, not {self.budget_bytes}")
        if self.policy not in POLICIES:
            raise ValueError(f"unknown policy {self.policy}: one of {', '.join(POLICIES)}")
