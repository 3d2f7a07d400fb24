"""What are all programs of a small scope? Every sequence of batches or gathers on tiny geometries, modulo renaming.

Keys are renamed by first occurrence, so two programs that differ only in the names of their keys are one. A sequence
stands for all its beginnings as well, since an answer depends on what came before it alone.

- expert cache: two layers of three experts, entries of 2 and 3 bytes, k = 2, batches of one or two experts, at every
  budget the rules can tell apart;
- row cache: one set of two ways, and two sets of one way, with rows placed in every way, with one candidate set or two;
  sequences of single rows, and of gathers of up to three rows; a sketch without collisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from reference.expert_config import ExpertConfig, Rules
from reference.program import Begin, Gather, Load, Operation, Program
from reference.row_config import RowCacheConfig
from reference.sizing import ModelShape, legal_budgets, total_expert_bytes

SHAPE = ModelShape((2, 3), (3, 3), 2)
BATCHES = tuple(
    Load(layer, experts)
    for layer in range(2)
    for width in (1, 2)
    for experts in permutations(range(3), width)
)

ROWS = range(3)
SINGLES = tuple((row,) for row in ROWS)
GATHERS = tuple(rows for width in (1, 2, 3) for rows in permutations(ROWS, width))


def expert_programs(batches: int, rules: Rules) -> Iterator[Program]:
    """Every sequence of `batches` batches at every budget."""
    for sequence in _batch_sequences(batches):
        operations: tuple[Operation, ...] = (Begin(), *sequence)
        for budget_bytes in _budgets(rules):
            yield Program(ExpertConfig(SHAPE, budget_bytes, "lru", rules), operations)


def _budgets(rules: Rules) -> range:
    if rules.budget == "cycles":
        return legal_budgets(SHAPE)
    return range(total_expert_bytes(SHAPE) + 1)


def _batch_sequences(batches: int, named: tuple[int, int] = (0, 0)) -> Iterator[tuple[Load, ...]]:
    """Sequences in which the experts of each layer first occur in ascending order."""
    if batches == 0:
        yield ()
        return
    for load in BATCHES:
        known = _named(load.experts, named[load.layer])
        if known is not None:
            after = (known, named[1]) if load.layer == 0 else (named[0], known)
            yield from ((load, *rest) for rest in _batch_sequences(batches - 1, after))


def _named(keys: tuple[int, ...], known: int) -> int | None:
    """How many keys have names after these; None when a later name comes before an earlier one."""
    for key in keys:
        if key > known:
            return None
        known = max(known, key + 1)
    return known


def row_programs(single_rows: int, gathers: int) -> Iterator[Program]:
    """Every sequence of so many single-row gathers, and of so many gathers of any rows."""
    for config in row_configs():
        for choices, length in ((SINGLES, single_rows), (GATHERS, gathers)):
            for sequence in _gather_sequences(choices, length):
                yield Program(config, tuple(Gather(rows) for rows in sequence))


def row_configs() -> Iterator[RowCacheConfig]:
    """One set of two ways; two sets of one, the first row in the first set or in both."""
    columns = {row: (row,) for row in ROWS}
    sketch = {"sketch_rows": 1, "sketch_width": len(ROWS), "injected_columns": columns}
    yield RowCacheConfig((1,), 2, injected_sets=dict.fromkeys(ROWS, (0,)), **sketch)  # type: ignore[arg-type]
    for places in product((0, 1), repeat=2):
        sets = {row: (place,) for row, place in enumerate((0, *places))}
        yield RowCacheConfig((2,), 1, injected_sets=sets, **sketch)  # type: ignore[arg-type]
    orders = {row: (row % 2, 1 - row % 2) for row in ROWS}
    yield RowCacheConfig((2,), 1, 2, injected_sets=orders, **sketch)  # type: ignore[arg-type]


def _gather_sequences(
    choices: tuple[tuple[int, ...], ...], length: int, named: int = 0
) -> Iterator[tuple[tuple[int, ...], ...]]:
    if length == 0:
        yield ()
        return
    for rows in choices:
        known = _named(rows, named)
        if known is not None:
            yield from ((rows, *rest) for rest in _gather_sequences(choices, length - 1, known))


def covered(cache: str, lengths: tuple[int, ...], rules: Rules) -> int:
    """How many programs the longest ones stand for: all their beginnings, the empty one once a configuration."""
    if cache == "expert-cache":
        sequences = sum(_count_batches(n) for n in range(lengths[0] + 1))
        return sequences * len(_budgets(rules))
    singles = sum(len(list(_gather_sequences(SINGLES, n))) for n in range(lengths[0] + 1))
    wider = sum(_count_wider(n) for n in range(1, lengths[1] + 1))
    return (singles + wider) * sum(1 for _ in row_configs())


def _count_batches(length: int) -> int:
    return sum(1 for _ in _batch_sequences(length))


def _count_wider(length: int) -> int:
    """Sequences of gathers that are not all of single rows."""
    sequences = _gather_sequences(GATHERS, length)
    return sum(any(len(rows) > 1 for rows in sequence) for sequence in sequences)
