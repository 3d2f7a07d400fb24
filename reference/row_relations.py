"""Which laws relate several runs of a row cache: gathers changed, tables apart, the reference beside it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reference.laws import (
    ROW,
    SHARED_PLACEMENT,
    Case,
    Finding,
    Registry,
    all_of,
    any_of,
    compare,
    one_column,
)
from reference.lockstep import differences
from reference.program import Answer, AskRows, Gather, Operation, Program, Repeat
from reference.row_counter_laws import CUMULATIVE, config_of

LAWS = Registry(ROW)
Findings = Iterable[Finding]


@LAWS.law("row-lockstep/reference", 0, all_of(SHARED_PLACEMENT))
def lockstep(case: Case) -> Findings:
    """Every answer is the reference's, at every level the implementation offers."""
    yield from differences(case.program, case.outcome)


@LAWS.law("row-runs/same-again", 0, again=True)
def same_again(case: Case) -> Findings:
    """The same program gives the same outcome again: behaviour is a function of the sequence of operations."""
    again = case.run(case.program)
    pairs = zip(case.outcome.answers, again.answers, strict=True)
    for number, (first, second) in enumerate(pairs, 1):
        yield compare(number, "the second run answers", first, second)


@LAWS.law("row-runs/repeats-in-a-gather-count-once", 0, again=True)
def repeats_count_once(case: Case) -> Findings:
    """Naming every row of a gather twice changes no answer."""
    operations = tuple(_doubled(operation) for operation in case.program.operations)
    doubled = Program(case.program.config, operations)
    if doubled == case.program:
        return
    pairs = zip(case.outcome.answers, case.run(doubled).answers, strict=True)
    for number, (once, twice) in enumerate(pairs, 1):
        yield _same(number, once, twice, doubled)


@LAWS.law(
    "row-runs/order-in-a-gather",
    0,
    any_of(("level 1",)) + one_column("lookups", "hits", "misses"),
    again=True,
)
def order_in_a_gather(case: Case) -> Findings:
    """The order of a gather's rows decides who comes in, never which of them hit: all lookups precede the inserts."""
    widths = [len(step.distinct) if step.times == 1 else 0 for step in case.row_steps]
    if max(widths, default=0) < 2:
        return
    at = widths.index(max(widths))
    gather = case.row_steps[at].operation
    assert isinstance(gather, Gather)
    turned = Gather(tuple(reversed(gather.rows)), gather.table)
    other = Program(case.program.config, (*case.program.operations[:at], turned))
    mine, theirs = case.outcome.answers[at], case.run(other).answers[at]
    for name in ("lookups", "hits", "misses"):
        if name in mine.counters:
            yield compare(at + 1, name, theirs.counters.get(name), mine.counters[name])
    if mine.hits is not None and theirs.hits is not None:
        backwards = dict.fromkeys(turned.rows)
        by_row = dict(zip(backwards, theirs.hits, strict=False))
        expected = tuple(by_row.get(row) for row in case.row_steps[at].distinct)
        yield compare(at + 1, "hits, as in the reverse order,", expected, mine.hits)


@LAWS.law(
    "row-runs/tables-apart",
    0,
    one_column(*CUMULATIVE, "resident_rows", also=("tables",)),
    again=True,
)
def tables_apart(case: Case) -> Findings:
    """Each table alone counts what it counts beside the others (with one clock for all: unless it reads ahead)."""
    reads_ahead = any(step.is_insert for step in case.row_steps)
    used = sorted({step.table for step in case.row_steps if step.is_gather or step.is_insert})
    if len(used) < 2 or (config_of(case).clock_scope == "cache" and reads_ahead):
        return
    last = case.outcome.answers[-1].counters
    ends = [case.run(_of_table(case, table)).answers[-1].counters for table in used]
    for name in (*CUMULATIVE, "resident_rows"):
        if name in last:
            total = sum(end.get(name, 0) for end in ends)
            yield compare(len(case.row_steps), f"{name} of all tables", total, last[name])


@LAWS.law("row-runs/what-changes-nothing-may-be-left-out", 0, again=True)
def may_be_left_out(case: Case) -> Findings:
    """Leaving out the operations that ask, and those that are refused, changes no other answer."""
    kept = [
        at
        for at, step in enumerate(case.row_steps)
        if not (step.refusal or isinstance(step.operation, AskRows))
    ]
    if len(kept) == len(case.row_steps):
        return
    shorter = Program(case.program.config, tuple(case.program.operations[at] for at in kept))
    for at, answer in zip(kept, case.run(shorter).answers, strict=True):
        yield _same(at + 1, case.outcome.answers[at], answer, shorter)


def _same(number: int, mine: Answer, theirs: Answer, other: Program) -> Finding:
    found = compare(number, "the answer:", mine, theirs)
    return found and replace(found, program=other)


def _doubled(operation: Operation) -> Operation:
    """A gather with each id twice in its place, which keeps first and last occurrences in order."""
    if isinstance(operation, Repeat) and isinstance(operation.operation, Gather):
        return replace(operation, operation=_twice(operation.operation))
    return _twice(operation) if isinstance(operation, Gather) else operation


def _twice(gather: Gather) -> Gather:
    return replace(gather, rows=tuple(row for row in gather.rows for _ in range(2)))


def _of_table(case: Case, table: int) -> Program:
    """The program's operations on one table."""
    steps = zip(case.row_steps, case.program.operations, strict=True)
    kept = tuple(operation for step, operation in steps if step.table == table)
    return Program(case.program.config, kept)
