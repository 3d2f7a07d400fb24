"""Do known deviations excuse what they name, and nothing else, and never silently?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.connect.fitting import fit
from gate.connect.implementation import BuiltIn, Declaration
from gate.judging.deviations import read_deviations, write_entries
from gate.judging.judge import Judge, laws_of
from gate.judging.subject import Subject
from gate.report.model import Failure, Judged, Report
from properties.test_laws import LAW_IDS, OWN_DEVIATIONS
from reference.errors import InputError
from reference.expert_config import ENGINE_RULES
from reference.laws import EXPERT, ROW, Broken, Law
from reference.program import Load, Prefetch, SetK, plain
from reference.program_text import parse
from reference.row_config import RowCacheConfig

ANYTHING = BuiltIn(ROW).declaration.row_settings

ENTRY = '''
[[deviation]]
id = "a"
laws = ["answers/delivered-bytes"]
reason = "not-yet"
link = "here"
implementation = "x*"
version = "1.*"
expires = 2030-01-01
witness = """
expert-cache v1 entry_bytes=1
begin
"""
'''


def test_the_engines_fault_is_a_deviation_with_a_witness() -> None:
    """The shipped entry matches the reference under the engine's rules, and its witness still fails there."""
    (entry,) = read_deviations(OWN_DEVIATIONS, LAW_IDS)
    engine = BuiltIn(EXPERT, ENGINE_RULES)
    assert entry.matches(engine.declaration)
    assert Subject("builtin:engine", engine, [entry]).still_deviates(entry)
    mended = replace(entry, witness=fit(entry.witness, BuiltIn(EXPERT).declaration))
    assert not Subject("builtin", BuiltIn(EXPERT), [mended]).still_deviates(mended)


def test_what_is_avoided_is_not_drawn_and_every_law_stays() -> None:
    """With `avoid`, no law is excused; programs lose the marks of what is avoided."""
    (entry,) = read_deviations(OWN_DEVIATIONS, LAW_IDS)
    subject = Subject("builtin:engine", BuiltIn(EXPERT, ENGINE_RULES), [entry])
    assert subject.judge().laws == laws_of(subject.implementation.declaration)
    fitted = subject.fitted(entry.witness)
    assert fitted is not None
    assert all(not load.failing for load in fitted.operations if isinstance(load, Load))


def test_without_avoid_the_named_laws_are_excused(tmp_path: Path) -> None:
    """Only those are; all others still judge."""
    (tmp_path / "d.toml").write_text(ENTRY)
    (entry,) = read_deviations(tmp_path / "d.toml", LAW_IDS)
    with_it = Subject("x", BuiltIn(EXPERT), [entry]).judge().laws
    without = Subject("x", BuiltIn(EXPERT)).judge().laws
    assert {law.id for law in without} - {law.id for law in with_it} == {"answers/delivered-bytes"}


def test_an_excused_law_is_skipped_by_name(tmp_path: Path) -> None:
    """It is no law that was never exercised; and what is avoided leaves none either."""
    (tmp_path / "d.toml").write_text(ENTRY)
    (entry,) = read_deviations(tmp_path / "d.toml", LAW_IDS)
    skipped = Subject("x", BuiltIn(EXPERT), [entry]).skipped()
    assert skipped == {"answers/delivered-bytes": "known deviation a"}
    (avoiding,) = read_deviations(OWN_DEVIATIONS, LAW_IDS)
    engine = Subject("builtin:engine", BuiltIn(EXPERT, ENGINE_RULES), [avoiding]).skipped()
    assert engine["answers/failed-read-is-absent"] == "known deviation engine-failed-read"
    assert engine["budget/legal"].startswith("needs budget=cycles")
    assert "answers/delivered-bytes" not in engine


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('id = "a"', "", "id is missing"),
        ("answers/delivered-bytes", "answers/none", "no law answers/none"),
        ("not-yet", "because", "reason because"),
        ("2030-01-01", '"soon"', "expires is missing"),
        ("2030-01-01", "2030-01-01T10:00:00", "expires is missing or of another kind"),
        ('link = "here"', 'link = "here"\nextra = 1', "unknown field extra"),
        ('link = "here"', 'link = "here"\navoid = "work"', "no capability work"),
        ('link = "here"', 'link = "here"\navoid = ["work"]', "no capability ['work']"),
        ("[[deviation]]", "a" + ".a" * 400_000 + " = 1", "more than 256 dots in a line"),
        ("[[deviation]]", "a = " + "[" * 100_000, "recursion"),
        ("[[deviation]]", "a = " + "1" * 5_000, "digits"),
        ("begin", "start", "start is not an operation"),
        ("[[deviation]]", "[deviation", "TOML"),
    ],
)
def test_a_bad_entry_is_unusable(old: str, new: str, told: str, tmp_path: Path) -> None:
    """It is named with the file and what was expected."""
    (tmp_path / "d.toml").write_text(ENTRY.replace(old, new))
    with pytest.raises(InputError, match=r"d\.toml") as error:
        read_deviations(tmp_path / "d.toml", LAW_IDS)
    assert told in str(error.value)


