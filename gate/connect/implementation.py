"""What is an implementation under judgement? Something that runs a whole program and gives its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from reference.expert_config import ENGINE_RULES, EXACT_BYTES, PROPOSAL_RULES, Rules
from reference.program import Answer, Outcome, Program
from reference.row_config import RowCacheConfig
from reference.run import run

CRASH, HANG, GARBAGE = "crash", "hang", "garbage"


class Failure(Exception):
    """The implementation did not give an outcome: one of CRASH, HANG, GARBAGE, with what was seen.

    A fault of the harness is never a Failure. `program` is the one it is charged to, where that is not the one that was
    run.
    """

    def __init__(self, verdict: str, detail: str, program: Program | None = None) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail
        self.program = program


PLACEMENT, SHARED, OWN = "placement", "shared", "own"
"""Whether a row cache places rows by the hash of reference/row_placement.py, or by one the gate does not know."""

ANY = "any"
"""A setting of a row cache that the implementation takes from each program."""

EXPERT_CAPABILITIES = frozenset(
    ("resize", "prefetch", "retain", "dropping", "failed-read", "change-k", "policy-layer")
)
ROW_CAPABILITIES = frozenset(
    ("two-sets", "injected-placement", "read-ahead", "pins", "halving", "tables")
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an implementation says of itself.

    Args:
        name, version: as printed in reports.
        cache: "expert-cache" or "row-cache".
        level: highest observation level it offers, 0 to 3.
        rules: of an expert cache, where correct caches may differ.
        capabilities: the optional parts it has; programs that need others are not sent to it.
        row_settings: of a row cache, the choices of RowCacheConfig it is built with, by field name.
        columns: its counters, and `estimates`; None for all that the reference has.
    """

    name: str
    version: str
    cache: str
    level: int = 3
    rules: Rules = PROPOSAL_RULES
    capabilities: frozenset[str] = EXPERT_CAPABILITIES | ROW_CAPABILITIES
    row_settings: dict[str, str] = field(default_factory=dict)
    columns: frozenset[str] | None = None

    @property
    def places_are_known(self) -> bool:
        """Does the gate know where a row may sit, and which cells of the sketch it has, in every program?"""
        own = self.row_settings.get(PLACEMENT) == OWN
        return not own or "injected-placement" in self.capabilities


class Implementation(Protocol):
    """Runs programs. `run` raises Failure; everything else it raises is a fault of the harness."""

    declaration: Declaration

    def run(self, program: Program) -> Outcome:
        """The outcome of a program, at the declared level."""

    def close(self) -> None:
        """Give back what it holds: processes, files."""


BUILT_IN_RULES = {
    "builtin": PROPOSAL_RULES,
    "builtin:exact": EXACT_BYTES,
    "builtin:engine": ENGINE_RULES,
}
"""The reference under each set of rules (reference/expert_config.py), by connect string."""


class BuiltIn:
    """The reference model of a cache, as an implementation."""

    def __init__(self, cache: str, rules: Rules = PROPOSAL_RULES) -> None:
        name = next(name for name, known in BUILT_IN_RULES.items() if known == rules)
        settings = {field.name: ANY for field in fields(RowCacheConfig)}
        self.declaration = Declaration(name, "reference", cache, rules=rules, row_settings=settings)

    def run(self, program: Program) -> Outcome:
        """The reference's outcome."""
        return run(program)

    def close(self) -> None:
        """Nothing to give back."""


def at_level(outcome: Outcome, level: int) -> Outcome:
    """The outcome with what lies above `level` taken away."""
    if level >= outcome.level:
        return outcome
    answers = tuple(_dimmed(answer, level) for answer in outcome.answers)
    return Outcome(_dimmed(outcome.opened, level), answers, level)


def _dimmed(answer: Answer, level: int) -> Answer:
    dimmed = replace(answer, order=None, estimates=None)
    if level < 2:
        dimmed = replace(dimmed, resident=None)
    if level < 1:
        dimmed = replace(dimmed, refusal="", hits=None, read_bytes=None, digest=None)
    return dimmed
