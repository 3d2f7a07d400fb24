"""How small can a failing program be? Shrinks the program itself until no part of it can be lowered.

Works on any program, however it was made. The result is locally minimal: without any one operation, id or layer, and
with any one number lowered by one, halved, or set to its least, it no longer fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

from reference.expert_config import Dropping, ExpertConfig
from reference.program import (
    MAX_REPEAT,
    Load,
    Operation,
    Plain,
    Program,
    Repeat,
    SetBudget,
    plain,
    times,
)
from reference.row_config import RowCacheConfig
from reference.sizing import ModelShape

MAX_TRIALS = 20_000
"""Runs after which it stops with what it has, for implementations that fail at random."""

FEW = 8
"""Operations that a reader takes in; a program with more is worth more trials."""

Fails = Callable[[Program], bool]


def shrink(program: Program, fails: Fails, max_trials: int = MAX_TRIALS) -> Program:
    """A locally minimal program that still fails.

    Args:
        program: one that fails.
        fails: runs a program and says whether it fails in the same way.
        max_trials: most runs it may take.
    """
    trials = 0

    def still(candidate: Program) -> bool:
        nonlocal trials
        trials += 1
        return trials <= max_trials and fails(candidate)

    program = _without_chunks(program, still)
    lowered = True
    while lowered and trials <= max_trials:
        lowered = False
        for candidate in candidates(program):
            if still(candidate):
                program, lowered = _without_chunks(candidate, still), True
                break
    return program


def _without_chunks(program: Program, fails: Fails) -> Program:
    """Leave out runs of operations, from half of them down to one."""
    operations = list(program.operations)
    size = max(1, len(operations) // 2)
    while True:
        at, changed = 0, False
        while at < len(operations):
            kept = operations[:at] + operations[at + size :]
            if fails(Program(program.config, tuple(kept))):
                operations, changed = kept, True
            else:
                at += size
        if size > 1:
            size //= 2
        elif not changed:
            return Program(program.config, tuple(operations))


def candidates(program: Program) -> Iterator[Program]:
    """Every program that is smaller in one place, the larger steps first; what cannot be opened is left out."""
    for at in range(len(program.operations)):
        kept = program.operations[:at] + program.operations[at + 1 :]
        yield Program(program.config, kept)
    for operations in (*_fewer(program.operations), *_detours(program.operations)):
        yield Program(program.config, operations)
    yield from _configurations(program)
    for at, operation in enumerate(program.operations):
        for smaller in _operations(operation):
            changed = (*program.operations[:at], smaller, *program.operations[at + 1 :])
            yield Program(program.config, changed)


def lower(number: int, least: int = 0) -> list[int]:
    """Numbers below `number` worth trying: the two least, then steps that halve, down to one less.

    So the least number that fails is found as by bisection, however wide the number is.
    """
    steps = [(number - least) >> halved for halved in range((number - least).bit_length())]
    tries = dict.fromkeys((least, least + 1, *(number - step for step in steps)))
    return [n for n in tries if n < number]


def _shorter(items: tuple[Any, ...], least: int = 0) -> Iterator[tuple[Any, ...]]:
    """The tuple without one item."""
    if len(items) > least:
        yield from (items[:at] + items[at + 1 :] for at in range(len(items)))


def _lowered(items: tuple[int, ...], least: int = 0) -> Iterator[tuple[int, ...]]:
    """The tuple with one number lowered."""
    for at, number in enumerate(items):
        yield from ((*items[:at], n, *items[at + 1 :]) for n in lower(number, least))


# --- fewer operations -----------------------------------------------------------------------------


def _fewer(operations: tuple[Operation, ...]) -> Iterator[tuple[Operation, ...]]:
    """One operation less: equal neighbours as one repeat; a repeat that takes another's place in time."""
    for at, (one, next_one) in enumerate(pairwise(operations)):
        if plain(one) == plain(next_one):
            both = Repeat(min(times(one) + times(next_one), MAX_REPEAT), plain(one))
            yield (*operations[:at], both, *operations[at + 2 :])
    for at, burst in enumerate(operations):
        for gone in range(len(operations) if isinstance(burst, Repeat) else 0):
            for ticks in (1, 2) if gone != at else ():
                count = times(burst) + ticks * times(operations[gone])
                longer = Repeat(min(count, MAX_REPEAT), plain(burst))
                changed = (*operations[:at], longer, *operations[at + 1 :])
                yield changed[:gone] + changed[gone + 1 :]


