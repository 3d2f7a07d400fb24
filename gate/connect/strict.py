"""What is wrong with the form of an answer? The strict mode checks every message as far as the protocol fixes it.

The laws judge the cache; this judges the adapter, so that a fault of its own is not taken for a fault of the cache.
Without strict mode an answer is only read (gate/connect/wire.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gate.connect.hello import Hello
from reference import expert_session, row_session
from reference.expert_config import ExpertConfig
from reference.program import (
    Answer,
    Ask,
    AskRows,
    Gather,
    Load,
    Operation,
    Plain,
    Program,
    plain,
)

LINE = re.compile(r"[!-~]+(?: [!-~]+)*")
COUNTER = re.compile(r"0|-?[1-9][0-9]*")
DIGEST = re.compile(r"-|[0-9a-f]{16}")
STATES = frozenset(
    (
        *("resident_bytes", "resident_entries", "budget_bytes", "resident_rows", "capacity_rows"),
        *("token_demand_bytes", "layer_demand_bytes"),
    )
)
"""Counters that tell the state of now, and may fall; all others count since the opening."""


class Strict:
    """Checks the answers to one program, in their order."""

    def __init__(self, hello: Hello, program: Program) -> None:
        self.hello = hello
        self.config = program.config
        self.level = hello.declaration.level
        self.of_expert = isinstance(program.config, ExpertConfig)
        self._before: Answer | None = None

    def check(self, line: str, answer: Answer, operation: Operation | None) -> None:
        """Look at one answer, its line and what it answers; None is the opening.

        Raises:
            ValueError: it says what is wrong.
        """
        self._check_line(line)
        self._check_counters(answer)
        if self.level >= 1:
            act = None if operation is None else plain(operation)
            self._check_refusal(answer, act)
            self._check_results(answer, act)
        if self.level >= 2:
            self._check_entries(answer)
        self._before = answer

    def _check_line(self, line: str) -> None:
        if not LINE.fullmatch(line):
            raise ValueError("expected printable ASCII with one space between the columns")
        cells = dict(zip((*self.hello.results, *self.hello.counters), line.split(" "), strict=True))
        for name in self.hello.counters:
            if not COUNTER.fullmatch(cells[name]):
                raise ValueError(f"column {name}: {cells[name]} is not written as plain digits")
        if not DIGEST.fullmatch(cells.get("digest", "-")):
            raise ValueError(
                f"column digest: expected 16 lower-case hexadecimal digits, got {cells['digest']}"
            )

    def _check_counters(self, answer: Answer) -> None:
        for name, value in answer.counters.items():
            if value < 0:
                raise ValueError(f"column {name}: {value} is below 0")
            before = self._before.counters[name] if self._before else 0
            if value < before and name not in STATES:
                raise ValueError(
                    f"column {name}: fell from {before} to {value}; it counts since the opening"
                )

    def _check_refusal(self, answer: Answer, act: Plain | None) -> None:
        session = expert_session if self.of_expert else row_session
        if answer.refusal not in ("", *session.REFUSALS):
            raise ValueError(
                f"column refusal: {answer.refusal} is none of {', '.join(session.REFUSALS)}"
            )
        if act is None and answer.refusal:
            raise ValueError("column refusal: an opening is not refused, expected -")

    def _check_results(self, answer: Answer, act: Plain | None) -> None:
        """hit, read and digest are there where something was delivered, and nowhere else."""
        carried_out = not answer.refusal
        reads = carried_out and isinstance(act, Load)
        delivers = carried_out and isinstance(act, Load | Gather)
        flags = self._flags(act) if carried_out else ()
        got = answer.hits or ()
        if flags is not None and len(got) != len(flags):
            raise ValueError(
                f"column hit: expected {self._described(flags)}, got {len(got)} of them"
            )
        if "read" in self.hello.results and (answer.read_bytes is not None) != reads:
            raise ValueError(
                "column read: expected " + ("the bytes read, 0 if none" if reads else "-")
            )
        may_fail = isinstance(act, Load) and bool(act.failing)
        if (answer.digest is not None) != delivers and not may_fail:
            raise ValueError(
                "column digest: expected "
                + ("the digest of what was delivered" if delivers else "-")
            )

    def _flags(self, act: Plain | None) -> tuple[int, ...] | None:
        """The ids that get a flag; None where dropping decides, or where nothing should have been loaded."""
        match act:
            case Load():
                assert isinstance(self.config, ExpertConfig)
                known, drops = self.config.shape.experts, self.config.dropping.fraction > 0
                if act.layer >= len(known) or (drops and act.weights):
                    return None
                experts = known[act.layer]
                return tuple(dict.fromkeys(e for e in act.experts if e < experts))
            case Ask():
                return act.experts
            case Gather():
                return tuple(dict.fromkeys(act.rows))
            case AskRows():
                return act.rows
            case _:
                return ()

    def _described(self, ids: tuple[int, ...]) -> str:
        if not ids:
            return "-"
        return f"{len(ids)} flags, one for each of {' '.join(map(str, ids[:8]))}"

    def _check_entries(self, answer: Answer) -> None:
        resident = answer.resident or frozenset()
        self._check_known("resident", resident)
        if answer.order is None:
            return
        self._check_known("order", answer.order)
        if len(set(answer.order)) < len(answer.order):
            raise ValueError("column order: an entry stands there twice")
        missing = resident - set(answer.order)
        foreign = set(answer.order) - resident
        if foreign or (missing and self.of_expert):
            layer, expert = min(foreign or missing)
            where = "order but not in resident" if foreign else "resident but not in order"
            raise ValueError(f"{layer}:{expert} stands in {where}")

    def _check_known(self, column: str, entries: Iterable[tuple[int, int]]) -> None:
        for scope, number in entries:
            if isinstance(self.config, ExpertConfig):
                shape = self.config.shape
                known = scope in shape.moe_layers and number < shape.experts[scope]
                what = "an expert of the model, as LAYER:EXPERT"
            else:
                known, what = scope < self.config.tables, "a row of a table, as TABLE:ROW"
            if not known:
                raise ValueError(f"column {column}: {scope}:{number} is not {what}")
