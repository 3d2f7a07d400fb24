"""How does the budget grow and shrink between generations? The self-sizing rule, as an executable specification.

The budget opens at one cycle and moves by one cycle at a time, between generations only. With all times in
milliseconds a token:

    gain of the n-th cycle = Δhit share * TD bytes * (I/O time / bytes read of the last turn)
    cost of a step         = cost of a token in the turn that judges it - cost in the last turn before it

A step up stays if its cost does not exceed its gain, and the next one follows while the next gain is above that cost.
Otherwise the budget steps back; the last step down goes to 0. A step down, taken when the cost of a token has risen by
more than the last cycle gains, stays if it saves more than it loses. Source: BigMoeOnEdge#103; what it leaves open is
decided in reference/growth_decisions.py.

Nothing here knows on which platform it runs, and neither k nor the drop threshold is ever touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

from reference.growth_decisions import Decisions
from reference.growth_events import (
    IN_GENERATION,
    NO_GENERATION,
    Begun,
    Ended,
    Event,
    KSet,
    Reply,
    Sample,
    Sampled,
    Turn,
)
from reference.growth_gain import gain_share
from reference.sizing import ModelShape, legal_budgets, token_demand_bytes, total_expert_bytes

UP, NONE, DOWN = 1, 0, -1
FOR_EVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a token in one turn, in milliseconds, and over how many tokens it was measured."""

    ms: float
    tokens: int


@dataclass(slots=True)
class Known:
    """What was measured in this session, for the k of now.

    Attributes:
        trial: direction of the step that is still to be judged.
        trial_turns: measured turns since that step.
        before: cost in the last turn before that step.
        calm: the lowest cost measured at this budget since it was accepted.
        forecast_ms: what the next cycle is expected to cost: as much as the last one judged.
        judged: the cycles whose cost was measured.
        refusals: how often each cycle was refused.
        wait: measured turns until a refused cycle may be tried again.
        ms_per_byte: I/O time of a byte, from the last turn that read one.
    """

    trial: int = NONE
    trial_turns: int = 0
    before: Cost | None = None
    calm: Cost | None = None
    forecast_ms: float = 0.0
    judged: set[int] = field(default_factory=set)
    refusals: dict[int, int] = field(default_factory=dict)
    wait: dict[int, int] = field(default_factory=dict)
    ms_per_byte: float | None = None


