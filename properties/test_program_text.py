"""Does a program text say exactly one program, and is a text that says none refused by line and column?"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import expert_programs, row_programs
from fixtures.any_operations import EXPERT_OPERATIONS, ROW_OPERATIONS, repeated
from fixtures.profiles import SEEDS
from gate.cli import main
from gate.connect.implementation import BUILT_IN_RULES
from reference.errors import InputError
from reference.expert_config import Dropping, ExpertConfig, Rules
from reference.expert_session import REFUSALS
from reference.program import Load, Operation, Program, Repeat
from reference.program_text import MAX_LINES, MAX_WORK, format_program, parse
from reference.row_config import RowCacheConfig
from reference.run import run
from reference.sizing import ModelShape
from reference.text_line import MAX_WORDS

HEADER = "expert-cache v1 entry_bytes=2,3,- experts=4 k=2 budget_bytes=10"

# Both ways


@pytest.mark.parametrize("rules", BUILT_IN_RULES.values(), ids=BUILT_IN_RULES.keys())
@given(seed=SEEDS, family=st.sampled_from(sorted(expert_programs.FAMILIES)))
def test_programs_of_the_expert_cache_come_back(rules: Rules, seed: int, family: str) -> None:
    """What is written is read as the same program, for every family and set of rules."""
    program = expert_programs.expert_program(Random(seed), family, rules)
    assert parse(format_program(program)) == program


@given(seed=SEEDS, family=st.sampled_from(sorted(row_programs.FAMILIES)))
def test_programs_of_the_row_cache_come_back(seed: int, family: str) -> None:
    """The same for the row cache, with its placements."""
    program = row_programs.row_program(Random(seed), family)
    assert parse(format_program(program)) == program


EXPERT = ExpertConfig(ModelShape((3, 0, 5), (4, 1, 2), 2), 16, dropping=Dropping(0.5, True))
ROW = RowCacheConfig(sets=(2, 1), ways=2, sketch_width=8, halve_every=3)


@given(operations=st.lists(repeated(EXPERT_OPERATIONS), max_size=6))
def test_every_operation_of_the_expert_cache_comes_back(operations: list[Operation]) -> None:
    """With any ids, weights and numbers a text can hold."""
    program = Program(EXPERT, tuple(operations))
    assert parse(format_program(program)) == program


@given(operations=st.lists(repeated(ROW_OPERATIONS), max_size=6))
def test_every_operation_of_the_row_cache_comes_back(operations: list[Operation]) -> None:
    """With any rows and tables."""
    program = Program(ROW, tuple(operations))
    assert parse(format_program(program)) == program


def test_space_comments_and_line_ends_say_nothing() -> None:
    """Blank lines, tabs, `#` to the end of a line, CRLF."""
    text = f"# a case\n\n{HEADER}   # the model\r\n\tbegin\n  prefill 0:  3   1 # two\n"
    assert parse(text) == parse(f"{HEADER}\nbegin\nprefill 0: 3 1")


def test_defaults_are_left_out() -> None:
    """A small program is a small text."""
    program = Program(ExpertConfig(ModelShape((1,), (2,), 1), 2), (Load(0, (1, 0)),))
    header = "expert-cache v1 entry_bytes=1 experts=2 k=1 budget_bytes=2"
    assert format_program(program) == f"{header}\ndecode 0: 1 0\n"


# What is refused


@pytest.mark.parametrize(
    "operation, column, problem",
    [
        ("jump 0", 1, "jump is not an operation of this cache"),
        ("gather 1", 1, "gather is not an operation of this cache"),
        ("decode", 1, "the line ends too early"),
        ("decode 0", 8, "0 has no colon behind it"),
        ("decode 0 1", 8, "0 has no colon behind it"),
        ("decode : 1", 8, "is not a whole number"),
        ("decode -1: 1", 8, "-1 is not a whole number"),
        ("decode 0: x", 11, "x is no expert"),
        ("decode 0: 1 2,3", 13, "2,3 is no expert"),
        ("decode 0: 1@", 11, "1@ is no expert"),
        ("decode 0: 1@nan", 11, "1@nan is no expert"),
        ("decode 0: 1@1e999", 11, "1e999 is not a router weight"),
        ("decode 0: 1@--1", 11, "--1 is not a router weight"),
        ("decode 0: 1@0.5 2", 17, "some ids have a router weight"),
        ("decode 0: 18446744073709551616", 11, "out of range"),
        (f"decode 0: {10**30}", 11, "is no expert"),
        ("ask 4294967297: 1", 5, "out of range"),
        ("ask 0: ٣", 8, "is not a whole number"),
        ("retain 0: 1!", 11, "1! is not a whole number"),
        ("budget", 1, "the line ends too early"),
        ("budget -1", 8, "-1 is not a whole number"),
        ("budget 1.5", 8, "1.5 is not a whole number"),
        (f"budget {10**30}", 8, "is not a whole number"),
        ("budget 1 2", 10, "2 is too much"),
        ("k 0", 3, "0 is out of range"),
        ("begin now", 7, "now is too much"),
        ("repeat", 1, "the line ends too early"),
        ("repeat 0 begin", 8, "0 is out of range"),
        ("repeat 65537 begin", 8, "65537 is out of range"),
        (f"repeat {10**30} begin", 8, "is not a whole number"),
        ("repeat 2", 8, "the line ends too early"),
        ("repeat 2 repeat 2 begin", 10, "repeat is not an operation"),
        ("\0begin", 1, r"\\x00begin is not an operation"),
        ("décode 0: 1", 1, "is not an operation"),
    ],
)
def test_an_operation_that_cannot_be_read_is_refused(
    operation: str, column: int, problem: str
) -> None:
    """The error names the file, the line, the column of the word, what is wrong and what would be right."""
    with pytest.raises(InputError, match=problem) as refused:
        parse(f"{HEADER}\nbegin\n{operation}\nend\n", "small.prog")
    error = refused.value
    assert (error.source, error.line, error.column) == ("small.prog", 3, column)
    assert error.expected
    assert str(error).startswith(f"small.prog:3:{column}: ")


@pytest.mark.parametrize(
    "header, column, problem",
    [
        ("cache v1", 1, "unknown cache cache"),
        ("expert-cache", 1, "the line ends too early"),
        ("expert-cache v2 entry_bytes=1", 14, "version v2 is not known"),
        ("expert-cache v1", 14, "entry_bytes is missing"),
        ("row-cache v1", 11, "sets is missing"),
        ("expert-cache v1 entry_bytes", 17, "is not a setting of this cache"),
        ("expert-cache v1 entry_bytes=1 ways=2", 31, "ways=2 is not a setting of this cache"),
        ("expert-cache v1 entry_bytes=1 k=1 k=2", 35, "k=2 is given twice"),
        ("expert-cache v1 entry_bytes=", 17, "is not a whole number"),
        ("expert-cache v1 entry_bytes=1,,2", 17, "is not a whole number"),
        ("expert-cache v1 entry_bytes=1e3", 17, "1e3 is not a whole number"),
        (f"expert-cache v1 entry_bytes={10**30}", 17, "is not a whole number"),
        (f"expert-cache v1 entry_bytes={','.join('1' * 5000)}", 17, "the list is too long"),
        ("expert-cache v1 entry_bytes=1 budget_bytes=x", 31, "x is not a whole number"),
        ("expert-cache v1 entry_bytes=1,2 experts=1,2,3", 1, "2 entry sizes for 3 expert counts"),
        ("expert-cache v1 entry_bytes=1 k=0", 1, "k is 1 or more"),
        ("expert-cache v1 entry_bytes=1 policy=mru", 1, "unknown policy mru"),
        ("expert-cache v1 entry_bytes=1 policy=belady", 1, "belady needs the future"),
        ("expert-cache v1 entry_bytes=1 zero_rule=maybe", 1, "shrink_to_zero is one of"),
        ("expert-cache v1 entry_bytes=1 drop_fraction=2", 1, "the drop fraction lies in"),
        ("expert-cache v1 entry_bytes=1 drop_fraction=nan", 31, "nan is not a number"),
        ("expert-cache v1 entry_bytes=1 drop_fraction=x", 31, "x is not a number"),
        ("expert-cache v1 entry_bytes=1 drop_in_prefill=1", 31, "1 is neither yes nor no"),
        ("row-cache v1 sets=1 admission=maybe", 21, "maybe is neither yes nor no"),
        ("row-cache v1 sets=1 ways=0", 1, "ways: expected"),
        ("row-cache v1 sets=1\nplace 1", 7, "the line ends too early"),
        ("row-cache v1 sets=1\nplace 1 rows 0", 9, "rows cannot be placed"),
    ],
)
def test_a_configuration_that_cannot_be_opened_is_refused(
    header: str, column: int, problem: str
) -> None:
    """Before any operation is read; the column is that of the setting, or 1 where it is about several."""
    with pytest.raises(InputError, match=problem) as refused:
        parse(f"# a case\n{header}\nnonsense", "small.prog")
    assert refused.value.line == 2 + header.count("\n")
    assert refused.value.column == column


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", " \t\r\n"])
def test_a_text_without_a_program_is_refused(text: str) -> None:
    """It says what a program begins with."""
    with pytest.raises(InputError, match=r"no program here\n.*expert-cache v1"):
        parse(text)


# Hostile texts

MANY = "expert-cache v1 entry_bytes=1 experts=1000000 budget_bytes=1000000 budget_rule=bytes"
IDS = " ".join(map(str, range(50_000)))


@pytest.mark.parametrize(
    "text, problem",
    [
        (f"{HEADER}\ndecode 0:" + " 1" * 1_000_000, "the line is too long"),
        (f"{HEADER}\n" + ("ask 0:" + " 1" * 30_000 + "\n") * 5, "the text is too long"),
        (f"{HEADER}\n" + "\n" * (MAX_LINES + 1), f"more than {MAX_LINES} lines"),
        (f"{HEADER}\n" + "repeat 65536 decode 0: 0 1 2 3\n" * 99, "too much work"),
        (f"{MANY}\nbegin\nprefill 0: {IDS}\n" + "end\n" * 9_999, "too much work"),
        (f"{MANY}\nbegin\nprefill 0: {IDS}\nrepeat 65536 decode 0: 1", "too much work"),
        (f"{MANY} policy=lfu\nbegin\nprefill 0: {IDS}\nend\nbudget 1", "too much work"),
        ("row-cache v1 sets=1 ways=65536\ngather " + IDS, "too much work"),
        ("row-cache v1 sets=1099511627776 ways=65536\ngather " + IDS, "too much work"),
        ("row-cache v1 sets=1 halve_every=1\nrepeat 65536 gather 1", "too much work"),
        (f"row-cache v1 sets={'1,' * 255}1 sketch_width=67108864", "sketch cells of all tables"),
        (
            "row-cache v1 sets=1 sketch_width=1 sketch_rows=268435456",
            "sketch_rows: expected at most",
        ),
        (f"row-cache v1 sets={'1,' * 999}1", "sets: expected 1 to 256 tables"),
        (f"{HEADER} policy=\x1b[31m{'x' * 1_000_000}", r"unknown policy \\x1b\[31mx"),
        ("x" * 5_000_000, "unknown cache x"),
        ("\0" * 1_000_000, r"unknown cache \\x00"),
        (f"expert-cache v1 entry_bytes={'1,' * 1_000_000}1", "the list is too long"),
        (f"{HEADER}\nbudget {'9' * 1_000_000}", "is not a whole number"),
        (f"{HEADER}\ndecode 0: 0@{'9' * 1_000_000}", "is no expert"),
    ],
    ids=[
        *("words", "texts", "lines", "repeats", "answers", "residents", "victims", "ways", "sets"),
        *("halvings", "sketches", "arrays", "tables", "policy"),
        *("word", "nul", "layers", "digits", "weight"),
    ],
)
def test_a_hostile_text_is_refused(text: str, problem: str) -> None:
    """Long lines, lists and numbers, many lines and repeats: refused by name, in a message that stays short."""
    with pytest.raises(InputError, match=problem) as refused:
        parse(text)
    assert len(str(refused.value)) < 1000


def test_what_is_not_hostile_is_carried_out() -> None:
    """The bounds hold a batch of a long prompt, and a repeat of the longest kind."""
    prompt = "prefill 0: " + "0 1 2 3 " * 16_384
    assert parse(f"{HEADER}\n{prompt}\nrepeat 65536 decode 0: 0 1")
    assert len(prompt.split()) < MAX_WORDS < MAX_WORK


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"expert-cache v1\n\xff", ":2: a byte that is not ASCII"),
        (b"\x1f\x8b\x08\0", ":1: is gzip data"),
        (b"#" * (1 << 24) + b"#", ": too long for a program"),
    ],
    ids=["bytes", "gzip", "long"],
)
def test_a_file_that_is_no_program_is_unusable(
    tmp_path: Path, data: bytes, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`cachegate replay` exits with 2, names file and line, and prints no step."""
    file = tmp_path / "small.prog"
    file.write_bytes(data)
    assert main(["replay", str(file)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"cachegate: {file}{problem}")


def test_what_is_no_file_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, a missing file and a pipe that nobody writes to: exit code 2 and the reason, at once."""
    os.mkfifo(tmp_path / "pipe.prog")
    for path, reason in (
        (tmp_path, "is a directory"),
        (tmp_path / "none.prog", "cannot be read: No such file"),
        (tmp_path / "pipe.prog", "is not a regular file"),
    ):
        assert main(["replay", str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"cachegate: {path}: {reason}")


# Every operation answers


@given(
    operations=st.lists(repeated(EXPERT_OPERATIONS | ROW_OPERATIONS), max_size=12),
    off=st.booleans(),
)
def test_any_operation_in_any_state_answers(operations: list[Operation], off: bool) -> None:
    """With a result, or with a refusal by name that changes no counter and no residency."""
    config = ExpertConfig(EXPERT.shape, 0 if off else 16, dropping=EXPERT.dropping)
    outcome = run(Program(config, tuple(operations)))
    assert len(outcome.answers) == len(operations)
    before = outcome.opened
    for operation, answer in zip(operations, outcome.answers, strict=True):
        assert answer.refusal in ("", *REFUSALS)
        if answer.refusal and not isinstance(operation, Repeat):
            assert (answer.counters, answer.order) == (before.counters, before.order)
        before = answer
