"""How are situations told? By name, each with what says whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Holds = Mapping[str, object]
"""Situations, and whether they hold: anything true or false."""

MANY_TIMES = 200
"""A repeat that comes near what 8 bits count."""


def names(situations: Holds) -> Iterator[str]:
    """The situations that hold."""
    return (name for name, holds in situations.items() if holds)
