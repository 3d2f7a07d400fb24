"""What are all programs of a small scope? Every sequence of batches or gathers on tiny geometries, modulo renaming.

Keys are renamed by first occurrence, so two programs that differ only in the names of their keys are one.

- expert cache: two layers of three experts, entries of 2 and 3 bytes, batches of one or two experts, top-k 1 and 2, at
  every budget the rules can tell apart;
- row cache: one set of two ways, and two sets of one way, each with one candidate set and with two, with and without
  admission, the rows in any sets; sequences of single rows, and of gathers of up to three rows. Rows are picked by
  where the hash places them, so nothing need be injected, and none shares a cell of the sketch with another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count, permutations, product

from reference.expert_config import ExpertConfig, Rules
from reference.program import Begin, Gather, Load, Program
from reference.row_config import RowCacheConfig
from reference.row_placement import RowPlacement
from reference.sizing import ModelShape, legal_budgets, total_expert_bytes

Rows = tuple[int, ...]


# --- expert cache ---------------------------------------------------------------------------------

SHAPES = tuple(ModelShape((2, 3), (3, 3), k) for k in (1, 2))
BATCHES = tuple(
    Load(layer, experts)
    for layer in range(2)
    for width in (1, 2)
    for experts in permutations(range(3), width)
)


def batch_sequences(most: int) -> Iterator[tuple[Load, ...]]:
    """Sequences of up to so many batches in which the experts of each layer first occur in ascending order."""
    for length in range(most + 1):
        yield from _batches(length)


def _batches(length: int, named: tuple[int, int] = (0, 0)) -> Iterator[tuple[Load, ...]]:
    if length == 0:
        yield ()
        return
    for load in BATCHES:
        known = _named(load.experts, named[load.layer])
        if known is not None:
            after = (known, named[1]) if load.layer == 0 else (named[0], known)
            yield from ((load, *rest) for rest in _batches(length - 1, after))


def _named(keys: Rows, known: int) -> int | None:
    """How many keys have names after these; None when a later name comes before an earlier one."""
    for key in keys:
        if key > known:
            return None
        known = max(known, key + 1)
    return known


def expert_programs(sequence: tuple[Load, ...], rules: Rules) -> Iterator[Program]:
    """One sequence at every budget; with budgets kept to the byte no rule reads k, so one k stands for both."""
    for shape in SHAPES if rules.budget == "cycles" else SHAPES[-1:]:
        for budget_bytes in budgets(shape, rules):
            yield Program(ExpertConfig(shape, budget_bytes, "lru", rules), (Begin(), *sequence))


def budgets(shape: ModelShape, rules: Rules) -> range:
    """All that the rules can tell apart."""
    if rules.budget == "cycles":
        return legal_budgets(shape)
    return range(total_expert_bytes(shape) + 1)


# --- row cache ------------------------------------------------------------------------------------

NAMES = range(3)
SINGLES = tuple((row,) for row in NAMES)
GATHERS = tuple(rows for width in (1, 2, 3) for rows in permutations(NAMES, width))

LAYOUTS = tuple(
    RowCacheConfig(
        (sets,), ways, candidate_sets, admission=admission, sketch_rows=1, sketch_width=64
    )
    for sets, ways in ((1, 2), (2, 1))
    for candidate_sets in (1, 2)
    for admission in (True, False)
)


def gather_sequences(singles: int, gathers: int) -> Iterator[tuple[Rows, ...]]:
    """Sequences of up to so many single rows, and of up to so many gathers of any rows, each once."""
    for length in range(max(singles, gathers) + 1):
        if length <= singles:
            yield from _gathers(SINGLES, length)
        if length <= gathers:
            known = length <= singles
            yield from (
                sequence
                for sequence in _gathers(GATHERS, length)
                if not known or any(len(rows) > 1 for rows in sequence)
            )


def _gathers(choices: tuple[Rows, ...], length: int, named: int = 0) -> Iterator[tuple[Rows, ...]]:
    if length == 0:
        yield ()
        return
    for rows in choices:
        known = _named(rows, named)
        if known is not None:
            yield from ((rows, *rest) for rest in _gathers(choices, length - 1, known))


def row_programs(sequence: tuple[Rows, ...]) -> Iterator[Program]:
    """One sequence on every layout, with its rows in every place."""
    used = 1 + max((row for rows in sequence for row in rows), default=-1)
    for config, placed in _placed_layouts():
        for places in product(placed, repeat=used):
            ids = [placed[place][name] for name, place in enumerate(places)]
            gathers = (Gather(tuple(ids[name] for name in rows)) for rows in sequence)
            yield Program(config, tuple(gathers))


@cache
def _placed_layouts() -> tuple[tuple[RowCacheConfig, dict[Rows, list[int]]], ...]:
    return tuple((config, _placed_rows(config)) for config in LAYOUTS)


def _placed_rows(config: RowCacheConfig) -> dict[Rows, list[int]]:
    """For each place a row can have, three rows that the hash puts there; no two of all have one sketch cell."""
    (sets,) = config.sets
    placement = RowPlacement(config, sets)
    wanted = set(product(range(sets), repeat=config.candidate_sets))
    found: dict[Rows, list[int]] = {place: [] for place in sorted(wanted)}
    cells: set[Rows] = set()
    ids = count()
    while any(len(rows) < len(NAMES) for rows in found.values()):
        site = placement.site(next(ids))
        rows = found[_place(site.sets, config.candidate_sets)]
        if len(rows) < len(NAMES) and site.columns not in cells:
            rows.append(site.row)
            cells.add(site.columns)
    return found


def _place(sets: Rows, candidate_sets: int) -> Rows:
    """The candidate sets one by one, where both may be the same set."""
    return sets if len(sets) == candidate_sets else sets * candidate_sets
