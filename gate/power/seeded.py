"""How is a seeded bug put under judgement? It becomes an implementation like any other, of any observation level."""

from __future__ import annotations

from dataclasses import fields

from fixtures.seeded_bugs import BUGS
from fixtures.seeded_bugs.registry import Part, SeededBug, open_with
from gate.connect.implementation import (
    ANY,
    CRASH,
    EXPERT_CAPABILITIES,
    OWN,
    PLACEMENT,
    ROW_CAPABILITIES,
    Declaration,
    Failure,
    at_level,
)
from reference.expert_config import PROPOSAL_RULES, Rules
from reference.program import Outcome, Program
from reference.row_config import RowCacheConfig
from reference.run import run_on

TOP = 3
"""The level at which everything is seen."""


def declared(name: str, cache: str, level: int, rules: Rules, own_hash: bool) -> Declaration:
    """What an implementation under test says of itself: it offers everything, but perhaps not where it places rows."""
    settings = {field.name: ANY for field in fields(RowCacheConfig)}
    capabilities = EXPERT_CAPABILITIES | ROW_CAPABILITIES
    if own_hash:
        settings[PLACEMENT] = OWN
        capabilities -= {"injected-placement"}
    return Declaration(name, "seeded", cache, level, rules, capabilities, settings)


class SeededCache:
    """The reference with one of the seeded bugs in it.

    Only what the bug itself is known to raise is a crash; any other exception is a fault of the harness.

    Args:
        bug: the bug, or its id in the registry.
        level: the observation level it offers.
        own_hash: it says that it places rows by a hash of its own, and takes no places.
    """

    def __init__(self, bug: SeededBug | str, level: int = TOP, own_hash: bool = False) -> None:
        self.bug = BUGS[bug] if isinstance(bug, str) else bug
        self.own_hash = own_hash
        named = (self.bug.id, self.bug.cache)
        self.declaration = declared(*named, level, self.bug.rules, own_hash)

    def run(self, program: Program) -> Outcome:
        """Its outcome."""
        try:
            outcome = self.bug.run(program)
        except self.bug.crashes as error:
            raise Failure(CRASH, repr(error)) from error
        return at_level(outcome, self.declaration.level)

    def close(self) -> None:
        """Nothing to give back."""


class Variant:
    """The reference with a correct part in place of its own."""

    def __init__(self, part: Part, cache: str) -> None:
        self.part = part
        self.declaration = declared(part.__name__, cache, TOP, PROPOSAL_RULES, own_hash=False)

    def run(self, program: Program) -> Outcome:
        """Its outcome."""
        return run_on(open_with(self.part, program.config), program)

    def close(self) -> None:
        """Nothing to give back."""
