"""Which row caches place rows by a hash of their own? The reference under other hashes, good ones and poor ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import chain

from gate.connect.implementation import ANY, OWN, PLACEMENT, Declaration, at_level
from reference.hashing import MASK64, mix
from reference.laws import ROW
from reference.program import Outcome, Program, plain
from reference.row_config import RowCacheConfig
from reference.run import run

Columns = Callable[[int, int], int]
"""(row id, array of the sketch) -> a number; its column is that modulo the width."""

HASHES: dict[str, Columns] = {
    "the id itself, in every array": lambda row, array: row,
    "one hash, in every array": lambda row, array: mix(row),
    "double hashing": lambda row, array: mix(row) + array * mix(row ^ MASK64),
    "a multiplication": lambda row, array: (row * (0x9E3779B97F4A7C15 + 2 * array) & MASK64) >> 40,
    "another hash an array": lambda row, array: mix(mix(row + 1) + array),
}


class OwnHash:
    """The reference with the sketch columns and the sets of another hash, which it does not declare.

    Args:
        columns: the hash.
        settings: what it declares beside `placement=own`; every other choice is taken from the program.
    """

    def __init__(self, columns: Columns, level: int = 3, **settings: str) -> None:
        self.columns = columns
        taken = {field.name: ANY for field in fields(RowCacheConfig)}
        declared = Declaration("own-hash", "1", ROW, level)
        self.declaration = replace(
            declared,
            capabilities=declared.capabilities - {"injected-placement"},
            row_settings=taken | {PLACEMENT: OWN} | settings,
        )

    def run(self, program: Program) -> Outcome:
        """The reference's outcome, every row placed by the other hash."""
        config = program.config
        assert isinstance(config, RowCacheConfig)
        sets = min((count for count in config.sets if count), default=1)
        rows = chain.from_iterable(getattr(plain(one), "rows", ()) for one in program.operations)
        known = list(dict.fromkeys(rows))
        placed = replace(
            config,
            injected_sets={
                row: tuple(mix(row + at) % sets for at in range(config.candidate_sets))
                for row in known
            },
            injected_columns={
                row: tuple(
                    self.columns(row, array) % config.sketch_width
                    for array in range(config.sketch_rows)
                )
                for row in known
            },
        )
        return at_level(run(Program(placed, program.operations)), self.declaration.level)

    def close(self) -> None:
        """Nothing to give back."""