def _detours(operations: tuple[Operation, ...]) -> Iterator[tuple[Operation, ...]]:
    """Of a program that is still long: one of its operations in place of several in a row."""
    if len(operations) <= FEW:
        return
    for size in (4, 3, 2):
        for at in range(len(operations) - size + 1):
            for one in dict.fromkeys(operations):
                yield (*operations[:at], one, *operations[at + size :])


# --- operations -----------------------------------------------------------------------------------


def _operations(operation: Operation) -> Iterator[Operation]:
    if isinstance(operation, Repeat):
        yield operation.operation
        yield from (Repeat(n, operation.operation) for n in lower(operation.count, 1))
        for inner in _operations(operation.operation):
            assert not isinstance(inner, Repeat)
            yield Repeat(operation.count, inner)
    elif isinstance(operation, Load):
        yield from _loads(operation)
    else:
        for field in fields(operation):
            value = getattr(operation, field.name)
            least = 1 if field.name == "k" else 0
            smaller = (
                (*_shorter(value), *_lowered(value))
                if isinstance(value, tuple)
                else lower(value, least)
            )
            yield from (_replaced(operation, field.name, n) for n in smaller)


def _replaced(operation: Plain, name: str, value: object) -> Plain:
    changed: Any = {name: value}
    return replace(operation, **changed)


def _loads(load: Load) -> Iterator[Load]:
    for at in range(len(load.experts)):
        yield replace(
            load,
            experts=load.experts[:at] + load.experts[at + 1 :],
            weights=load.weights[:at] + load.weights[at + 1 :],
        )
    if load.weights:
        yield replace(load, weights=())
    for spared in load.failing:
        yield replace(load, failing=load.failing - {spared})
    yield from (replace(load, layer=n) for n in lower(load.layer))
    for experts in _lowered(load.experts):
        renamed = dict(zip(load.experts, experts, strict=True))
        failing = frozenset(renamed[expert] for expert in load.failing if expert in renamed)
        yield replace(load, experts=experts, failing=failing)


# --- configurations -------------------------------------------------------------------------------


def _configurations(program: Program) -> Iterator[Program]:
    config = program.config
    if isinstance(config, ExpertConfig):
        yield from _scaled(program, config)
        yield from _opened_with_later_budget(program, config)
        yield from _without_layers(program, config)
        made: Iterator[Callable[[], Any]] = _expert_configs(config)
    else:
        yield from _without_tables(program, config)
        made = _row_configs(config)
    for make in made:
        try:
            smaller = make()
        except ValueError:
            continue  # such a configuration cannot be opened
        yield Program(smaller, program.operations)


def _expert_configs(config: ExpertConfig) -> Iterator[Callable[[], ExpertConfig]]:
    shape = config.shape
    shapes = [(shape.entry_bytes, shape.experts, k) for k in lower(shape.k, 1)]
    shapes += [(sizes, shape.experts, shape.k) for sizes in _lowered(shape.entry_bytes)]
    shapes += [(shape.entry_bytes, experts, shape.k) for experts in _lowered(shape.experts)]
    for parts in shapes:
        yield lambda parts=parts: replace(config, shape=ModelShape(*parts))  # type: ignore[misc]
    for budget in lower(config.budget_bytes):
        yield lambda budget=budget: replace(config, budget_bytes=budget)  # type: ignore[misc]
    if config.policy != "lru":
        yield lambda: replace(config, policy="lru")
    if config.dropping != Dropping():
        yield lambda: replace(config, dropping=Dropping())


