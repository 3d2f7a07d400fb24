"""What does the gate catch of one bug in one run, after how many cases, in what time, from each view?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context

from fixtures.seeded_bugs import BUGS, VARIANTS
from gate.connect.implementation import BUILT_IN_RULES, BuiltIn, Implementation
from gate.judging.judge import Judge
from gate.power.cases import DERANDOMIZED, MOST_CASES, cases
from gate.power.seeded import SeededCache, Variant
from gate.power.trial import Trial
from gate.power.views import GATE, VIEWS, View
from gate.show import Progress
from reference.laws import EXPERT, ROW


@dataclass(frozen=True, slots=True)
class Caught:
    """The first broken law.

    Args:
        law: its id.
        case: number of the case, from 1.
        family: the family the case was made from.
        cpu_s: CPU-seconds spent making and judging this case and all before it; 0 where not taken.
    """

    law: str
    case: int
    family: str
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Score:
    """One bug in one run.

    Args:
        bug: its id.
        seed: the run.
        by_view: view id to what was caught; None where nothing was.
    """

    bug: str
    seed: int
    by_view: dict[str, Caught | None]


def score(bug_id: str, seed: int, views: Sequence[View] = VIEWS) -> Score:
    """Try a bug from each view until it is caught."""
    cache = BUGS[bug_id].cache
    by_view: dict[str, Caught | None] = {view.id: None for view in views if cache in view.floors}
    if GATE.id in by_view:
        by_view[GATE.id] = as_the_gate_does(bug_id, seed)
    others = [view for view in views if view.id in by_view and view != GATE]
    return Score(bug_id, seed, by_view | _others(bug_id, seed, others))


def as_the_gate_does(bug_id: str, seed: int) -> Caught | None:
    """Judge case after case with every law, and take the time."""
    bug = BUGS[bug_id]
    judge = Judge.of(SeededCache(bug))
    cpu_s = 0.0
    for number, case in enumerate(cases(bug.cache, bug.rules, seed), 1):
        start = time.process_time()
        fault = judge.judge(case.program)
        cpu_s += case.make_s + time.process_time() - start
        if fault is not None:
            return Caught(fault.law.id, number, case.family, cpu_s)
    return None


def _others(bug_id: str, seed: int, views: Sequence[View]) -> dict[str, Caught | None]:
    """The same from other views, untimed, and without the long programs."""
    bug = BUGS[bug_id]
    found: dict[str, Caught | None] = {}
    for number, case in enumerate(cases(bug.cache, bug.rules, seed), 1):
        waiting = [view for view in views if view.id not in found and number <= view.cases]
        if not waiting:
            break
        if case.is_long:
            continue
        trial = Trial.of(SeededCache(bug), case, number)
        for view in waiting:
            seen = trial.with_own_hash(case) if view.own_hash else trial
            law = view.first_broken(seen)
            if law is not None:
                found[view.id] = Caught(law, number, case.family, 0.0)
    return found


def unmodified() -> list[Implementation]:
    """What must be clean: the reference under each set of rules, and the correct variants bugs are made from."""
    made: list[Implementation] = [BuiltIn(EXPERT, rules) for rules in BUILT_IN_RULES.values()]
    made.append(BuiltIn(ROW))
    return [*made, *(Variant(part, cache) for cache, part in VARIANTS)]


def false_alarms(seed: int, most_cases: int = MOST_CASES) -> list[str]:
    """What the gate says of the unmodified implementations in one run: nothing, if it is right.

    The long programs are the same in every run, and judged in the derandomized one.
    """
    alarms = []
    for implementation in unmodified():
        declared = implementation.declaration
        judge = Judge.of(implementation)
        tried = cases(declared.cache, declared.rules, seed)[:most_cases]
        for number, case in enumerate(tried, 1):
            if case.is_long and seed != DERANDOMIZED:
                continue
            fault = judge.judge(case.program)
            if fault is not None:
                alarms.append(f"{declared.name}, seed {seed}, case {number}: {fault.law.id}")
    return alarms


# --- many at once ---------------------------------------------------------------------------------


def scores(
    bugs: Iterable[str], seeds: Sequence[int], views: Sequence[View], workers: int
) -> tuple[list[Score], list[str]]:
    """All scores, over some processes; where every bug is tried, the false alarms as well."""
    chosen = list(bugs)
    unmodified_too = [""] if set(chosen) == BUGS.keys() else []
    units: list[tuple[str, int, Sequence[str]]] = [
        (bug, seed, [view.id for view in views])
        for seed in seeds
        for bug in (*unmodified_too, *chosen)
    ]
    done: list[Score] = []
    alarms: list[str] = []
    progress = Progress("bugs tried", len(units))
    for result in _over_processes(units, workers):
        progress.step()
        if isinstance(result, Score):
            done.append(result)
        else:
            alarms += result
    progress.close()
    return done, alarms


def _over_processes(
    units: Sequence[tuple[str, int, Sequence[str]]], workers: int
) -> Iterator[Score | list[str]]:
    if workers < 2:
        yield from map(_unit, units)
        return
    with get_context("fork").Pool(workers) as pool:
        yield from pool.imap(_unit, units, chunksize=4)


def _unit(unit: tuple[str, int, Sequence[str]]) -> Score | list[str]:
    bug, seed, views = unit
    return score(bug, seed, [v for v in VIEWS if v.id in views]) if bug else false_alarms(seed)
