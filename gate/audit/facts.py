"""What do the artefacts of a run say about how it was run, before any law is judged?

Which budget, which model, which modes, and from which turn on a cancelled request hides what the
cache did. A law asks here whether it may be judged at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from pathlib import PurePosixPath

from fixtures.shapes import named_shapes
from gate.audit.modes import broken_from, short_turn, unmodelled
from gate.audit.replay import Replay, TurnCount
from gate.audit.runs import RecordedRun
from reference.errors import MIB
from reference.sizing import ModelShape
from replay.lookups import shape_of
from replay.recordings import REAL, TurnRows, whole_number

ALIGNMENT_BYTES = 8192
"""What a read of one projection under O_DIRECT may add at most: a 4096-byte window at both ends."""

PROJECTIONS = 3
"""An expert has at most gate, up and down."""

DOUBTED_WITHIN = frozenset(("I10",))
DOUBTED_BEHIND = frozenset(("I1", "I2", "I10"))
"""Laws that a cancelled request breaks: of its own turn, and of the turns behind it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The budgets in bytes that what was printed allows; `nominal_bytes` is the likeliest."""

    low_bytes: int
    high_bytes: int
    nominal_bytes: int

    @property
    def is_off(self) -> bool:
        """Was the cache off?"""
        return self.high_bytes == 0


@dataclass(slots=True)
class Turn:
    """One turn of a run as the laws see it.

    Attributes:
        number: the turn.
        rows: its rows in the CSV; None if it has none.
        count: its replay; None where there is nothing to replay or it must not be.
        silence: why nothing of the turn can be judged; empty if it can.
        naive: the replay of a turn that cannot be judged, to show what ignoring it would give.
        doubt: why a failure of the laws `doubted` may be none: an earlier turn may have been
            cancelled, and no output says.
    """

    number: int
    rows: TurnRows | None
    count: TurnCount | None = None
    silence: str = ""
    naive: TurnCount | None = None
    doubt: str = ""
    doubted: frozenset[str] = frozenset()


@dataclass
class Facts:
    """A run with what is known of it.

    Attributes:
        run: its artefacts.
        turns: its turns, ascending.
        mode: the name and value of what the model does not cover; empty if it covers the run.
        replay: the replay of its trace, if it has one that can be replayed.
        no_replay: why there is none.
    """

    run: RecordedRun
    turns: list[Turn] = field(default_factory=list)
    mode: str = ""
    replay: Replay | None = None
    no_replay: str = ""

    @property
    def streams(self) -> bool:
        """Were experts streamed? True unless the preamble denies it."""
        return self.run.preamble.get("moe_stream", "1") != "0"

    @property
    def overlaps(self) -> bool | None:
        """Were reads overlapped with compute? Without a preamble: only then is there a stall."""
        said = self.run.preamble.get("overlap")
        if said is not None:
            return said != "0"
        rows = [turn.rows for turn in self.turns if turn.rows and turn.rows.has("stall_ms")]
        return any(any(turn.numbers("stall_ms")) for turn in rows) if rows else None

    @cached_property
    def k(self) -> int | None:
        """Experts per token and layer; None if neither trace nor preamble says."""
        if self.run.trace:
            return self.run.trace.expert_used
        return whole_number(self.run.preamble.get("n_expert_used")) or None

    @cached_property
    def shape(self) -> ModelShape | None:
        """The model's shape: from the trace, or from the shipped ones by the model file's name."""
        if self.run.trace:
            return shape_of(self.run.trace)
        file = PurePosixPath(self.run.preamble.get("model", "").replace("\\", "/")).name
        for named in named_shapes().values():
            layers = str(len(named.shape.entry_bytes))
            if self.k and named.file == file and self.run.preamble.get("n_layer") == layers:
                return named.shape.with_k(self.k)
        return None

    @property
    def alignment_bytes(self) -> int:
        """The most that one read expert can add to its logical bytes: 0 without O_DIRECT."""
        if self.run.preamble.get("o_direct") == "0":
            return 0
        return PROJECTIONS * ALIGNMENT_BYTES

    @cached_property
    def budget(self) -> Budget | None:
        """The run's one budget; None if nothing says it, or if it was resized."""
        first = next((turn.rows for turn in self.turns if turn.rows), None)
        if first is None or self.resized:
            return None
        said = self.run.preamble
        whole = whole_number(said.get("cache_mb"))
        if said.get("cache_auto") == "0" and whole is not None:
            return Budget(whole * MIB, whole * MIB, whole * MIB)
        printed = first.total("cache_budget_MiB")
        if printed is None and first.has("cache_budget_mib") and first.row_count:
            printed = first.columns["cache_budget_mib"][0]
        return printed_budget(printed) if printed else None

    @cached_property
    def resized(self) -> bool:
        """Was the budget changed while the run went on?"""
        return any(turn.rows and turn.rows.total_integer("cache_resizes") for turn in self.turns)

    @property
    def is_command_line(self) -> bool:
        """Did the engine's own command line write it? It can never resize."""
        out = self.run.stdout
        return out is not None and bool(out.figures or out.requests)