def test_todays_failures_become_entries(tmp_path: Path) -> None:
    """What --write-deviations writes is read again, with the failing program as its witness, whatever the name."""
    tested = Judged("cmd:./x", 'the "x"\n', "1", EXPERT, 3, {}, {}, 1, [])
    program = "expert-cache v1 entry_bytes=1 experts=1 k=1 budget_bytes=0\nbegin\n"
    failure = Failure(EXPERT, "cmd:./x", "budget/legal", "fail", "", program)
    report = Report({}, [tested], [], [failure], [], {}, {}, {}, True)
    write_entries(report, tmp_path / "d.toml")
    (entry,) = read_deviations(tmp_path / "d.toml", LAW_IDS)
    assert entry.laws == ("budget/legal",)
    assert entry.witness == parse(program)


def test_a_program_is_fitted_to_what_is_offered() -> None:
    """Operations that need a missing capability go; the rest stays in its order."""
    program = parse(
        "expert-cache v1 entry_bytes=1 experts=4 k=2 budget_bytes=2\n"
        "begin\nprefetch 0: 1\nprefill 0: 1 2!\nrepeat 3 decode 0: 1@0.5 2@0.5\nend\nk 1\nbudget 4\n"
    )
    bare = fit(program, Declaration("x", "1", EXPERT, capabilities=frozenset({"resize"})))
    kinds = [type(operation).__name__ for operation in bare.operations]
    assert kinds == ["Begin", "Load", "Repeat", "End", "SetBudget"]
    assert not any(isinstance(operation, Prefetch | SetK) for operation in bare.operations)
    assert fit(program, BuiltIn(EXPERT).declaration) == program


def test_a_counterexample_for_a_hash_of_its_own_keeps_its_places() -> None:
    """Shrunk, it still says where each row sits: without that it would not run the same way again."""
    own = replace(BuiltIn(ROW).declaration, row_settings={**ANYTHING, "placement": "own"})

    cache = BuiltIn(ROW)
    cache.declaration = own
    subject = Subject("own", cache)
    evicts = Law(
        "test/nothing-leaves",
        "",
        ROW,
        0,
        lambda case: [
            Broken(at, "0", "more")
            for at, answer in enumerate(case.outcome.answers, 1)
            if answer.counters["evictions"]
        ],
    )
    judge = Judge(cache, [evicts])
    program = subject.fitted(
        parse("row-cache v1 sets=3 ways=1\ngather 5 6 7 8\nrepeat 4 gather 9 10\n")
    )
    assert program is not None
    fault = judge.judge(program)
    assert fault is not None
    small = subject.smallest(judge, fault).program
    rows = {row for operation in small.operations for row in plain(operation).rows}  # type: ignore[union-attr]
    assert isinstance(small.config, RowCacheConfig)
    assert rows == set(small.config.injected_sets)
    assert subject.fitted(small) == small
