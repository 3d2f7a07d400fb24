"""How are programs judged in bulk? By what must add up in the end, and by the fast engines of replay/.

The engines alone are held to the sums, and a share of their runs to the reference. An implementation runs every program
and is held to the sums by its own counters, and to the engine. What is wrong is then judged as one program, so that the
law that broke is known: that of the reference beside the implementation, a law of its counters, or, when the reference
agrees with the implementation, that of the engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gate.bulk.engine_laws import ENGINE_LAWS, Runs, engines_for, final, first_difference, runs_of
from gate.bulk.expert_draws import draw_expert_runs
from gate.bulk.faults import plain
from gate.bulk.lockstep import is_reference
from gate.bulk.row_draws import draw_row_runs
from gate.bulk.work import Judged, opened
from gate.connect.implementation import Failure
from gate.judging.judge import EVERY_OPERATION_ANSWERS, LOCKSTEP, Fault, Judge, laws_of
from gate.judging.subject import Subject
from reference.expert_config import EXACT_BYTES, Rules
from reference.laws import EXPERT, Broken
from reference.program import Program
from reference.run import run

SHARE = 50
"""Every so manieth run is also given to the reference, and to all engines."""

LAYER_SHARE = 0.25
"""Share of the bulks of an expert cache under policy layer, where it has that."""


@dataclass(frozen=True, slots=True)
class BulkPrograms:
    """Programs drawn by numpy from one seed.

    `connect` names what runs them; the reference stands for the engines alone.
    """

    connect: str
    cache: str
    rules: Rules
    seed: int
    count: int

    def judge(self) -> Judged:
        """Judge them all; of what is wrong, the first."""
        draw = np.random.default_rng(self.seed)
        subject = opened(self.connect, self.cache)
        if is_reference(self.connect):
            return judge_engines(self._drawn(draw, subject), self.seed)
        return judge_implementation(self._drawn(draw, subject), subject, self.seed)

    def _drawn(self, draw: np.random.Generator, subject: Subject) -> Runs:
        if self.cache != EXPERT:
            return draw_row_runs(draw, self.count)
        rules = self.rules
        if is_reference(self.connect) and draw.random() < 0.5:
            rules = EXACT_BYTES
        has_layer = "policy-layer" in subject.declared.capabilities
        by_layer = has_layer and draw.random() < LAYER_SHARE
        return draw_expert_runs(draw, self.count, rules, "layer" if by_layer else "lru")


def judge_engines(runs: Runs, seed: int, share: int = SHARE) -> Judged:
    """The engines alone: all runs by the sums, every `share`-th beside the reference."""
    for what, wrong in runs.broken(runs.counted(runs.engines()[0])):
        return _told(Judged(len(runs)), runs.program(int(wrong[0])), None, what, seed)
    sample = [runs.program(at) for at in range(seed % share, len(runs), share)]
    judged = Judged(len(runs), more=len(sample))
    unlike = unlike_the_reference(sample)
    what = "the engines count otherwise than the reference"
    return judged if unlike is None else _told(judged, unlike, None, what, seed)


def unlike_the_reference(programs: Sequence[Program], engines: int | None = None) -> Program | None:
    """The first program that one of the first so many engines counts otherwise than the reference."""
    if not programs:
        return None
    runs, expected = runs_of(programs), [final(run(program)) for program in programs]
    for engine in runs.engines()[:engines]:
        at = first_difference(expected, runs.counted(engine))
        if at is not None:
            return programs[at]
    return None


def judge_implementation(runs: Runs, subject: Subject, seed: int) -> Judged:
    """An implementation: all programs it can be given, by the sums and beside the fast engine."""
    programs = list(runs.programs())
    fitted = [subject.fitted(program) for program in programs]
    taken = [program for program in fitted if program is not None]
    judged = Judged(len(taken), len(programs) - len(taken))
    answered: list[Mapping[str, int]] = []
    for program in taken:
        try:
            answered.append(final(subject.implementation.run(program)))
        except Failure as failure:
            fault = _unanswered(program, failure)
            return replace(judged, programs=len(answered) + 1, fault=plain(fault))
    if not taken:
        return judged
    if [program.config for program in taken] != [program.config for program in programs]:
        runs = runs_of(taken)
    for what, at in _wrong(runs, answered, subject):
        return _told(judged, taken[at], subject, what, seed)
    return judged


def _wrong(
    runs: Runs, answered: Sequence[Mapping[str, int]], subject: Subject
) -> Iterator[tuple[str, int]]:
    """What is wrong with the counters of an implementation, and in which run first."""
    names = set(answered[0]).intersection(*answered)
    counted = {name: np.array([each[name] for each in answered]) for name in sorted(names)}
    for what, wrong in runs.broken(counted):
        yield what, int(wrong[0])
    if subject.declared.places_are_known:
        at = first_difference(answered, runs.counted(runs.engines()[0]))
        if at is not None:
            yield "the fast engine counts otherwise", at


def _unanswered(program: Program, failure: Failure) -> Fault:
    broken = Broken(0, "an answer to every operation", failure.detail)
    return Fault(EVERY_OPERATION_ANSWERS, failure.verdict, program, broken)


def _told(
    judged: Judged, program: Program, subject: Subject | None, what: str, seed: int
) -> Judged:
    """The same with the law that a program breaks on its own."""
    fault = fault_of(program, subject)
    if fault is not None:
        return replace(judged, fault=plain(fault))
    return replace(judged, odd=f"{what}, in bulk {seed} and on no program of it alone")


def fault_of(program: Program, subject: Subject | None) -> Fault | None:
    """The law a program breaks: beside the reference first, then any other, then that of the engines."""
    engines = engines_for(program)
    attempts = [(engines, [ENGINE_LAWS[engines.declared.cache]])]
    if subject is not None:
        laws = laws_of(subject.implementation.declaration)
        beside = [law for law in laws if law.id in LOCKSTEP]
        attempts = [(subject, beside), (subject, laws), *attempts]
    faults = (Judge(tried.implementation, laws).judge(program) for tried, laws in attempts)
    return next((fault for fault in faults if fault is not None), None)