SCALES = (1 << 30, 1 << 20, 1 << 10, 16, 4, 2)


def _scaled(program: Program, config: ExpertConfig) -> Iterator[Program]:
    """Entry bytes and budgets all divided alike, since one without the others tells little."""
    shape = config.shape
    for scale in SCALES:
        if scale > max(shape.entry_bytes, default=0):
            continue
        sizes = tuple(max(size // scale, 1) if size else 0 for size in shape.entry_bytes)
        smaller = replace(
            config,
            shape=replace(shape, entry_bytes=sizes),
            budget_bytes=config.budget_bytes // scale,
        )
        yield Program(smaller, tuple(_rescaled(one, scale) for one in program.operations))


def _rescaled(operation: Operation, scale: int) -> Operation:
    if isinstance(operation, Repeat):
        inner = _rescaled(operation.operation, scale)
        assert not isinstance(inner, Repeat)
        return Repeat(operation.count, inner)
    if isinstance(operation, SetBudget):
        return SetBudget(operation.request_bytes // scale)
    return operation


def _opened_with_later_budget(program: Program, config: ExpertConfig) -> Iterator[Program]:
    """Opened with a budget that is now asked for later on."""
    for at, operation in enumerate(program.operations):
        if isinstance(operation, SetBudget):
            kept = program.operations[:at] + program.operations[at + 1 :]
            yield Program(replace(config, budget_bytes=operation.request_bytes), kept)


def _without_layers(program: Program, config: ExpertConfig) -> Iterator[Program]:
    """The model without one layer; operations on it go, those behind it move down."""
    shape = config.shape
    for gone in range(len(shape.entry_bytes) if len(shape.entry_bytes) > 1 else 0):
        fewer = ModelShape(
            shape.entry_bytes[:gone] + shape.entry_bytes[gone + 1 :],
            shape.experts[:gone] + shape.experts[gone + 1 :],
            shape.k,
        )
        kept = _renumbered(program.operations, "layer", gone)
        yield Program(replace(config, shape=fewer), kept)


def _without_tables(program: Program, config: RowCacheConfig) -> Iterator[Program]:
    """The cache without one table."""
    for gone in range(len(config.sets) if len(config.sets) > 1 else 0):
        fewer = config.sets[:gone] + config.sets[gone + 1 :]
        with suppress(ValueError):  # an injected set may be one that only this table has
            yield Program(
                replace(config, sets=fewer), _renumbered(program.operations, "table", gone)
            )


def _renumbered(operations: Sequence[Operation], place: str, gone: int) -> tuple[Operation, ...]:
    kept: list[Operation] = []
    for operation in operations:
        inner = operation.operation if isinstance(operation, Repeat) else operation
        at = getattr(inner, place, -1)
        if at == gone:
            continue
        if at > gone:
            inner = _replaced(inner, place, at - 1)
        kept.append(Repeat(operation.count, inner) if isinstance(operation, Repeat) else inner)
    return tuple(kept)


def _row_configs(config: RowCacheConfig) -> Iterator[Callable[[], RowCacheConfig]]:
    default = RowCacheConfig(sets=(1,))
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name == "sets":
            smaller: Sequence[Any] = list(_lowered(value))
        elif isinstance(value, dict):
            smaller = [{k: v for k, v in value.items() if k != gone} for gone in value]
        elif isinstance(value, int) and not isinstance(value, bool):
            least = 0 if field.name == "hash_seed" else 1
            smaller = lower(value, least)
        else:
            standard = getattr(default, field.name)
            smaller = [] if value == standard else [standard]
        for choice in smaller:
            yield lambda name=field.name, choice=choice: replace(config, **{name: choice})  # type: ignore[misc]
    if config.halve_every is not None:
        yield lambda: replace(config, halve_every=None)
