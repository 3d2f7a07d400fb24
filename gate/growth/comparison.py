"""What would no cache, fixed budgets, `auto` and the loops have cost on the same turns of the same device?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fixtures.devices import Device, of_architecture, wall_ms
from reference.errors import MIB
from reference.growth_events import MakeSizing, Turn
from reference.sizing import auto_budget_bytes, token_demand_bytes
from replay.closed_loop import LoopTurn, Session, Work, measured, run_closed_loop
from replay.sampled_curve import SAMPLES
from replay.trace_session import FixedBudgets, TraceSession, TraceTurns

FIXED_CYCLES = (2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Row:
    """One way to size the cache; the fields are those of `--json`.

    what: its name. resting_bytes: the budget of the last turn. budgets_bytes: of each turn. hit_pct: of the decode
    lookups; None with the cache off throughout. read_mib, faults, ms: per decode token; faults is None where the device
    cannot count them. win_pct: share of what the best fixed budget saves against no cache; None where that is nothing.
    """

    what: str
    resting_bytes: int
    budgets_bytes: tuple[int, ...]
    hit_pct: float | None
    read_mib: float
    faults: float | None
    ms: float
    win_pct: float | None


class Arena:
    """The turns and the device that all are compared on.

    Args:
        turns: the turns of a trace.
        device: what they run on.
        seed: of the device's noise.
    """

    def __init__(self, turns: TraceTurns, device: Device, seed: int) -> None:
        self.turns = turns
        self.device = device
        self.seed = seed
        self._fixed = FixedBudgets(turns)
        self.off_ms = self._ms_at(0)
        self.best_bytes = min(turns.legal, key=self._ms_at)
        self.best_ms = self._ms_at(self.best_bytes)

    def measure(self, work: Work) -> Turn:
        """What the device records."""
        return self.device.measure(work, self.turns.trace.arch, self.seed)

    def fixed(self, budget_bytes: int) -> list[LoopTurn]:
        """Every turn at one budget."""
        return measured(self._fixed.at(budget_bytes), self.measure)

    def loop(self, make: MakeSizing, sample: str) -> Session:
        """Every turn at the budget a rule answers."""
        sizing = make(self.turns.shape, 0.0, self.device.platform)
        workload = TraceSession(self.turns, sample)
        return run_closed_loop(sizing, workload, self.measure, self.turns.shape)

    @property
    def auto_bytes(self) -> int:
        """What `--cache-mb auto` would choose at the start."""
        arch = self.turns.trace.arch
        return auto_budget_bytes(
            round(self.device.available_mib * MIB),
            self.turns.shape,
            pending_bytes=round(of_architecture(self.device.dense_mib, arch) * MIB),
        )

    def row(self, what: str, turns: Sequence[LoopTurn]) -> Row:
        """The sums of some turns."""
        tokens = sum(turn.measured.tokens for turn in turns)
        lookups = sum(turn.done.decode.lookups for turn in turns)
        hits = sum(turn.done.decode.hits for turn in turns)
        faults = [turn.measured.faults for turn in turns]
        ms = sum(wall_ms(turn.measured) for turn in turns) / tokens
        best = self.off_ms - self.best_ms
        budgets = tuple(turn.done.budget_bytes for turn in turns)
        return Row(
            what=what,
            resting_bytes=budgets[-1],
            budgets_bytes=budgets,
            hit_pct=100 * hits / lookups if lookups else None,
            read_mib=sum(turn.done.decode.read_bytes for turn in turns) / MIB / tokens,
            faults=None if None in faults else sum(each or 0 for each in faults) / tokens,
            ms=ms,
            win_pct=100 * (self.off_ms - ms) / best if best > 0 else None,
        )

    def _ms_at(self, budget_bytes: int) -> float:
        turns = self.fixed(budget_bytes)
        return sum(wall_ms(t.measured) for t in turns) / sum(t.measured.tokens for t in turns)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ways to size the cache, and the turns of the loops among them by name."""

    rows: tuple[Row, ...]
    loops: Mapping[str, Sequence[LoopTurn]]


def compare(arena: Arena, rules: dict[str, MakeSizing]) -> Comparison:
    """All ways to size the cache on the same turns.

    Args:
        arena: where.
        rules: the loops by name; each runs with both samples.
    """
    demand = token_demand_bytes(arena.turns.shape)
    top = len(arena.turns.legal) - 1
    fixed = [
        ("off", 0),
        ("floor: 1 cycle", demand),
        *((f"fixed: {n} cycles", n * demand) for n in FIXED_CYCLES if n <= top),
        ("auto as shipped", arena.auto_bytes),
        ("best fixed, in hindsight", arena.best_bytes),
    ]
    loops = {
        loop_name(name, sample): arena.loop(make, sample).turns
        for name, make in rules.items()
        for sample in SAMPLES
    }
    rows = [arena.row(what, arena.fixed(budget)) for what, budget in fixed]
    rows += [arena.row(name, turns) for name, turns in loops.items()]
    return Comparison(tuple(rows), loops)


def loop_name(rule: str, sample: str) -> str:
    """How a loop is called in the comparison."""
    return f"loop: {rule}, {sample} sample"
