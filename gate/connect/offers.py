"""What does an implementation offer that a law may need (`Needs` of reference/laws.py), going by its declaration?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache

from gate.connect.capabilities import FROM_PROGRAM, setting_text
from gate.connect.hello import ESTIMATES
from gate.connect.implementation import ANY, Declaration
from reference.laws import (
    ANY_SETS,
    ANY_WAYS,
    EXPERT,
    FEW_WAYS,
    MANY_SETS,
    NO_SETS,
    SHARED_PLACEMENT,
    SHARED_SETS,
    columns,
)
from reference.program_header import PLACED
from reference.program_text import parse
from reference.row_config import RowCacheConfig
from reference.run import run

KNOWN_PLACES = "known-places"
"""The gate knows where a row may sit in every program, not only in those of one set a table."""
ENOUGH_SETS, MOST_OF_FEW_WAYS = 100, 4
CHOICES = {
    "admission": ("yes", "no"),
    "candidate_sets": ("1", "2"),
    "halve_every": ("none",),
    "insert_age": ("lookup", "insert"),
    "readahead": ("admission", "pin"),
}
"""The settings of a row cache that laws need, and the values they need."""


def offers_of(declared: Declaration) -> frozenset[str]:
    """Everything a law may need that this implementation has."""
    named = declared.columns
    return frozenset(
        (
            *(declared.capabilities - {"tables"}),
            *columns(*(_all_columns(declared.cache) if named is None else named)),
            *(f"level {level}" for level in range(declared.level + 1)),
            *(_rules(declared) if declared.cache == EXPERT else _settings(declared)),
        )
    )


def _rules(declared: Declaration) -> Iterator[str]:
    yield from (f"{name}={value}" for name, value in asdict(declared.rules).items())


def _settings(declared: Declaration) -> Iterator[str]:
    """Of a row cache: what programs can have that it is given."""
    taken = dict.fromkeys(FROM_PROGRAM, ANY)
    built_in = {
        field.name: setting_text(field.default)
        for field in fields(RowCacheConfig)
        if field.name not in PLACED
    }
    has = built_in | taken | declared.row_settings
    yield from (
        f"{name}={value}"
        for name, values in CHOICES.items()
        for value in values
        if has[name] in (ANY, value)
        and not (value == "2" and "two-sets" not in declared.capabilities)
    )
    counts = [] if has["sets"] == ANY else [int(count) for count in has["sets"].split(",")]
    if not counts or 0 in counts:
        yield NO_SETS
    if not counts or counts[0] >= ENOUGH_SETS:
        yield MANY_SETS
    if not counts:
        yield ANY_SETS
    if has["ways"] == ANY or int(has["ways"]) <= MOST_OF_FEW_WAYS:
        yield FEW_WAYS
    if has["ways"] == ANY:
        yield ANY_WAYS
    if "tables" in declared.capabilities and len(counts) != 1:
        yield "tables"
    if declared.places_are_known:
        yield KNOWN_PLACES
    if declared.places_are_known or not counts or max(counts) <= 1:
        yield from (SHARED_SETS, SHARED_PLACEMENT)


@cache
def _all_columns(cache_kind: str) -> frozenset[str]:
    """The counters of the reference, and its estimates."""
    header = "entry_bytes=1" if cache_kind == EXPERT else "sets=1"
    opened = run(parse(f"{cache_kind} v1 {header}")).opened
    return frozenset(opened.counters) | ({ESTIMATES} if opened.estimates is not None else set())
