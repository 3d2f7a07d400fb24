"""What can be judged of a row cache whose hash the gate does not know? Programs whose tables have one set.

Where a row may sit is known there. Which cells of the sketch it has is not, and where two rows share cells, an estimate
is too high and another row leaves. Unless the sketch decides nothing (plain LRU), a difference counts only if it shows
under other names of the rows, too, drawn at random and often enough: a bug does not hang on names, an accident does.

An estimate is too high only if another row has the same cell in the first array. A hash that puts random rows into its
cells evenly does that to some row of a table with probability at most rows * (rows - 1) / 2 / width, whatever its other
arrays are; so does the reference's. Under n sets of names it happens each time with the n-th power of their sum.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from reference.laws import SHARED_PLACEMENT, SHARED_SETS, Case, Law
from reference.program import Operation, Plain, Program, Repeat, plain
from reference.program_text import format_program
from reference.row_config import RowCacheConfig
from reference.row_statistics import FALSE_ALARM

MOST_NAMINGS = 8
ID_BITS = 64


def namings_needed(law: Law, case: Case) -> int | None:
    """Under how many other names of the rows a law must be broken, too; None where it cannot be judged."""
    needed = {what for alternative in law.needs for what in alternative}
    if not needed & {SHARED_SETS, SHARED_PLACEMENT}:
        return 0
    if not has_one_set(case.program):
        return None
    config = case.program.config
    assert isinstance(config, RowCacheConfig)
    if SHARED_PLACEMENT not in needed or _sketch_is_idle(case, config):
        return 0
    shared = _chance_of_a_shared_cell(case.program, config)
    enough = (n for n in range(MOST_NAMINGS + 1) if shared**n <= FALSE_ALARM or not shared)
    return next(enough, None)


def has_one_set(program: Program) -> bool:
    """Is it a program of a row cache, with one set a table at most?"""
    config = program.config
    return isinstance(config, RowCacheConfig) and max(config.sets) <= 1


def _sketch_is_idle(case: Case, config: RowCacheConfig) -> bool:
    """Does the sketch neither decide who stays, nor show?"""
    return not config.admission and case.outcome.opened.estimates is None


def _chance_of_a_shared_cell(program: Program, config: RowCacheConfig) -> float:
    """At most: that two rows of a table have the same cell in its first array, here or in the reference."""
    rows: list[set[int]] = [set() for _ in config.sets]
    for operation in map(plain, program.operations):
        table = getattr(operation, "table", len(rows))
        if table < len(rows):
            rows[table].update(getattr(operation, "rows", ()))
    return sum(len(one) * (len(one) - 1) for one in rows) / config.sketch_width


def renamed(program: Program, naming: int) -> Program:
    """The program with other row ids; the same naming of the same program gives the same ids."""
    random = Random(f"{naming} {format_program(program)}")
    names: dict[int, int] = {}

    def name(row: int) -> int:
        if row not in names:
            names[row] = random.getrandbits(ID_BITS)
        return names[row]

    def other(act: Plain) -> Plain:
        rows = getattr(act, "rows", None)
        if rows is None:
            return act
        changed: dict[str, Any] = {"rows": tuple(map(name, rows))}
        return replace(act, **changed)

    def operation(one: Operation) -> Operation:
        return Repeat(one.count, other(one.operation)) if isinstance(one, Repeat) else other(one)

    return Program(program.config, tuple(map(operation, program.operations)))