def printed_budget(text: str) -> Budget | None:
    """The budgets that print as `text` with one decimal in MiB; None if it is no such number."""
    if not REAL.fullmatch(text) or text.startswith("-"):
        return None
    mib = Fraction(text)
    if mib == 0:
        return Budget(0, 0, 0)
    half = Fraction(1, 20)
    return Budget(max(1, ceil((mib - half) * MIB)), floor((mib + half) * MIB), int(mib * MIB))


def establish(run: RecordedRun) -> Facts:
    """Everything known of a run, its replay included."""
    facts = Facts(run)
    by_turn = {rows.turn: rows for rows in run.metrics.turns} if run.metrics else {}
    numbers = sorted({*by_turn, *(run.trace.turns if run.trace else ())}) or [0]
    facts.turns = [Turn(number, by_turn.get(number)) for number in numbers]
    facts.mode = unmodelled(run)
    first_broken, why = broken_from(run)
    short = short_turn(run)
    for turn in facts.turns:
        if first_broken is not None and turn.number >= first_broken:
            turn.silence = why
        if short is not None and turn.number >= short:
            turn.doubt = f"possible cancel: turn {short} ended early, and no output says why"
            turn.doubted = DOUBTED_WITHIN if turn.number == short else DOUBTED_BEHIND
    facts.no_replay = _no_replay(facts)
    if not facts.no_replay:
        _replay(facts)
    return facts


def _no_replay(facts: Facts) -> str:
    """Why the trace is not replayed; empty if it is."""
    run = facts.run
    if run.trace is None:
        return "no routing trace"
    if facts.mode:
        return facts.mode
    if facts.resized:
        return "resized: when the budget changed is not recorded"
    unknown = [str(t) for t, known in run.trace.prefill_boundaries_known.items() if not known]
    if unknown:
        return f"prefill graphs: turn {', '.join(unknown)} ran in several that cannot be told apart"
    return ""


def _replay(facts: Facts) -> None:
    """Replay the turns at the budget that was recorded.

    Of the budgets that print alike, the one that explains the recorded residency is taken, if
    there is one; else the nominal one, so that the law which fails can say where.
    """
    trace, budget = facts.run.trace, facts.budget
    assert trace is not None
    facts.replay = Replay(trace)
    if budget is None:
        facts.no_replay = "no recorded budget"
        return
    chosen = budget.nominal_bytes
    judged = [turn.number for turn in facts.turns if not turn.silence]
    if judged and judged[-1] in facts.replay.explained_by:
        low, high = facts.replay.explained_by[judged[-1]]
        low, high = max(low, budget.low_bytes), min(high, budget.high_bytes)
        if low <= high and not low <= chosen <= high:
            chosen = low
    counts = facts.replay.turns_at(chosen)
    for turn in facts.turns:
        if turn.silence:
            turn.naive = counts.get(turn.number)
        else:
            turn.count = counts.get(turn.number)
