"""Does `cachegate replay` end as it promises, and draw what a row cache holds by its sets?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gate.cli import main
from gate.judging.own_hash import has_one_set
from gate.replay_page import COLOURS, Shown, to_page
from reference.program_text import parse
from reference.run import run

OBJECTS = "python:properties.objects_under_test"
EXPERT_TEXT = (
    "expert-cache v1 entry_bytes=1 experts=4 budget_bytes=2\nbegin\ndecode 0: 1\ndecode 0: 1"
)
ROW_TEXT = "row-cache v1 sets=3 ways=2\ngather 1 2 3 4 5 6\ngather 7"

Replay = Callable[..., tuple[int, str]]


@pytest.fixture
def replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Replay:
    """Exit code and output of `cachegate replay` on a program."""

    def replayed(text: str, *on: str, html: str = "") -> tuple[int, str]:
        (tmp_path / "a.prog").write_text(text + "\n")
        arguments = [word for name in on for word in ("--on", name)]
        arguments += ["--html", html] if html else []
        code = main(["replay", str(tmp_path / "a.prog"), *arguments])
        return code, capsys.readouterr().out

    return replayed


@pytest.mark.parametrize("text", [EXPERT_TEXT, ROW_TEXT])
def test_alone_and_beside_its_like_nothing_fails(text: str, replay: Replay) -> None:
    """The reference, and a class that is the reference: exit code 0, no step marked."""
    name = "Expert" if text == EXPERT_TEXT else "Row"
    assert replay(text)[0] == 0
    code, told = replay(text, f"{OBJECTS}:{name}")
    assert code == 0
    assert not re.search(r"^>", told, re.MULTILINE)


def test_a_difference_from_the_reference_fails(replay: Replay) -> None:
    """The step is marked, the law is told, the exit code is 1; a cache beside it that is right changes nothing."""
    wrong = "python:properties.seeded_cache:OffByOne"
    text = EXPERT_TEXT + "\ndecode 0: 2"
    code, told = replay(text, f"{OBJECTS}:Expert", wrong)
    assert code == 1
    (marked,) = (line for line in told.splitlines() if line.startswith(">"))
    assert wrong in marked
    assert f"on {wrong}: " in told


def test_a_failure_to_answer_fails(replay: Replay) -> None:
    """A crash is told with what was seen."""
    code, told = replay(EXPERT_TEXT, f"{OBJECTS}:WillNotOpen")
    assert code == 1
    assert "CRASH on" in told


def test_what_cannot_be_given_is_skipped(replay: Replay) -> None:
    """A program that needs a missing capability would be another without it: the reason is told, nothing fails."""
    code, told = replay("row-cache v1 sets=1\ngather 1\ninsert 2\ngather 2", f"{OBJECTS}:Bare")
    assert code == 0
    assert f"skip on {OBJECTS}:Bare: needs read-ahead" in told


def test_what_is_built_in_is_told(replay: Replay) -> None:
    """It runs the same operations as another cache, and is compared with that."""
    code, told = replay("row-cache v1 sets=1 halve_every=2\ngather 1\ngather 2", f"{OBJECTS}:Bare")
    assert code == 0
    assert f"note: {OBJECTS}:Bare ran it as row-cache v1 sets=1" in told


def test_another_hash_is_not_a_difference(replay: Replay) -> None:
    """With several sets it answers otherwise and breaks no law."""
    text = "row-cache v1 sets=4 ways=1\ngather 1 2 3 4 5 6\ngather 1 2 3 4 5 6"
    code, told = replay(text, f"{OBJECTS}:Elsewhere")
    last_reference, last_other = re.findall(r"\b[Hm]{6}\b", told)[-2:]
    assert code == 0
    assert last_reference != last_other
    assert not any(line.startswith(">") for line in told.splitlines())


# The picture


def colours_of(page: str, row: str) -> set[tuple[str, ...]]:
    """The colours, left to right, in which an entry is drawn, over all steps."""
    entries = re.findall(r"<g>(.*?)<title>([\d:]+)</title>", page)
    return {tuple(re.findall(r'fill="(#\w+)"', drawn)) for drawn, name in entries if name == row}


def shown(text: str, **changes: object) -> Shown:
    """The reference's run."""
    program = parse(text)
    return replace(Shown(program, run(program)), **changes)  # type: ignore[arg-type]


def page_of(text: str, **changes: object) -> str:
    """The page of one run."""
    return to_page(parse(text), {"x": shown(text, **changes)})


PLACED = """\
row-cache v1 sets=2,2 ways=2
place 1 sets 0
place 2 sets 1
place 3 sets 1
gather 1 2 3
gather 1: 1 2
"""


def test_rows_are_coloured_by_their_set() -> None:
    """Rows of one set alike, of another otherwise, and each table's sets on their own."""
    page = page_of(PLACED)
    one, two, three = (colours_of(page, name) for name in ("0:1", "0:2", "0:3"))
    assert len(one) == len(two) == 1
    assert two == three
    drawn = one | two | colours_of(page, "1:1") | colours_of(page, "1:2")
    assert len(drawn) == 4
    assert "Coloured by set." in page


def test_a_row_of_two_sets_has_two_colours() -> None:
    """Where it may sit in either of two."""
    page = page_of(
        "row-cache v1 sets=2 candidate_sets=2\nplace 1 sets 1 0\nplace 2 sets 1\ngather 1 2"
    )
    assert colours_of(page, "0:1") == {(COLOURS[1], COLOURS[0])}
    assert colours_of(page, "0:2") == {(COLOURS[1],)}
    assert "in two colours" in page


def test_where_places_are_not_known_the_table_is_the_colour() -> None:
    """Nothing is drawn that is not known."""
    page = page_of(PLACED, places_known=False)
    assert colours_of(page, "0:1") == colours_of(page, "0:2") == {(COLOURS[0],)}
    assert "its hash is not known" in page


def test_experts_are_coloured_by_their_layer() -> None:
    """As ever."""
    page = page_of(
        "expert-cache v1 entry_bytes=1,1 budget_bytes=2\nbegin\ndecode 0: 0\ndecode 1: 0"
    )
    assert colours_of(page, "0:0") == {(COLOURS[0],)}
    assert colours_of(page, "1:0") == {(COLOURS[1],)}
    assert "Coloured by layer." in page


def test_the_page_is_written_for_all_that_ran(replay: Replay, tmp_path: Path) -> None:
    """The reference by its sets; a hash of its own by the table, but for programs of one set."""
    target = tmp_path / "a.html"
    replay(ROW_TEXT, f"{OBJECTS}:Elsewhere", html=str(target))
    page = target.read_text()
    assert page.count("Coloured by set") == 1
    assert page.count("its hash is not known") == 1
    replay("row-cache v1 sets=1 ways=2\ngather 1 2", f"{OBJECTS}:Elsewhere", html=str(target))
    assert target.read_text().count("Coloured by set") == 2


def test_one_set_is_seen_from_the_program() -> None:
    """A table without sets has none to tell apart; another cache has none at all."""
    assert has_one_set(parse("row-cache v1 sets=1,0"))
    assert not has_one_set(parse("row-cache v1 sets=1,2"))
    assert not has_one_set(parse("expert-cache v1 entry_bytes=1"))


def test_the_first_difference_is_marked() -> None:
    """In the heading and at its step."""
    text = "row-cache v1 sets=1\ngather 1\ngather 1"
    page = page_of(text, differs=2)
    assert "differs from the reference at step 2" in page
    assert page.count("&#9654;") == 1
