"""Which layouts can `cachegate rows` try, and what does a capacity or a scale make of them?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reference.engram import HEADS
from reference.errors import InputError, printable
from reference.row_cache import RowCacheConfig

DEFAULT_POLICIES = "4-way,8-way,16-way,two-set,lru"
DEFAULT_WAYS = 4
MAX_WAYS = 1 << 10
SKETCH_WIDTH = 262_144
"""Cells in each of the sketch's four arrays, at full scale."""
SCALES = {str(n): n for n in (1, 2, 4, HEADS)} | {f"1/{n}": n for n in (1, 2, 4, HEADS)}


@dataclass(frozen=True)
class Layout:
    """What a policy's name stands for."""

    name: str
    ways: int
    candidate_sets: int
    admission: bool

    def config(self, capacity_rows: Sequence[int], scale: int, hash_seed: int) -> RowCacheConfig:
        """The cache of this layout with so many slots a table, and a sketch of 1 / `scale`."""
        return RowCacheConfig(
            sets=tuple(rows // self.ways for rows in capacity_rows),
            ways=self.ways,
            candidate_sets=self.candidate_sets,
            admission=self.admission,
            sketch_width=SKETCH_WIDTH // scale,
            hash_seed=hash_seed,
        )


def layouts_of(text: str) -> list[Layout]:
    """The layouts of a comma-separated list of policies; `all` is the default five.

    Raises:
        InputError: a name stands for none.
    """
    names = (DEFAULT_POLICIES if text == "all" else text).split(",")
    return [_layout(name) for name in dict.fromkeys(name.strip() for name in names)]


def _layout(name: str) -> Layout:
    """`N-way`, `two-set` or `lru`; the last two with `-N` for N ways in place of 4."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})-way|(two-set|lru)(?:-([1-9][0-9]{0,3}))?", name)
    ways = int(match[1] or match[3] or DEFAULT_WAYS) if match else 0
    if not match or ways > MAX_WAYS:
        raise InputError(
            f"'{printable(name)}' is no policy",
            source="--policy",
            expected=f"names such as {DEFAULT_POLICIES}, two-set-8 or lru-16, or all",
            cure=f"a set has 1 to {MAX_WAYS} ways",
        )
    return Layout(name, ways, 2 if match[2] == "two-set" else 1, match[2] != "lru")


def scale_of(text: str) -> int:
    """The divisor N of a scale written `N` or `1/N`.

    Raises:
        InputError: it does not divide the eight heads.
    """
    if text not in SCALES:
        raise InputError(
            f"'{printable(text)}' is no scale", source="--scale", expected="1, 2, 4 or 8, or 1/8"
        )
    return SCALES[text]
