"""The text form of a program: what a case, a counterexample, a witness and a golden input are written in.

The first line names the cache and its configuration; then one operation a line. `#` starts a comment.

    expert-cache v1 entry_bytes=2,3,- experts=4 k=2 budget_bytes=10
    begin
    prefill 0: 3 1 3          # ids token by token; repeats allowed
    decode 1: 0@0.7 2@0.3!    # @ router weight, ! its read from storage fails
    repeat 5 decode 0: 1 2
    end
    budget 5

    row-cache v1 sets=2 ways=2 candidate_sets=2
    place 3 sets 0 1          # row 3 sits in set 0 or 1, whatever the hash says
    place 3 columns 0 0 5 5   # and uses these sketch columns
    gather 3 4 3
    gather 1: 7               # table 1
    insert 9                  # read-ahead
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import inf, isfinite

from reference.errors import InputError, printable
from reference.expert_config import ExpertConfig
from reference.program import (
    DECODE,
    MAX_REPEAT,
    PREFILL,
    Arrive,
    Ask,
    AskRows,
    Begin,
    Cancel,
    End,
    Gather,
    Insert,
    Load,
    Lose,
    Operation,
    Pin,
    Plain,
    Prefetch,
    Program,
    Repeat,
    Retain,
    SetBudget,
    SetK,
    Unpin,
)
from reference.program_cost import MAX_WORK, meter_of
from reference.program_header import EXPERT_CACHE, VERSION, format_header, parse_header
from reference.row_config import RowCacheConfig
from reference.text_line import MAX_WORDS, Line

BARE: dict[str, Callable[[], Plain]] = {"begin": Begin, "end": End, "cancel": Cancel}
BY_LAYER: dict[str, Callable[[int, tuple[int, ...]], Plain]] = {
    "prefetch": Prefetch,
    "arrive": Arrive,
    "lose": Lose,
    "retain": Retain,
    "ask": Ask,
}
BY_TABLE: dict[str, Callable[[tuple[int, ...], int], Plain]] = {
    "gather": Gather,
    "insert": Insert,
    "pin": Pin,
    "unpin": Unpin,
    "ask-rows": AskRows,
}
LOADS = (PREFILL, DECODE)
EXPERT_WORDS = (*BARE, *LOADS, *BY_LAYER, "budget", "k")
ROW_WORDS = tuple(BY_TABLE)

MAX_LINES = 1 << 20
ITEM = re.compile(r"(\d{1,20})(?:@([0-9.eE+-]{1,40}))?(!?)")


def parse(text: str, source: str = "program") -> Program:
    """The program a text stands for.

    Raises:
        InputError: with line and column of what cannot be read.
    """
    if text.count("\n") > MAX_LINES:
        raise InputError(f"more than {MAX_LINES} lines", source=source, cure="use repeat")
    lines = list(_lines(text, source))
    if not lines:
        raise InputError(
            "no program here", source=source, expected=f"a line `{EXPERT_CACHE} {VERSION} …` first"
        )
    config, body = parse_header(lines)
    return Program(config, tuple(_operations(body, config)))


def _lines(text: str, source: str) -> Iterator[Line]:
    """The lines that say something."""
    words = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = Line(raw, number, source)
        words += len(line.tokens)
        if words > MAX_WORDS:
            raise line.fail("the text is too long", f"at most {MAX_WORDS} words")
        if line.tokens:
            yield line


def _operations(body: list[Line], config: ExpertConfig | RowCacheConfig) -> Iterator[Operation]:
    meter = meter_of(config)
    for line in body:
        operation = _operation(line, not isinstance(config, ExpertConfig))
        meter.add(operation)
        if meter.steps > MAX_WORK:
            raise line.fail(
                "from here on it is too much work",
                f"at most {MAX_WORK} steps (reference/program_cost.py)",
                "fewer ids, operations, repeats, ways or halvings",
            )
        yield operation


def _operation(line: Line, rows: bool) -> Operation:
    word, count = line.take("an operation"), None
    if word == "repeat":
        count = line.integer("how often", least=1, most=MAX_REPEAT)
        word = line.take("an operation to repeat")
    operation = _plain(line, word, rows)
    line.done()
    return operation if count is None else Repeat(count, operation)


def _plain(line: Line, word: str, rows: bool) -> Plain:
    """One operation of the row cache, or of the expert cache."""
    known = ROW_WORDS if rows else EXPERT_WORDS
    if word not in known:
        raise line.fail(f"{printable(word)} is not an operation of this cache", ", ".join(known))
    if word in BARE:
        return BARE[word]()
    if word in LOADS:
        return _load(line, word)
    if word in BY_LAYER:
        layer = line.scope("a layer, as in `0:`")
        return BY_LAYER[word](layer, tuple(line.number_of(t, "an expert id") for t in line.rest()))
    if word in BY_TABLE:
        table = line.scope("a table, as in `0:`") if line.peek().endswith(":") else 0
        return BY_TABLE[word](tuple(line.number_of(t, "a row id") for t in line.rest()), table)
    if word == "budget":
        return SetBudget(line.integer("a budget in bytes"))
    return SetK(line.integer("a top-k", least=1))


def _load(line: Line, phase: str) -> Load:
    layer = line.scope("a layer, as in `0:`")
    experts: list[int] = []
    weights: list[float] = []
    failing: set[int] = set()
    for token in line.rest():
        match = ITEM.fullmatch(token)
        if match is None:
            raise line.fail(f"{printable(token)} is no expert", "ID, ID@WEIGHT, ID! or ID@WEIGHT!")
        expert = line.number_of(match.group(1), "an expert id")
        experts.append(expert)
        if match.group(2):
            weights.append(_weight(line, match.group(2)))
        if match.group(3):
            failing.add(expert)
    if weights and len(weights) != len(experts):
        raise line.fail(
            "some ids have a router weight and some have none", "a weight for all or none"
        )
    return Load(layer, tuple(experts), phase, tuple(weights), frozenset(failing))


def _weight(line: Line, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = inf
    if not isfinite(weight):
        raise line.fail(f"{text} is not a router weight", "a decimal number")
    return weight


def format_program(program: Program) -> str:
    """The text of a program; settings at their default are left out. `parse` gives the program back."""
    operations = [format_operation(operation) for operation in program.operations]
    return "\n".join([*format_header(program.config), *operations]) + "\n"


def format_operation(operation: Operation) -> str:
    """One operation as one line."""
    match operation:
        case Repeat(count, repeated):
            return f"repeat {count} {format_operation(repeated)}"
        case Load():
            return f"{operation.phase} {operation.layer}: {_format_experts(operation)}".rstrip()
        case SetBudget(request_bytes):
            return f"budget {request_bytes}"
        case SetK(k):
            return f"k {k}"
        case Gather() | Insert() | Pin() | Unpin() | AskRows():
            scope = f"{operation.table}: " if operation.table else ""
            return f"{_WORD_OF[type(operation)]} {scope}{_format_ids(operation.rows)}".rstrip()
        case Prefetch() | Arrive() | Lose() | Retain() | Ask():
            ids = _format_ids(operation.experts)
            return f"{_WORD_OF[type(operation)]} {operation.layer}: {ids}".rstrip()
        case _:
            return _WORD_OF[type(operation)]


_WORD_OF: dict[object, str] = {
    made_by: word for words in (BARE, BY_LAYER, BY_TABLE) for word, made_by in words.items()
}


def _format_ids(ids: tuple[int, ...]) -> str:
    return " ".join(map(str, ids))


def _format_experts(load: Load) -> str:
    if not load.weights and not load.failing:
        return _format_ids(load.experts)
    weights = [f"@{weight!r}" for weight in load.weights] or [""] * len(load.experts)
    return " ".join(
        f"{expert}{weight}{'!' if expert in load.failing else ''}"
        for expert, weight in zip(load.experts, weights, strict=True)
    )
