"""Do the fast engines of replay/ count what the reference counts?

It is a law, so that a failure is shrunk and told as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from gate.bulk.expert_runs import ExpertRuns
from gate.bulk.row_runs import RowRuns
from gate.bulk.sums import Counted
from gate.connect.implementation import ANY, Declaration
from gate.judging.subject import Subject
from reference.expert_config import ExpertConfig, Rules
from reference.laws import EXPERT, ROW, Case, Finding, Law, compare
from reference.program import Outcome, Program
from reference.row_config import RowCacheConfig
from reference.run import run
from replay.kernel import engine_name

Runs = ExpertRuns | RowRuns


def runs_of(programs: Sequence[Program]) -> Runs:
    """Programs of one cache as runs for the engines."""
    if isinstance(programs[0].config, ExpertConfig):
        return ExpertRuns.of(programs)
    return RowRuns.of(programs)


def final(outcome: Outcome) -> Mapping[str, int]:
    """The counters when a program is over."""
    return (outcome.answers or (outcome.opened,))[-1].counters


def first_difference(expected: Sequence[Mapping[str, int]], counted: Counted) -> int | None:
    """The first run of which an engine counts something else; what one of the two does not count is left out."""
    for run_number, right in enumerate(expected):
        if any(
            name in right and right[name] != counts[run_number] for name, counts in counted.items()
        ):
            return run_number
    return None


def _findings(case: Case) -> Iterator[Finding]:
    runs, right = runs_of([case.program]), final(case.outcome)
    for engine in runs.engines():
        for name, counts in runs.counted(engine).items():
            yield compare(
                len(case.program.operations),
                f"engine {engine}: {name}",
                right[name],
                int(counts[0]),
            )


SENTENCE = "The fast engines of replay/ count what the reference counts."
ENGINE_LAWS = {
    cache: Law(f"replay/{cache}", SENTENCE, cache, 0, _findings) for cache in (EXPERT, ROW)
}


class Reference:
    """What the engines are held to: the reference, under the name of what is judged."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration

    def run(self, program: Program) -> Outcome:
        """The reference's outcome."""
        return run(program)

    def close(self) -> None:
        """Nothing to give back."""


def engines_of(cache: str, rules: Rules) -> Declaration:
    """What is judged by ENGINE_LAWS."""
    settings = {field.name: ANY for field in fields(RowCacheConfig)}
    return Declaration("replay", engine_name(), cache, rules=rules, row_settings=settings)


def engines_for(program: Program) -> Subject:
    """The engines as what is under test, for programs like this one."""
    config = program.config
    if isinstance(config, ExpertConfig):
        return Subject("builtin", Reference(engines_of(EXPERT, config.rules)))
    return Subject("builtin", Reference(engines_of(ROW, Rules())))
