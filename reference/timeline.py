"""What is known about each step of an expert-cache program without any cache: refusals, budgets, distinct experts.

The laws judge an outcome against these facts, so they need no model of what is resident.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference.budget import Budget
from reference.expert_config import ExpertConfig
from reference.expert_session import (
    CACHE_OFF,
    DENSE_LAYER,
    IN_GENERATION,
    NO_EXPERTS,
    NO_GENERATION,
    NO_SUCH_LAYER,
    NOT_AN_OPERATION,
)
from reference.program import (
    DECODE,
    Arrive,
    Ask,
    Begin,
    Cancel,
    End,
    Load,
    Lose,
    Plain,
    Prefetch,
    Program,
    Retain,
    SetBudget,
    SetK,
    plain,
    times,
)
from reference.sizing import ModelShape


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a program, and what is known of it.

    Args:
        number: 1-based place in the program.
        operation: without its repeat count.
        times: how often it is applied.
        refusal: the name it must be refused with, "" when it must be carried out; None where that depends on what is
            resident.
        shape: the model with the k in force.
        budget_before, budget_after: budgets in bytes around the step.
        turn: turns completed after the step.
        distinct: of a load carried out: the distinct valid experts in order of first occurrence. Dropping may take
            some away.
        valid: the same with repeats, in routing order.
    """

    number: int
    operation: Plain
    times: int
    refusal: str | None
    shape: ModelShape
    budget_before: int
    budget_after: int
    turn: int
    distinct: tuple[int, ...] = ()
    valid: tuple[int, ...] = ()

    @property
    def is_load(self) -> bool:
        """A load that is carried out."""
        return isinstance(self.operation, Load) and self.refusal == ""

    @property
    def is_decode(self) -> bool:
        """A decode load that is carried out."""
        return isinstance(self.operation, Load) and self.is_load and self.operation.phase == DECODE

    @property
    def layer(self) -> int:
        """The layer of a load."""
        assert isinstance(self.operation, Load)
        return self.operation.layer

    @property
    def entry_bytes(self) -> int:
        """Bytes of one expert of the layer of a load."""
        return self.shape.entry_bytes[self.layer]

    @property
    def failing(self) -> frozenset[int]:
        """The experts of a load whose read fails if it is needed."""
        assert isinstance(self.operation, Load)
        return self.operation.failing & set(self.distinct)


def timeline(program: Program) -> list[Step]:
    """The steps of an expert-cache program."""
    assert isinstance(program.config, ExpertConfig)
    return list(_Walk(program.config).steps(program))


class _Walk:
    def __init__(self, config: ExpertConfig) -> None:
        self.config = config
        self.budget = Budget(config)
        self.in_generation = False
        self.decoded = False
        self.turn = 0

    def steps(self, program: Program) -> Iterator[Step]:
        for number, operation in enumerate(program.operations, 1):
            act, count = plain(operation), times(operation)
            before = self.budget.granted_bytes
            refusal: str | None = ""
            for _ in range(min(count, 2)):  # from the second application on nothing changes
                refusal = self._apply(act)
            valid = self._valid(act) if refusal == "" else ()
            yield Step(
                number,
                act,
                count,
                refusal,
                self.budget.shape,
                before,
                self.budget.granted_bytes,
                self.turn,
                tuple(dict.fromkeys(valid)),
                valid,
            )

    def _valid(self, act: Plain) -> tuple[int, ...]:
        if not isinstance(act, Load):
            return ()
        known = self.budget.shape.experts[act.layer]
        return tuple(expert for expert in act.experts if expert < known)

    def _apply(self, act: Plain) -> str | None:
        match act:
            case Begin():
                return self._begin()
            case End() | Cancel():
                return self._end(isinstance(act, End))
            case Load() | Prefetch() | Retain():
                return self._on_layer(act)
            case Arrive() | Lose():
                return None
            case Ask():
                return ""
            case SetBudget() | SetK():
                return self._resize(act)
            case _:
                return NOT_AN_OPERATION

    def _begin(self) -> str:
        if self.in_generation:
            return IN_GENERATION
        self.in_generation, self.decoded = True, False
        return ""

    def _end(self, completes: bool) -> str:
        if not self.in_generation:
            return NO_GENERATION
        self.in_generation = False
        self.turn += completes or self.decoded
        return ""

    def _on_layer(self, act: Load | Prefetch | Retain) -> str:
        shape = self.config.shape
        if not self.in_generation:
            return NO_GENERATION
        if act.layer >= len(shape.entry_bytes):
            return NO_SUCH_LAYER
        if act.layer not in shape.moe_layers:
            return DENSE_LAYER
        if not act.experts:
            return NO_EXPERTS
        if isinstance(act, Load):
            self.decoded |= act.phase == DECODE
            return ""
        return "" if self.budget.granted_bytes else CACHE_OFF

    def _resize(self, act: SetBudget | SetK) -> str:
        refuse = self.config.rules.resize_in_generation == "refuse"
        if self.in_generation and (refuse or isinstance(act, SetK)):
            return IN_GENERATION
        if isinstance(act, SetK):
            self.budget.change_k(act.k)
        else:
            self.budget.request(act.request_bytes)
        return ""
