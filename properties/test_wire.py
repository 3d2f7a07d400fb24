"""How are a driver's answers read? Whole or in pieces alike, without a crash, and strictly where that is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.connect.columns import Columns, Memo, Unreadable
from gate.connect.hello import Hello, parse_hello
from gate.connect.strict import Strict
from gate.connect.wire import Reading, encode
from reference.errors import InputError
from reference.program import Answer, Outcome
from reference.program_text import parse

EXPERT_HELLO = (
    "cachegate 1 expert-cache x 1 level=3 columns=refusal,hit,read,digest,resident,order,lookups"
)
ROW_HELLO = (
    "cachegate 1 row-cache x 1 level=3 columns=refusal,hit,digest,resident,order,estimates,lookups"
)
EXPERT_TEXT = """expert-cache v1 entry_bytes=2,- experts=4 k=2 budget_bytes=4
begin
decode 0: 3 1 3
ask 0: 1 2
decode 1: 0
"""
ROW_TEXT = """row-cache v1 sets=1 ways=2
gather 7 9 7
ask-rows 7
gather
"""
EXPERT_LINES = [
    "- - - - - - 0",
    "- - - - - - 0",
    "- 00 4 c384c8429f7cae6b 0:1,0:3 0:1,0:3 2",
    "- 10 - - 0:1,0:3 0:1,0:3 2",
    "dense-layer - - - 0:1,0:3 0:1,0:3 2",
    "done",
]
ROW_LINES = [
    "- - - - - - 0",
    "- 00 66a2a9cfe7e367d1 0:9,0:7 0:7,0:9 1,1 2",
    "- 1 - 0:9,0:7 0:7,0:9 1,1 2",
    "- - 0000000000000000 0:9,0:7 0:7,0:9 1,1 2",
    "done",
]
PLACES = {"opening": 0, "begin": 1, "load": 2, "ask": 3, "refused": 4}


def reading(hello: str, text: str, strict: bool = False) -> Reading:
    """What takes the answers to a program."""
    known: Hello = parse_hello(hello, "x")
    program = parse(text)
    return Reading(Columns(known), program, Strict(known, program) if strict else None)


def read(lines: list[str], strict: bool = False, of_rows: bool = False) -> Outcome:
    """What answers amount to."""
    hello, text = (ROW_HELLO, ROW_TEXT) if of_rows else (EXPERT_HELLO, EXPERT_TEXT)
    taking = reading(hello, text, strict)
    assert taking.take("".join(f"{line}\n" for line in lines).encode())
    return taking.outcome()


@pytest.mark.parametrize("strict", [False, True])
def test_every_column_is_read(strict: bool) -> None:
    """Refusal, flags, bytes, digest, residents, order and counters, each where it belongs."""
    outcome = read(EXPERT_LINES, strict)
    held = ((0, 1), (0, 3))
    assert outcome.opened == Answer({"lookups": 0}, "", None, None, None, frozenset(), ())
    assert outcome.answers[1] == Answer(
        {"lookups": 2}, "", (False, False), 4, 0xC384C8429F7CAE6B, frozenset(held), held
    )
    assert outcome.answers[2].hits == (True, False)
    assert outcome.answers[3].refusal == "dense-layer"
    assert outcome.level == 3


@pytest.mark.parametrize("strict", [False, True])
def test_estimates_belong_to_the_residents(strict: bool) -> None:
    """The estimates stand in the order of the resident rows; an empty gather has flags, none of them."""
    outcome = read(ROW_LINES, strict, of_rows=True)
    assert outcome.answers[0].estimates == {(0, 9): 1, (0, 7): 1}
    assert outcome.answers[2].hits == ()


def test_the_columns_are_declared() -> None:
    """Counters and estimates: what laws may need; the results follow from the level."""
    known = parse_hello("cachegate 1 row-cache x 1 level=0 columns=lookups,mine", "x")
    assert known.declaration.columns == {"lookups", "mine"}
    results = "refusal,hit,digest,resident,order,estimates"
    known = parse_hello(f"cachegate 1 row-cache x 1 level=3 columns={results},hits", "x")
    assert known.declaration.columns == {"estimates", "hits"}


@pytest.mark.parametrize(
    "setting",
    ["sets=many", "ways=0", "admission=maybe", "free_way=middle", "candidate_sets=none", "sets=,"],
)
def test_a_setting_that_no_row_cache_can_have_is_refused(setting: str) -> None:
    """At the hello, not in the middle of a run."""
    with pytest.raises(InputError, match="a setting it cannot have"):
        parse_hello(f"cachegate 1 row-cache x 1 level=0 columns=lookups {setting}", "x")


@pytest.mark.parametrize("setting", ["sets=64,0", "halve_every=none", "ways=any", "admission=no"])
def test_a_setting_that_a_row_cache_can_have_is_taken(setting: str) -> None:
    """Built in, taken from the program, or never."""
    key, _, value = setting.partition("=")
    known = parse_hello(f"cachegate 1 row-cache x 1 level=0 columns=lookups {setting}", "x")
    assert known.declaration.row_settings == {key: value}


def test_an_expert_cache_may_give_its_order_alone() -> None:
    """Without a column `resident`, the residents are those of the order."""
    hello = EXPERT_HELLO.replace("resident,", "")
    taking = reading(hello, "expert-cache v1 entry_bytes=2")
    taking.take(b"- - - - 0:1,0:0 0\ndone\n")
    assert taking.outcome().opened.resident == {(0, 0), (0, 1)}


@given(st.lists(st.integers(0, 200), max_size=6))
def test_pieces_are_read_as_the_whole(cuts: list[int]) -> None:
    """However the pipe cuts the answers, the outcome is the same."""
    data = "".join(f"{line}\n" for line in EXPERT_LINES).encode()
    taking = reading(EXPERT_HELLO, EXPERT_TEXT)
    ends = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    finished = [
        taking.take(data[start:end]) for start, end in zip([0, *ends], ends, strict=False) if end
    ]
    assert finished[-1]
    assert taking.outcome() == read(EXPERT_LINES)


@given(st.data())
def test_nothing_that_is_said_crashes_the_reader(data: st.DataObject) -> None:
    """Answers with bytes changed, cut out or put in are read or are unreadable; nothing else happens."""
    said = bytearray("".join(f"{line}\n" for line in EXPERT_LINES).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(said)))
        said[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    taking = reading(EXPERT_HELLO, EXPERT_TEXT, strict=data.draw(st.booleans()))
    try:
        finished = taking.take(bytes(said))
    except Unreadable:
        return
    assert not finished or len(taking.outcome().answers) == 4


NUMBERS = st.integers(0, 1 << 70).map(str) | st.sampled_from(["0", "-1", "00", "9" * 18, "9" * 19])
ENTRIES = st.lists(st.tuples(NUMBERS, NUMBERS).map(":".join), max_size=4).map(",".join)
CELLS = {
    "refusal": st.sampled_from(["-", "dense-layer", "--", "0"]),
    "hit": st.text("01", max_size=4) | st.sampled_from(["-", "2", "--"]),
    "read": NUMBERS | st.just("-"),
    "digest": st.integers(0, (1 << 66) - 1).map("{:016x}".format)
    | st.sampled_from(["-", "0xf", "C3"]),
    "resident": ENTRIES | st.sampled_from(["-", "0:1,0:1", "0:1,", ":", "-,0:1"]),
    "order": ENTRIES | st.just("-"),
    "lookups": NUMBERS | st.just(""),
    "hits": NUMBERS,
}
"""Cells of each column, right and wrong."""

LAYOUTS = (
    "level=0 columns=lookups,hits",
    "level=1 columns=refusal,hit,read,digest,lookups,hits",
    "level=2 columns=refusal,hit,read,digest,resident,lookups,hits",
    "level=3 columns=refusal,hit,read,digest,order,lookups,hits",
    "level=3 columns=refusal,hit,read,digest,resident,order,lookups,hits",
)


@given(st.sampled_from(LAYOUTS), st.data())
def test_both_readers_of_a_line_agree(layout: str, data: st.DataObject) -> None:
    """What the reader in C takes for an answer, plain Python reads alike; all else it leaves to plain Python."""
    quick = Columns(parse_hello(f"cachegate 1 expert-cache x 1 {layout}", "x"))
    if quick.quick is None:
        pytest.skip("the reader in C is not built, or CACHEGATE_ENGINE=python")
    line = " ".join(data.draw(CELLS[name]) for name in quick.names)
    cut = data.draw(st.integers(0, 9) if data.draw(st.booleans()) else st.just(0))
    line = line[: len(line) - cut] if cut < 8 else line + " 1" * (cut - 7)
    answer = quick.quick(line, Answer, quick.layout, quick.counters)
    if answer is not None:
        slow = Columns(parse_hello(f"cachegate 1 expert-cache x 1 {layout}", "x"))
        slow.quick = None
        assert slow.answer(line, None) == answer


def test_the_reader_in_c_takes_what_is_plainly_an_answer() -> None:
    """The lines of a load are read by it, whichever columns there are: it is not by chance that both agree."""
    cells = dict.fromkeys(CELLS, "1") | {"refusal": "-", "hit": "01", "resident": "0:1"}
    cells |= {"digest": f"{1:016x}", "order": "0:1"}
    for layout in LAYOUTS:
        columns = Columns(parse_hello(f"cachegate 1 expert-cache x 1 {layout}", "x"))
        if columns.quick is None:
            pytest.skip("the reader in C is not built, or CACHEGATE_ENGINE=python")
        line = " ".join(cells[name] for name in columns.names)
        answer = columns.quick(line, Answer, columns.layout, columns.counters)
        assert answer is not None
        assert answer.counters == {"lookups": 1, "hits": 1}


UNREADABLE = {
    ("load", "- 00 4 c384c8429f7cae6b 0:1,0:3 0:1,0:3"): "6 columns where the hello names 7",
    ("load", "- 0 0 4 c384c8429f7cae6b 0:1 0:1 2"): "8 columns where the hello names 7",
    ("load", "- 02 4 c384c8429f7cae6b 0:1 0:1 2"): "column hit: expected 0 and 1, or -, got '02'",
    ("load", "- 00 four c384c8429f7cae6b 0:1 0:1 2"): "column read: expected a whole number",
    ("load", "- 00 4 c384c8429f7cae6bc 0:1 0:1 2"): "column digest: expected up to 16 hexadecimal",
    ("load", "- 00 4 0x_1 0:1 0:1 2"): "column digest: expected up to 16 hexadecimal digits or -",
    ("load", "- 00 4 c3 0.1 0:1 2"): "column resident: expected LAYER:EXPERT or TABLE:ROW",
    ("load", "- 00 4 c3 0:1,0:1 0:1 2"): "column resident: 0:1 stands there twice",
    ("load", "- 00 4 c3 0:1 0:1, 2"): "column order: expected LAYER:EXPERT or TABLE:ROW",
    ("load", "- 00 4 c3 0:1 0:1 2.0"): "column lookups: expected a whole number, got '2.0'",
    ("load", "- 00 4 c3 0:1 0:1 1_0"): "column lookups: expected a whole number, got '1_0'",
    ("load", "- 00 4 c3 0:1 0:1 2\r"): "the line ends with CR LF, expected LF alone",
    ("load", "- - 4 c3 0:1 0:1 2"): "column hit: nothing, but level 3 owes a flag for each id",
    ("ask", "- - - - 0:1 0:1 2"): "column hit: nothing, but level 3 owes a flag for each id",
}
"""(which answer, its line) -> how the complaint begins, strict or not."""


@pytest.mark.parametrize("place, line", UNREADABLE)
def test_an_answer_that_cannot_be_read_says_why(place: str, line: str) -> None:
    """The complaint names the answer, the column, what was expected and what came."""
    lines = EXPERT_LINES.copy()
    lines[PLACES[place]] = line
    with pytest.raises(Unreadable) as caught:
        read(lines)
    where, _, what = str(caught.value).partition("`: ")
    assert where.startswith(f"answer {PLACES[place]}, to `")
    assert what.startswith(UNREADABLE[place, line])


def test_estimates_must_be_as_many_as_the_residents() -> None:
    """Two rows and one estimate is no answer."""
    lines = ROW_LINES.copy()
    lines[1] = lines[1].replace("1,1", "1")
    with pytest.raises(Unreadable, match="column estimates: 1 estimates for 2 resident rows"):
        read(lines, of_rows=True)


COMPLAINTS = {
    ("opening", "no-experts - - - - - 0"): "column refusal: an opening is not refused",
    ("opening", "- - - - - - -1"): "column lookups: -1 is below 0",
    ("begin", "- - 0 - - - 0"): "column read: expected -",
    ("begin", "- - - 0000000000000000 - - 0"): "column digest: expected -",
    ("begin", "- 1 - - - - 0"): "column hit: expected -, got 1 of them",
    (
        "load",
        "- 001 4 c384c8429f7cae6b 0:1 0:1 2",
    ): "column hit: expected 2 flags, one for each of 3 1",
    (
        "load",
        "- 00 - c384c8429f7cae6b 0:1 0:1 2",
    ): "column read: expected the bytes read, 0 if none",
    ("load", "- 00 4 - 0:1 0:1 2"): "column digest: expected the digest of what was delivered",
    ("load", "- 00 4 C384C8429F7CAE6B 0:1 0:1 2"): "column digest: expected 16 lower-case",
    ("load", "- 00 4 c384c8429f7cae6b 0:7 0:7 2"): "column resident: 0:7 is not an expert",
    ("load", "- 00 4 c384c8429f7cae6b 1:0 1:0 2"): "column resident: 1:0 is not an expert",
    ("load", "- 00 4 c384c8429f7cae6b 0:1 0:1,0:3 2"): "0:3 stands in order but not in resident",
    ("load", "- 00 4 c384c8429f7cae6b 0:1,0:3 0:1 2"): "0:3 stands in resident but not in order",
    (
        "load",
        "- 00 4 c384c8429f7cae6b 0:1 0:1 02",
    ): "column lookups: 02 is not written as plain digits",
    ("ask", "- 10 - - 0:1 0:1 1"): "column lookups: fell from 2 to 1",
    ("refused", "dense - - - 0:1 0:1 2"): "column refusal: dense is none of no-generation",
}
"""(which answer, its line) -> how the complaint of the strict mode begins."""


@pytest.mark.parametrize("place, line", COMPLAINTS)
def test_the_strict_mode_says_what_is_wrong_with_the_form(place: str, line: str) -> None:
    """Each fault of form is named in strict mode."""
    lines = EXPERT_LINES.copy()
    lines[PLACES[place]] = line
    with pytest.raises(Unreadable) as caught:
        read(lines, strict=True)
    assert f": {COMPLAINTS[place, line]}" in str(caught.value)


def test_without_strict_mode_the_form_is_for_the_laws() -> None:
    """What can be read is passed on: a flag too many, digits with a zero before them, an entry that is none."""
    lines = EXPERT_LINES.copy()
    lines[PLACES["load"]] = "- 001 4 C384 0:7 0:7 02"
    assert read(lines).answers[1].hits == (False, False, True)


def test_a_message_is_the_program_and_run() -> None:
    """The text of the program, as a file holds it, and the line `run`."""
    assert encode(parse(EXPERT_TEXT)) == EXPERT_TEXT.encode() + b"run\n"


def test_what_is_remembered_is_bounded() -> None:
    """A driver that says ever new texts, short or long, does not fill the memory."""
    memo = Memo(len)
    for number in range(1 << 16):
        assert memo[str(number)] == len(str(number))
    assert memo["x" * 1000] == 1000
    assert len(memo) <= 1 << 15
    assert "x" * 1000 not in memo
