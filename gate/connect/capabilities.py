"""Which programs can an implementation be given? Those that need only what it declares to have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from gate.connect.implementation import ANY, PLACEMENT, Declaration
from reference.errors import InputError
from reference.expert_config import ExpertConfig
from reference.program import (
    Arrive,
    Insert,
    Load,
    Lose,
    Pin,
    Prefetch,
    Program,
    Retain,
    SetBudget,
    SetK,
    Unpin,
    plain,
)
from reference.program_header import PLACED, RULE_KEYS
from reference.program_text import parse
from reference.row_config import RowCacheConfig

FROM_PROGRAM = ("sets", "ways", "candidate_sets", "halve_every")
"""Settings of a row cache that are taken from each program unless it declares one; capabilities bound them."""

NEEDED_BY: dict[type, str] = {
    SetBudget: "resize",
    SetK: "change-k",
    Prefetch: "prefetch",
    Arrive: "prefetch",
    Lose: "prefetch",
    Retain: "retain",
    Insert: "read-ahead",
    Pin: "pins",
    Unpin: "pins",
}
"""The capability an operation needs."""


def can_run(declared: Declaration, program: Program) -> str:
    """Why an implementation cannot be given a program, in one clause; "" when it can."""
    of_expert = isinstance(program.config, ExpertConfig)
    if of_expert != (declared.cache == "expert-cache"):
        return f"the program is for the other cache, this is a driver of the {declared.cache}"
    for capability in _needs(program):
        if capability not in declared.capabilities:
            return f"needs {capability}"
    return next(_other_choices(declared, program), "")


def _needs(program: Program) -> Iterator[str]:
    """The capabilities a program needs."""
    config = program.config
    yield from _row_needs(config) if isinstance(config, RowCacheConfig) else _expert_needs(config)
    for operation in map(plain, program.operations):
        if type(operation) in NEEDED_BY:
            yield NEEDED_BY[type(operation)]
        elif isinstance(operation, Load):
            if operation.failing:
                yield "failed-read"
            if operation.weights:
                yield "dropping"


def _expert_needs(config: ExpertConfig) -> Iterator[str]:
    if config.policy != "lru":
        yield f"policy-{config.policy}"
    if config.dropping.fraction:
        yield "dropping"


def _row_needs(config: RowCacheConfig) -> Iterator[str]:
    for capability, needed in (
        ("two-sets", config.candidate_sets == 2),
        ("injected-placement", config.injected_sets or config.injected_columns),
        ("halving", config.halve_every is not None),
        ("tables", config.tables > 1),
    ):
        if needed:
            yield capability


def _other_choices(declared: Declaration, program: Program) -> Iterator[str]:
    """Where the program is written for a cache that chooses otherwise."""
    config = program.config
    if isinstance(config, ExpertConfig):
        for key, name in RULE_KEYS.items():
            its_own, wanted = getattr(declared.rules, name), getattr(config.rules, name)
            if its_own != wanted:
                yield f"needs {key}={wanted}, its rule is {key}={its_own}"
        return
    for field in fields(RowCacheConfig):
        if field.name in PLACED:
            continue
        taken = ANY if field.name in FROM_PROGRAM else setting_text(field.default)
        its_own = declared.row_settings.get(field.name, taken)
        wanted = setting_text(getattr(config, field.name))
        if its_own not in (ANY, wanted):
            yield f"needs {field.name}={wanted}, it has {field.name}={its_own}"


def fault_of_settings(settings: Mapping[str, str]) -> str:
    """Why no row cache can have these settings built in; "" when one can."""
    built_in = {
        key: value
        for key, value in ({"sets": "1"} | dict(settings)).items()
        if not (value == ANY or key == PLACEMENT or (key, value) == ("halve_every", "none"))
    }
    try:
        parse(" ".join(["row-cache v1", *(f"{key}={value}" for key, value in built_in.items())]))
    except InputError as error:
        return error.problem
    return ""


def setting_text(value: object) -> str:
    """A setting as a hello gives it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
