"""How is a program fitted to an implementation? What that lacks is left out, what it fixes is taken over.

Operations are total, so leaving some out leaves a legal program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from itertools import chain
from typing import Any

from gate.connect.capabilities import FROM_PROGRAM, NEEDED_BY
from gate.connect.implementation import ANY, OWN, PLACEMENT, Declaration
from reference.expert_config import Dropping, ExpertConfig
from reference.program import Load, Operation, Plain, Program, Repeat, plain
from reference.program_header import PLACED
from reference.row_config import RowCacheConfig
from reference.row_placement import RowPlacement

PLACES = {
    "sets": "injected_sets",
    "candidate_sets": "injected_sets",
    "sketch_rows": "injected_columns",
    "sketch_width": "injected_columns",
}
"""A setting of a row cache -> the injected places that no longer fit when it is another."""


def fit(program: Program, declared: Declaration) -> Program:
    """The program without what `declared` does not offer; the same program where it offers everything."""
    config = program.config
    if isinstance(config, ExpertConfig):
        fitted: ExpertConfig | RowCacheConfig = _expert_config(config, declared)
    else:
        fitted = _row_config(program, config, declared)
    return Program(fitted, tuple(_operations(program, fitted, declared.capabilities)))


def _operations(
    program: Program, config: ExpertConfig | RowCacheConfig, capabilities: frozenset[str]
) -> Iterator[Operation]:
    tables = config.tables if isinstance(config, RowCacheConfig) else 1
    for operation in program.operations:
        act = plain(operation)
        needed = NEEDED_BY.get(type(act))
        if needed is not None and needed not in capabilities:
            continue
        if tables == 1 and "tables" not in capabilities and not _is_of_first_table(act):
            continue
        fitted = _load(act, capabilities) if isinstance(act, Load) else act
        yield Repeat(operation.count, fitted) if isinstance(operation, Repeat) else fitted


def _is_of_first_table(act: Plain) -> bool:
    table: int = getattr(act, "table", 0)
    return table == 0


def _load(load: Load, capabilities: frozenset[str]) -> Plain:
    if "failed-read" not in capabilities:
        load = replace(load, failing=frozenset())
    return load if "dropping" in capabilities else replace(load, weights=())


def _expert_config(config: ExpertConfig, declared: Declaration) -> ExpertConfig:
    config = replace(config, rules=declared.rules)
    if f"policy-{config.policy}" not in declared.capabilities:
        config = replace(config, policy="lru")
    return config if "dropping" in declared.capabilities else replace(config, dropping=Dropping())


def _row_config(program: Program, config: RowCacheConfig, declared: Declaration) -> RowCacheConfig:
    has = declared.capabilities
    changes: dict[str, Any] = {}
    if "tables" not in has:
        changes["sets"] = config.sets[:1]
    if "two-sets" not in has:
        changes["candidate_sets"] = 1
        changes["injected_sets"] = {row: at[:1] for row, at in config.injected_sets.items()}
    if "halving" not in has:
        changes["halve_every"] = None
    if "injected-placement" not in has:
        changes |= {name: {} for name in PLACED}
    for field in fields(RowCacheConfig):
        name = field.name
        taken = ANY if name in FROM_PROGRAM else ""
        its_own = declared.row_settings.get(name, taken)
        if name not in PLACED and its_own != ANY:
            changes[name] = _value(field.default, its_own)
            if name in PLACES and changes[name] != getattr(config, name):
                changes[PLACES[name]] = {}
    fitted = replace(config, **changes)
    if declared.row_settings.get(PLACEMENT) != OWN:
        return fitted
    if declared.places_are_known:
        return _placed(program, fitted)
    return _spread(fitted) if declared.row_settings.get("sketch_width") == ANY else fitted


def _spread(config: RowCacheConfig) -> RowCacheConfig:
    """With one set a table, a sketch so wide that few rows share cells: gate/judging/own_hash.py can then judge it."""
    widest = max(config.sketch_width, RowCacheConfig.sketch_width)
    return replace(config, sketch_width=widest) if max(config.sets) <= 1 else config


def _placed(program: Program, config: RowCacheConfig) -> RowCacheConfig:
    """The configuration with the place of every row of the program injected, for a hash that the gate does not know."""
    placement = RowPlacement(config, min((count for count in config.sets if count), default=0))
    named = (getattr(plain(operation), "rows", ()) for operation in program.operations)
    sites = {row: placement.site(row) for row in dict.fromkeys(chain.from_iterable(named))}
    return replace(
        config,
        injected_sets={row: site.sets for row, site in sites.items() if site.sets},
        injected_columns={row: site.columns for row, site in sites.items()},
    )


def _value(default: Any, text: str) -> Any:
    """A declared setting as a value of its field; "" is the default."""
    if not text:
        return default
    if default is MISSING:  # the sets of each table
        return tuple(map(int, text.split(",")))
    if text in ("yes", "no"):
        return text == "yes"
    return int(text) if text.isdecimal() else None if text == "none" else text
