"""How is an implementation seen that shows less than it has? At a lower level, with fewer columns."""

from __future__ import annotations

from dataclasses import replace

from gate.connect.implementation import Declaration, Implementation, at_level
from reference.program import Answer, Outcome, Program


class Dimmed:
    """Another implementation, seen as a declaration says.

    Args:
        whole: what runs the programs.
        declared: what is said of it; it has columns.
    """

    def __init__(self, whole: Implementation, declared: Declaration) -> None:
        self.whole = whole
        self.declaration = declared

    def run(self, program: Program) -> Outcome:
        """The outcome, less what is not declared."""
        return self.dimmed(self.whole.run(program))

    def dimmed(self, outcome: Outcome) -> Outcome:
        """An outcome less what is not declared."""
        outcome = at_level(outcome, self.declaration.level)
        answers = tuple(map(self._less, outcome.answers))
        return Outcome(self._less(outcome.opened), answers, outcome.level)

    def _less(self, answer: Answer) -> Answer:
        columns = self.declaration.columns or frozenset()
        kept = {name: value for name, value in answer.counters.items() if name in columns}
        estimates = answer.estimates if "estimates" in columns else None
        return replace(answer, counters=kept, estimates=estimates)

    def close(self) -> None:
        """Nothing to give back."""
