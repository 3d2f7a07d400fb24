"""Is docs/protocol.md true? Its conversations are held again with the examples, and its lists are the program's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.example_drivers import DRIVERS
from gate.bringup.new_driver import LANGUAGES
from gate.connect.hello import FROM_LEVEL, parse_hello
from gate.connect.implementation import EXPERT_CAPABILITIES, ROW_CAPABILITIES
from reference import expert_session, row_session
from reference.expert_session import ExpertSession
from reference.laws import EXPERT, ROW
from reference.program_header import EXPERT_KEYS, RULE_KEYS
from reference.program_text import EXPERT_WORDS, ROW_WORDS, parse
from reference.row_session import RowSession

TEXT = (Path(__file__).resolve().parent.parent / "docs" / "protocol.md").read_text()
TRANSCRIPT = re.compile(r"<!-- transcript: (\w+\.py) -->\n```text\n(.*?)```", re.DOTALL)


def transcripts() -> list[tuple[str, str]]:
    """(driver, conversation) of the document."""
    return TRANSCRIPT.findall(TEXT)


def test_both_caches_have_a_conversation() -> None:
    """So what follows judges something."""
    assert [driver for driver, _ in transcripts()] == ["expert_driver.py", "row_driver.py"]


@pytest.mark.parametrize("driver, conversation", transcripts())
def test_the_conversation_is_what_the_example_says(driver: str, conversation: str) -> None:
    """Sent what stands behind `>`, the Python example says what stands behind `<`, to the letter."""
    lines = conversation.splitlines()
    sent = "".join(f"{line[2:]}\n" for line in lines if line.startswith("> "))
    said = "".join(f"{line[2:]}\n" for line in lines if line.startswith("< "))
    command = [sys.executable, str(DRIVERS / "python" / driver)]
    ended = subprocess.run(command, input=sent, capture_output=True, text=True, check=True)
    assert ended.stdout == said
    assert ended.stderr == ""


@pytest.mark.parametrize("driver, conversation", transcripts())
def test_the_conversation_is_a_program_and_its_answers(driver: str, conversation: str) -> None:
    """What is sent is a program text with `run` behind it, and each of its operations is answered."""
    sent = [line[2:] for line in conversation.splitlines() if line.startswith("> ")]
    said = [line[2:] for line in conversation.splitlines() if line.startswith("< ")]
    assert sent[-2:] == ["run", "bye"]
    assert said[-1] == "done"
    assert len(said) == len(parse("\n".join(sent[:-2])).operations) + 3
    parse_hello(said[0], driver)


@pytest.mark.parametrize(
    "names",
    [
        EXPERT_CAPABILITIES | ROW_CAPABILITIES,
        FROM_LEVEL,
        {*EXPERT_WORDS, *ROW_WORDS} - {"prefill", "decode"},
        {"prefill L:", "decode L:"},
        RULE_KEYS,
        EXPERT_KEYS,
        {*expert_session.REFUSALS, *row_session.REFUSALS} - {"not-an-operation-of-this-cache"},
        LANGUAGES,
        {"crash", "hang", "garbage"},
    ],
)
def test_every_name_is_told(names: set[str]) -> None:
    """Capabilities, columns, operations, settings, refusals, languages and verdicts all stand in the document."""
    assert [name for name in names if name not in TEXT] == []


@pytest.mark.parametrize(
    "header, make",
    [("expert-cache v1 entry_bytes=1", ExpertSession), ("row-cache v1 sets=1", RowSession)],
)
def test_every_counter_is_told(header: str, make: type) -> None:
    """Each counter that the reference gives is named, those of read-ahead by their common beginning."""
    known = make(parse(header).config).observe().counters
    written = TEXT.partition("Counters the gate knows.")[2].partition("## When")[0]
    missing = [
        name
        for name in known
        if f"`{name}`" not in written and f"`{name.removeprefix('readahead_')}`" not in written
    ]
    assert missing == []


@pytest.mark.parametrize("kind", [EXPERT, ROW])
def test_the_examples_are_as_short_as_the_document_says(kind: str) -> None:
    """An adapter has at most 40 lines in Python and fewer than 80 in Rust and C++."""
    for language, most in (("python", 40), ("rust", 79), ("cpp", 79)):
        adapter = LANGUAGES[language].adapter % kind.partition("-")[0]
        lines = (DRIVERS / language / adapter).read_text().splitlines()
        assert len(lines) <= most, f"{language}/{adapter}"
