"""What is run and what came out: a Program is a value, and so is its Outcome.

A program is a configuration and a list of operations. Every operation is legal in every state: it is carried out, or
answered with a named refusal and changes nothing. So a program can be cut, shrunk and replayed at will. Its text form
is in reference/program_text.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference.expert_config import ExpertConfig
from reference.row_config import RowCacheConfig

PREFILL = "prefill"
DECODE = "decode"

MAX_REPEAT = 1 << 16
"""Most applications one `repeat` may ask for, so that a hostile text cannot keep a run busy for ever."""


# --- operations of the expert cache -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begin:
    """A generation starts; a turn of the session."""


@dataclass(frozen=True, slots=True)
class End:
    """The generation ends; the turn is complete."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The generation is cancelled; what the cache holds is not rolled back."""


@dataclass(frozen=True, slots=True)
class Load:
    """One layer's batch is loaded: every expert in `experts` is needed.

    Args:
        layer: layer index.
        experts: expert ids in routing order, token by token in prefill; may repeat; ids outside the layer are skipped.
        phase: PREFILL or DECODE.
        weights: router weights, one for each id, or empty; only dropping reads them.
        failing: ids whose read from storage fails, if this batch has to read them.
    """

    layer: int
    experts: tuple[int, ...]
    phase: str = DECODE
    weights: tuple[float, ...] = ()
    failing: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Speculative reads of `experts` are queued."""

    layer: int
    experts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrive:
    """The queued speculative reads of `experts` complete; too late if the queue was settled meanwhile."""

    layer: int
    experts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lose:
    """The queued speculative reads of `experts` fail; nothing else changes."""

    layer: int
    experts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Retain:
    """Resident ids of `experts` become most recent without a lookup."""

    layer: int
    experts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Is each id of `experts` resident? Changes nothing."""

    layer: int
    experts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetBudget:
    """A new budget is requested, in bytes."""

    request_bytes: int


@dataclass(frozen=True, slots=True)
class SetK:
    """The router's top-k changes; the budget is floored again at once."""

    k: int


# --- operations of the row cache --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gather:
    """The rows in `rows` of one table are needed; repeats within one gather count once."""

    rows: tuple[int, ...]
    table: int = 0


@dataclass(frozen=True, slots=True)
class Insert:
    """Read-ahead: the rows are inserted without a lookup."""

    rows: tuple[int, ...]
    table: int = 0


@dataclass(frozen=True, slots=True)
class Pin:
    """Resident rows may not be victims until unpinned."""

    rows: tuple[int, ...]
    table: int = 0


@dataclass(frozen=True, slots=True)
class Unpin:
    """The rows may be victims again."""

    rows: tuple[int, ...]
    table: int = 0


@dataclass(frozen=True, slots=True)
class AskRows:
    """Is each row resident? Changes nothing."""

    rows: tuple[int, ...]
    table: int = 0


# --- both ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repeat:
    """`operation` is applied `count` times; the answer is that of the last application."""

    count: int
    operation: Plain


ExpertOperation = (
    Begin | End | Cancel | Load | Prefetch | Arrive | Lose | Retain | Ask | SetBudget | SetK
)
RowOperation = Gather | Insert | Pin | Unpin | AskRows
Plain = ExpertOperation | RowOperation
Operation = Plain | Repeat


LONG = 10_000
"""A program that applies more operations than this is long."""


@dataclass(frozen=True, slots=True)
class Program:
    """A configuration and the operations to run on a cache opened with it."""

    config: ExpertConfig | RowCacheConfig
    operations: tuple[Operation, ...] = ()

    @property
    def is_long(self) -> bool:
        """Does running it take so long that nobody wants to run it again and again?"""
        return sum(map(times, self.operations)) > LONG


@dataclass(frozen=True, slots=True)
class Answer:
    """What an implementation said after one operation; what it does not offer is None.

    Args:
        counters: level 0: name to value, cumulative since the cache was opened.
        refusal: level 1: the name of the refusal, "" when the operation was carried out.
        hits: level 1: of a load or gather, hit or miss for each distinct valid id in order of first occurrence; of
            an ask, residency for each id.
        read_bytes: level 1: logical bytes this operation read on demand.
        digest: level 1: digest of the bytes delivered, in routing order (reference/backing_store.py); None when
            nothing was delivered.
        resident: level 2: what is resident, as (layer, expert) or (table, row).
        order: level 3: the resident entries in victim order, the next victim first.
        estimates: level 3, row cache: the usage estimate of every resident (table, row).
    """

    counters: Mapping[str, int] = field(default_factory=dict)
    refusal: str = ""
    hits: tuple[bool, ...] | None = None
    read_bytes: int | None = None
    digest: int | None = None
    resident: frozenset[tuple[int, int]] | None = None
    order: tuple[tuple[int, int], ...] | None = None
    estimates: Mapping[tuple[int, int], int] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a program: the answer after opening, and one answer for each operation.

    `level` is the highest observation level its answers offer; what lies above it is None.
    """

    opened: Answer
    answers: tuple[Answer, ...]
    level: int = 3


def plain(operation: Operation) -> Plain:
    """The operation itself, without its repeat count."""
    return operation.operation if isinstance(operation, Repeat) else operation


def times(operation: Operation) -> int:
    """How often the operation is applied."""
    return operation.count if isinstance(operation, Repeat) else 1