class Growth:
    """The rule over one session.

    Args:
        shape: the model; its k is that of the opening.
        drop_fraction: the drop threshold in force, only ever echoed.
        platform: a name for reports.
        decisions: the open points.
    """

    def __init__(
        self,
        shape: ModelShape,
        drop_fraction: float = 0.0,
        platform: str = "",
        decisions: Decisions | None = None,
    ) -> None:
        self.drop_fraction = drop_fraction
        self.platform = platform
        self.decisions = decisions or Decisions()
        self._take_shape(shape)
        self.cycles = min(1, self.top_cycles)
        self.in_generation = False
        self.sample: Sample | None = None
        self.known = Known()

    # --- events -----------------------------------------------------------------------------------------------------

    def opened(self) -> Reply:
        """Before the first event: one cycle, or 0 for a model without experts."""
        return self._reply()

    def tell(self, event: Event) -> Reply:
        """Take one event."""
        refusal = self._refusal(event)
        return self._reply(refusal, "" if refusal else self._take(event))

    def _reply(self, refusal: str = "", why: str = "") -> Reply:
        return Reply(self.budget_bytes, self.shape.k, self.drop_fraction, refusal, why)

    def _refusal(self, event: Event) -> str:
        if isinstance(event, Begun | KSet) and self.in_generation:
            return IN_GENERATION
        return NO_GENERATION if isinstance(event, Ended) and not self.in_generation else ""

    def _take(self, event: Event) -> str:
        match event:
            case Begun():
                self.in_generation = True
            case Sampled():
                self.sample = event.sample
            case KSet():
                self._change_k(event.k)
            case Ended():
                self.in_generation = False
                return self._decide(event.turn)
        return ""

    def _take_shape(self, shape: ModelShape) -> None:
        """One cycle, and how many of them hold all experts, with the k of now."""
        self.shape = shape
        self.cycle_bytes = token_demand_bytes(shape)
        self.top_cycles = len(legal_budgets(shape)) - 1
        self.entry_bytes = max((shape.entry_bytes[layer] for layer in shape.moe_layers), default=0)

    def _change_k(self, k: int) -> None:
        """The bytes held are floored to whole cycles of the new demand; a cache that was on stays on."""
        held_bytes, was_on = self.budget_bytes, self.cycles > 0
        self._take_shape(self.shape.with_k(k))
        floored = min(held_bytes // max(1, self.cycle_bytes), self.top_cycles)
        self.cycles = max(floored, min(was_on, self.top_cycles))
        self.sample = None  # its cycles were those of the old demand
        self.known = Known()

    # --- deciding ---------------------------------------------------------------------------------------------------

    def _decide(self, turn: Turn) -> str:
        """The budget of the next generation; answers why."""
        if turn.tokens < self.decisions.least_tokens:
            return "too short to measure"
        self._note_bandwidth(turn)
        cost = self._cost_of(turn)
        self._count_waits()
        if self.sample is None or cost is None:
            return "nothing to weigh"
        if self.known.ms_per_byte is None:
            return self._unless_unjudged(cost, "nothing was read")
        if self.known.trial != NONE:
            self.known.trial_turns += 1
            if not self._full(turn) and self.known.trial_turns < self.decisions.settle_turns:
                return "filling"
            judge = self._judge_growth if self.known.trial == UP else self._judge_shrink
            verdict = judge(cost)
            if verdict:
                return verdict
        return self._shrink_at_rest(cost) or self._grow(cost, turn)

    def _judge_growth(self, cost: Cost) -> str:
        """Does the cycle just added cost more than it gains? Then it is given back."""
        known, change = self.known, self._change(cost)
        known.trial = NONE
        known.judged.add(self.cycles)
        known.forecast_ms = max(0.0, change)
        if change <= self._gain_ms(self.cycles):
            known.calm = cost
            return ""
        self._refuse(self.cycles)
        known.calm = known.before
        self.cycles -= 1
        return "refused: costs more than it gains"

    def _judge_shrink(self, cost: Cost) -> str:
        """Did the cycle just given up save more than it lost? Otherwise it is taken back."""
        known, saved = self.known, -self._change(cost)
        known.trial = NONE
        known.judged.add(self.cycles + 1)
        if saved <= self._gain_ms(self.cycles + 1) > 0:
            known.calm = known.before
            self.cycles += 1
            return "taken back: saved less than it gained"
        self._refuse(self.cycles + 1)
        known.calm = cost
        known.forecast_ms = saved
        if self.cycles > 0 and saved > self._gain_ms(self.cycles):
            return self._step(DOWN, cost, "stepping back")
        return "shrunk: saves more than it gained"

    def _shrink_at_rest(self, cost: Cost) -> str:
        """Has the cost risen by more than the last cycle gains, or is that cycle suspect?"""
        known = self.known
        if self.cycles == 0:
            return ""
        calm = known.calm or cost
        rise = self._beyond_noise(calm, cost)
        known.calm = min(calm, cost, key=lambda each: each.ms)
        if rise > self._gain_ms(self.cycles):
            return self._step(DOWN, cost, "stepping back: cost has risen")
        if self.cycles not in known.judged and self.cycles + 1 in known.refusals:
            measured = self.decisions.check_off == "measure" and self.cycles == 1
            if measured or known.forecast_ms > self._gain_ms(self.cycles):
                return self._step(DOWN, cost, "stepping back: the next cycle was refused")
        return ""

    def _grow(self, cost: Cost, turn: Turn) -> str:
        """One cycle more, if it gains more than it is expected to cost."""
        known, following = self.known, self.cycles + 1
        if self.cycles == self.top_cycles:
            return self._unless_unjudged(cost, "all experts fit")
        if not self._full(turn) or turn.read_bytes == 0:
            return "not full" if turn.read_bytes else "nothing was read"
        if known.wait.get(following):
            return "waiting"
        gain_ms = self._gain_ms(following)
        if gain_ms <= 0:
            return self._unless_unjudged(cost, "no gain")
        if gain_ms > known.forecast_ms:
            return self._step(UP, cost, "growing")
        self._refuse(following)
        return "refused: expected to cost more than it gains"

    def _unless_unjudged(self, cost: Cost, why: str) -> str:
        """Rest here, unless nothing is known of what this cycle costs: then see how it goes without."""
        if self.cycles in self.known.judged | {0}:
            return why
        return self._step(DOWN, cost, "trying without")

    def _step(self, direction: int, cost: Cost, why: str) -> str:
        self.cycles += direction
        self.known.trial, self.known.trial_turns, self.known.before = direction, 0, cost
        return why

    def _refuse(self, cycle: int) -> None:
        """Do not try this cycle again for a while, each time twice as long."""
        known, first = self.known, self.decisions.retry_after_turns
        times = known.refusals[cycle] = known.refusals.get(cycle, 0) + 1
        known.wait[cycle] = min(first << (times - 1), FOR_EVER) if first else FOR_EVER

    def _count_waits(self) -> None:
        """A cycle whose wait is over may be tried whatever it was expected to cost."""
        for cycle, turns in self.known.wait.items():
            self.known.wait[cycle] = max(0, turns - 1)
            if turns == 1 and cycle == self.cycles + 1:
                self.known.forecast_ms = 0.0

    # --- measuring --------------------------------------------------------------------------------------------------

    def _cost_of(self, turn: Turn) -> Cost | None:
        """What a token cost in this turn; None where faults are asked for and the platform cannot count them."""
        kind = self.decisions.cost
        if kind == "faults" and turn.faults is None:
            return None
        total_ms = 0.0 if kind == "faults" else turn.compute_ms
        if kind in ("faults", "compute+faults"):
            total_ms += (turn.faults or 0) * self.decisions.ms_per_fault
        if kind == "compute+management":
            total_ms += turn.management_ms
        return Cost(total_ms / turn.tokens, turn.tokens)

    def _change(self, cost: Cost) -> float:
        """By how much a token costs more than before the step, in ms; 0 within the noise."""
        return self._beyond_noise(self.known.before or cost, cost)

    def _beyond_noise(self, before: Cost, after: Cost) -> float:
        change = after.ms - before.ms
        tokens = min(before.tokens, after.tokens)
        noise = self.decisions.noise_share * before.ms / sqrt(tokens)
        return 0.0 if abs(change) <= noise else change

    def _note_bandwidth(self, turn: Turn) -> None:
        if turn.read_bytes > 0:
            waited = self.decisions.io_time == "waited"
            self.known.ms_per_byte = (turn.waited_ms if waited else turn.io_ms) / turn.read_bytes

    def _full(self, turn: Turn) -> bool:
        """Would one more entry not fit, or is everything resident?"""
        room = min(self.budget_bytes, total_expert_bytes(self.shape))
        return turn.resident_bytes + self.entry_bytes > room

    # --- the gain ---------------------------------------------------------------------------------------------------

    def _gain_ms(self, cycle: int) -> float:
        """What the `cycle`-th cycle saves a token, in ms."""
        assert self.sample is not None
        share = gain_share(self.sample, cycle, hull=self.decisions.gain == "hull")
        return share * self.cycle_bytes * (self.known.ms_per_byte or 0.0)

    @property
    def budget_bytes(self) -> int:
        """The budget in force."""
        return self.cycles * self.cycle_bytes
