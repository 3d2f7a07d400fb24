"""How are the faults of very many programs told? Each law once, with its smallest program, written to a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gate.connect.implementation import Declaration
from gate.judging.judge import Fault
from gate.judging.verdict import failure_text, write_counterexample


def tell_faults(faults: Iterable[Fault], declared: Declaration, connect: str, folder: Path) -> int:
    """Write and print the smallest fault of each law; gives how many laws broke."""
    smallest: dict[str, Fault] = {}
    for fault in faults:
        known = smallest.get(fault.law.id)
        if known is None or _size(fault) < _size(known):
            smallest[fault.law.id] = fault
    for fault in smallest.values():
        file = write_counterexample(fault, declared, folder)
        print(failure_text(fault, declared, connect, file))
    return len(smallest)


def _size(fault: Fault) -> tuple[int, str]:
    return len(fault.program.operations), repr(fault.program)
