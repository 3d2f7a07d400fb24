"""Runs a program on the reference: the outcome every correct implementation must give."""

from __future__ import annotations

from typing import Protocol

from reference.expert_config import ExpertConfig
from reference.expert_session import ExpertSession
from reference.program import Answer, Operation, Outcome, Program
from reference.row_session import RowSession


class Session(Protocol):
    """A cache that answers operations one by one."""

    def observe(self) -> Answer:
        """The state as it is now."""

    def apply(self, operation: Operation) -> Answer:
        """Carry out one operation and answer it."""


def run(program: Program) -> Outcome:
    """The outcome of `program` on the reference model of its cache, observed at every level."""
    config = program.config
    session = ExpertSession(config) if isinstance(config, ExpertConfig) else RowSession(config)
    return run_on(session, program)


def run_on(session: Session, program: Program) -> Outcome:
    """The outcome of `program` on a session just opened with its configuration."""
    opened = session.observe()
    return Outcome(opened, tuple(session.apply(operation) for operation in program.operations))
