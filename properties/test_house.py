"""Is the house as CONTRIBUTING.md says: imports point one way, every file says what it answers, none grows too long?"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "reference": {"reference"},
    "replay": {"reference", "replay"},
    "fixtures": {"reference", "replay", "fixtures"},
    "gate": {"reference", "replay", "fixtures", "gate"},
    "properties": {"reference", "replay", "fixtures", "gate", "properties"},
    "regressions": {"reference", "replay", "fixtures", "gate", "regressions"},
}
"""Room -> the rooms it may import from."""

FILES = sorted(file for room in MAY_IMPORT for file in (ROOT / room).rglob("*.py"))
MAX_LINES = 400


@dataclass(frozen=True, slots=True)
class Facts:
    """What is looked at in a file.

    roots: the first name of every module it imports, wherever in the file; "." for a relative import. silent: the tests
    without a docstring.
    """

    roots: frozenset[str]
    has_docstring: bool
    silent: tuple[str, ...]
    lines: int


@cache
def facts(file: Path) -> Facts:
    """The facts of one file."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    roots: set[str] = set()
    silent = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            roots.add("." if node.level else (node.module or "").partition(".")[0])
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            silent += [] if ast.get_docstring(node) else [node.name]
    has_docstring = not tree.body or ast.get_docstring(tree) is not None
    return Facts(frozenset(roots), has_docstring, tuple(silent), text.count("\n"))


def in_room(room: str) -> list[Path]:
    """The files of one room."""
    return [file for file in FILES if file.relative_to(ROOT).parts[0] == room]


def named(file: Path) -> str:
    """A file as it is named in the house."""
    return str(file.relative_to(ROOT))


def test_the_rooms_are_there() -> None:
    """Each holds files, so what follows judges something."""
    assert all(in_room(room) for room in MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_one_way(room: str) -> None:
    """reference <- replay <- fixtures <- gate <- properties, regressions; and never by a relative import."""
    others = {".", *MAY_IMPORT} - MAY_IMPORT[room]
    wrong = {named(file): facts(file).roots & others for file in in_room(room)}
    assert {file: roots for file, roots in wrong.items() if roots} == {}


def test_the_reference_needs_nothing_but_python() -> None:
    """No third-party package, hence neither pytest nor hypothesis nor numpy: whoever has Python can run it."""
    allowed = {*sys.stdlib_module_names, "reference"}
    for file in in_room("reference"):
        assert facts(file).roots <= allowed, named(file)


@pytest.mark.parametrize("room", ["reference", "replay"])
def test_no_test_tool_below_the_fixtures(room: str) -> None:
    """pytest and Hypothesis are for those who try things, not for those who compute them."""
    for file in in_room(room):
        assert not {"pytest", "hypothesis"} & facts(file).roots, named(file)


def test_every_file_says_which_question_it_answers() -> None:
    """A docstring stands at its head; an empty __init__.py needs none."""
    assert [named(file) for file in FILES if not facts(file).has_docstring] == []


def test_every_test_states_its_fact() -> None:
    """The docstring of a test is the sentence that it proves."""
    tests = [file for file in FILES if file.name.startswith("test_")]
    assert {named(file): facts(file).silent for file in tests if facts(file).silent} == {}


def test_no_file_is_too_long() -> None:
    """At most 400 lines of Python; what is longer answers more than one question."""
    long = {named(file): facts(file).lines for file in FILES if facts(file).lines > MAX_LINES}
    assert long == {}
