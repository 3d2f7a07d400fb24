"""Which seeded bug is connected by a connect string? (gate/power/seeded.py judges all of them directly.)"""

from __future__ import annotations

from fixtures.seeded_bugs import BUGS
from gate.connect.implementation import Declaration
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT
from reference.program import Answer, Operation


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
