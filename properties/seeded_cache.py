"""How is a seeded bug put under judgement? It becomes an implementation like any other."""

from __future__ import annotations

from fixtures.seeded_bugs import BUGS
from gate.connect.implementation import Declaration
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT
from reference.program import Answer, Operation, Outcome, Program


class SeededCache:
    """The reference with one of the seeded bugs in it.

    Args:
        bug_id: its id in the registry, fixtures/seeded_bugs/.
    """

    def __init__(self, bug_id: str) -> None:
        self.bug = BUGS[bug_id]
        self.declaration = Declaration(bug_id, "1", self.bug.cache, rules=self.bug.rules)

    def run(self, program: Program) -> Outcome:
        """Its outcome."""
        return self.bug.run(program)

    def close(self) -> None:
        """Nothing to give back."""


class OffByOne:
    """A cache that evicts at exactly its budget, as `python:properties.seeded_cache:OffByOne` connects it."""

    declaration = Declaration("off-by-one", "1", EXPERT)

    def __init__(self, config: ExpertConfig) -> None:
        self.session = BUGS["O-E06"].open_session(config)

    def opened(self) -> Answer:
        """What it says before the first operation."""
        return self.session.observe()

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation."""
        return self.session.apply(operation)
