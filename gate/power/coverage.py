"""Which situations do the generated programs reach, and how often? Told from the reference's answers to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gate.power import expert_situations, row_situations
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT, ROW
from reference.program import Program

SITUATIONS = {EXPERT: expert_situations.SITUATIONS, ROW: row_situations.SITUATIONS}
"""By cache: the name of each situation, and what it is."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How often one situation was reached.

    Args:
        name: the situation.
        programs: in how many programs.
        times: how often in all.
    """

    name: str
    programs: int
    times: int


def coverage(cache: str, programs: Iterable[Program]) -> list[Reached]:
    """How often programs of one kind of cache reach each of its situations; the rarest first."""
    in_programs, times = Counter[str](), Counter[str]()
    for program in programs:
        seen = Counter(situations(program))
        times.update(seen)
        in_programs.update(seen.keys())
    found = [Reached(name, in_programs[name], times[name]) for name in SITUATIONS[cache]]
    return sorted(found, key=lambda reached: (reached.programs, reached.times))


def situations(program: Program) -> Iterator[str]:
    """The situations of one program, each as often as it is reached."""
    if isinstance(program.config, ExpertConfig):
        return expert_situations.situations(program)
    return row_situations.situations(program)
