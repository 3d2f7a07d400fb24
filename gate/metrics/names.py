"""Which series of a scrape are those of a row cache? Names, and the prefix that tells one cache from another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from reference.errors import InputError, printable

COUNTERS = ("hits", "misses", "evictions", "lookups", "refusals", "added")
"""What can only rise; the last three are optional: the report's server has none of them."""
GAUGES = ("resident_rows", "capacity_rows")
REQUIRED = ("hits", "misses", "evictions", *GAUGES)
STARTS = tuple(f"{what}_created" for what in COUNTERS)
"""When a counter began to count: some client libraries expose it beside the counter."""
SERVER_START = "process_start_time_seconds"

STEM = "row_cache"
SIMILAR_SHOWN = 8


class SeriesName(NamedTuple):
    """A name taken apart: `PREFIX_FIELD`. `_total` behind a counter is dropped."""

    prefix: str
    field: str


def split(name: str) -> SeriesName | None:
    """The parts of a name that can be a row cache's series; None if it cannot."""
    for field in _fields_of(name):
        if name == field or name.endswith("_" + field):
            prefix = name.removesuffix(field).removesuffix("_")
            return SeriesName(prefix, field.removesuffix("_total"))
    return None


def _fields_of(name: str) -> Iterator[str]:
    yield from GAUGES
    yield from STARTS
    for field in COUNTERS:
        yield f"{field}_total" if name.endswith("_total") else field


class Prefix:
    """The prefix that is looked for: a given one, or any that ends in `row_cache`.

    Args:
        given: what stands before `_hits` or before `_row_cache_hits`, with or without the last
            underscore.
    """

    def __init__(self, given: str | None) -> None:
        bare = (given or "").rstrip("_")
        self.known = () if given is None else (bare, f"{bare}_{STEM}" if bare else STEM)

    def fits(self, prefix: str) -> bool:
        """May the series with this prefix be the row cache's?"""
        return prefix in self.known if self.known else prefix.endswith(STEM)

    def only_one(self, found: Collection[str], names: Collection[str], source: str) -> str:
        """The one prefix that was found.

        Args:
            found: prefixes that fit.
            names: all names of the scrape, for the message.

        Raises:
            InputError: none was found, or several.
        """
        if len(found) == 1:
            return next(iter(found))
        if found:
            raise InputError(
                f"several row caches: {', '.join(map(printable, sorted(found)))}",
                source=source,
                cure="name the one to judge with --prefix",
            )
        wanted = " or ".join(filter(None, self.known)) or f"…{STEM}"
        raise InputError(
            f"no series of a row cache; {_similar(names)}",
            source=source,
            expected=", ".join(f"{wanted}_{field}" for field in REQUIRED),
            cure="name what stands before _hits with --prefix",
        )


def _similar(names: Collection[str]) -> str:
    if not names:
        return "it has no samples at all"
    near = [name for name in sorted(names) if STEM in name or split(name)]
    near += [name for name in sorted(names) if "cache" in name and name not in near]
    if not near:
        return f"no similar name among its {len(names)}"
    more = f" and {len(near) - SIMILAR_SHOWN} more" if len(near) > SIMILAR_SHOWN else ""
    return f"similar names: {', '.join(map(printable, near[:SIMILAR_SHOWN]))}{more}"
