"""Does each rung of `cachegate smoke` see what it is about, and say `skip` where it cannot?

Each is climbed by a cache with a bug of just that: at every level, and with each column alone that is to be enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gate.bringup.ladder import LONG, Rung, ladder
from gate.bringup.smoke import climb
from gate.connect.implementation import CRASH, BuiltIn, Declaration, Failure, Implementation
from gate.connect.offers import offers_of
from gate.power.seeded import SeededCache
from properties.dimmed import Dimmed
from reference.backing_store import digest, row_key, value
from reference.expert_config import ExpertConfig
from reference.laws import EXPERT, ROW
from reference.program import (
    Answer,
    Ask,
    AskRows,
    Begin,
    End,
    Gather,
    Load,
    Operation,
    Outcome,
    Program,
    plain,
)
from reference.row_config import RowCacheConfig
from reference.run import run

LEVELS = (0, 1, 2, 3)
COLUMN = "column "


class Mistaken(BuiltIn):
    """The reference with a mistake in how it is run."""

    def __init__(self, cache: str, mistaken: Callable[[Program], Outcome]) -> None:
        super().__init__(cache)
        self.mistaken = mistaken

    def run(self, program: Program) -> Outcome:
        """What comes out."""
        return self.mistaken(program)


def other_answers(change: Callable[[Operation, Answer], Answer]) -> Callable[[Program], Outcome]:
    """The reference, its answers changed."""

    def mistaken(program: Program) -> Outcome:
        outcome = run(program)
        pairs = zip(program.operations, outcome.answers, strict=True)
        return replace(outcome, answers=tuple(change(*pair) for pair in pairs))

    return mistaken


def no_reads(_: Operation, answer: Answer) -> Answer:
    """No byte is ever read."""
    reads = {name: 0 for name in answer.counters if name.endswith("read_bytes")}
    read_bytes = None if answer.read_bytes is None else 0
    return replace(answer, counters={**answer.counters, **reads}, read_bytes=read_bytes)


def nobody_there(operation: Operation, answer: Answer) -> Answer:
    """Nobody is told to be resident."""
    asks = isinstance(plain(operation), Ask | AskRows)
    return replace(answer, hits=(False,) * len(answer.hits or ())) if asks else answer


def in_ascending_order(operation: Operation, answer: Answer) -> Answer:
    """Rows are delivered in the order of their ids."""
    act = plain(operation)
    if not isinstance(act, Gather):
        return answer
    rows = sorted(set(act.rows))
    return replace(answer, digest=digest(value(row_key(act.table, row)) for row in rows))


def hits_at_first_sight(operation: Operation, answer: Answer) -> Answer:
    """Every row hits."""
    counters = {**answer.counters, "hits": answer.counters["lookups"], "misses": 0, "added": 0}
    hits = tuple(True for _ in answer.hits or ())
    gathers = isinstance(plain(operation), Gather)
    return replace(answer, counters=counters, hits=hits) if gathers else answer


def never_begins(program: Program) -> Outcome:
    """Every begin is taken for an end."""
    changed = (End() if act == Begin() else act for act in program.operations)
    return run(Program(program.config, tuple(changed)))


def wraps_ids(program: Program) -> Outcome:
    """An id beyond the layer's experts is taken for one of them."""
    experts = 4
    changed = (
        replace(act, experts=tuple(expert % experts for expert in act.experts))
        if isinstance(act, Load)
        else act
        for act in program.operations
    )
    return run(Program(program.config, tuple(changed)))


def repeats_once(program: Program) -> Outcome:
    """A repeat is carried out once."""
    return run(Program(program.config, tuple(map(plain, program.operations))))


def with_config(**changes: object) -> Callable[[Program], Outcome]:
    """Opened otherwise than asked."""

    def mistaken(program: Program) -> Outcome:
        config: ExpertConfig | RowCacheConfig = replace(program.config, **changes)  # type: ignore[arg-type]
        return run(Program(config, program.operations))

    return mistaken


def crashes(when: Callable[[Program], bool]) -> Callable[[Program], Outcome]:
    """It ends on some programs."""

    def mistaken(program: Program) -> Outcome:
        if when(program):
            raise Failure(CRASH, "exited with code 1")
        return run(program)

    return mistaken


def is_long(program: Program) -> bool:
    """As long as the last rung."""
    return len(program.operations) >= LONG


def gathers_nothing(program: Program) -> bool:
    """Has it a gather without a row?"""
    return any(isinstance(act, Gather) and not act.rows for act in program.operations)


