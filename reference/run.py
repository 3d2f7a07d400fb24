"""Runs a program on the reference: the outcome every correct implementation must give."""

from __future__ import annotations

from reference.expert_config import ExpertConfig
from reference.expert_session import ExpertSession
from reference.program import Outcome, Program
from reference.row_session import RowSession


def run(program: Program) -> Outcome:
    """The outcome of `program` on the reference model of its cache, observed at every level."""
    config = program.config
    session = ExpertSession(config) if isinstance(config, ExpertConfig) else RowSession(config)
    opened = session.observe()
    return Outcome(opened, tuple(session.apply(operation) for operation in program.operations))