ABOUT: dict[str, dict[str, str | Callable[[Program], Outcome]]] = {
    EXPERT: {
        "opens a cache": "C-E47",
        "begins and ends a generation": never_begins,
        "reads an expert it has not": other_answers(no_reads),
        "keeps it: the second load hits": with_config(budget_bytes=0),
        "delivers every slot in routing order": "C-E121",
        "skips ids the layer does not have": wraps_ids,
        "tells who is resident": other_answers(nobody_there),
        "counts its turns": "C-E55",
        "counts the token demand": "C-E48",
        "refuses outside a generation": "C-E109",
        "refuses inside a generation": "C-E104",
        "refuses layers without experts": "C-E112",
        "evicts the least recent": "O-E27",
        "keeps a batch larger than the budget": "C-E12",
        "reads an expert again whose slot another had": "C-E116",
        "repeats an operation": repeats_once,
        "is off without a budget": "O-E10",
        "shrinks and grows": "O-E11",
        "changes the top-k": "C-E34",
        "prefetches": "C-E71",
        "retains": "C-E57",
        "survives a failed read": "C-E85",
        "drops cold experts": "C-E100",
        "gives each layer its slice": "C-E15",
        "takes a long program": crashes(is_long),
    },
    ROW: {
        "opens a cache": "C-R58",
        "reads a row it has not": other_answers(hits_at_first_sight),
        "keeps it: the second gather hits": with_config(sets=(0,)),
        "counts a row once a gather": "O-R07",
        "delivers each row in order of first occurrence": other_answers(in_ascending_order),
        "answers an empty gather": crashes(gathers_nothing),
        "tells who is resident": other_answers(nobody_there),
        "admits at equal use and evicts the least recent": "O-R20",
        "evicts the least used": "O-R09",
        "refuses a row used less": "C-R24",
        "looks up before it inserts": "C-R21",
        "lets its counts saturate": "O-R15",
        "refuses a table it does not have": "C-R65",
        "keeps nothing without sets": with_config(sets=(1,)),
        "reads a row again whose slot another had": "O-R02",
        "serves two tables": "C-R15",
        "chooses between two sets": "O-R26",
        "places rows as told": with_config(injected_sets={}),
        "halves its counts": with_config(halve_every=None),
        "reads ahead": "C-R46",
        "holds pinned rows": "C-R52",
        "takes a long program": crashes(is_long),
    },
}
"""A rung -> a seeded bug, or a mistake, of just what the rung is about."""


def mistaken(cache: str, title: str) -> Implementation:
    """The cache with the bug that a rung is about."""
    bug = ABOUT[cache][title]
    return SeededCache(bug) if isinstance(bug, str) else Mistaken(cache, bug)


def every_column(cache: str) -> frozenset[str]:
    """The columns of a cache."""
    offers = offers_of(BuiltIn(cache).declaration)
    return frozenset(what.removeprefix(COLUMN) for what in offers if what.startswith(COLUMN))


RUNGS = [(cache, rung) for cache in (EXPERT, ROW) for rung in ladder(cache)]
each_rung = pytest.mark.parametrize(
    "cache, rung", RUNGS, ids=[f"{cache} {rung.title}" for cache, rung in RUNGS]
)


def seen(cache: str, rung: Rung, **changes: object) -> tuple[str, str]:
    """The rung's verdict on the cache with the bug, and on the reference, declared like this."""
    wrong, right = mistaken(cache, rung.title), BuiltIn(cache)
    declared: Declaration = replace(wrong.declaration, **changes)  # type: ignore[arg-type]
    return climb(Dimmed(wrong, declared), rung)[0], climb(Dimmed(right, declared), rung)[0]


@each_rung
def test_a_rung_never_passes_over_what_it_is_about(cache: str, rung: Rung) -> None:
    """At each level it fails, or is skipped and says what is needed; the reference passes, or is skipped alike."""
    for level in LEVELS:
        wrong, right = seen(cache, rung, level=level, columns=every_column(cache))
        assert wrong == right if wrong.startswith("skip: needs") else wrong in ("fail", CRASH)
        assert right in ("pass", wrong)
    assert wrong in ("fail", CRASH)


@each_rung
def test_each_column_that_is_enough_is_enough(cache: str, rung: Rung) -> None:
    """At level 0, with nothing but one of the columns that the rung is said to be seen by."""
    for alternative in rung.needs:
        column = alternative[-1].removeprefix(COLUMN)
        if alternative[-1].startswith(COLUMN):
            verdicts = seen(cache, rung, level=0, columns=frozenset((column,)))
            assert verdicts == ("fail", "pass"), column


@each_rung
def test_results_are_enough_where_they_are_said_to_be(cache: str, rung: Rung) -> None:
    """At level 1, without any counter that the gate knows."""
    if any(alternative[-1] == "level 1" for alternative in rung.needs):
        assert seen(cache, rung, level=1, columns=frozenset()) == ("fail", "pass")


def test_an_own_hash_skips_what_hangs_on_places() -> None:
    """Which of two sets a row has is not known then, so that no correct cache is called wrong."""
    declared = BuiltIn(ROW).declaration
    own = replace(
        declared,
        capabilities=declared.capabilities - {"injected-placement"},
        row_settings=declared.row_settings | {"placement": "own"},
        columns=every_column(ROW),
    )
    other = with_config(hash_seed=7)
    verdicts = {
        rung.title: climb(Dimmed(Mistaken(ROW, other), own), rung)[0] for rung in ladder(ROW)
    }
    assert verdicts["chooses between two sets"] == "skip: needs known-places"
    assert verdicts["places rows as told"] == "skip: needs injected-placement"
    assert set(verdicts.values()) - {"pass"} == {
        *("skip: needs known-places", "skip: needs injected-placement")
    }
