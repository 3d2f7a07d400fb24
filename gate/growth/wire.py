"""How is a self-sizing rule spoken to that runs as a process? One line an event, one line an answer.

    open k=6 drop=0 platform=android entry_bytes=4,4 experts=8,8     a session begins; whatever was before is over
    begin                                                            a generation begins
    sample lookups=120 hits=0,40,60                                  share of hits at 0, 1, 2 cycles: 0, 40/120, 60/120
    end tokens=8 read_bytes=96 io_ms=4.5 waited_ms=1.25 compute_ms=80.0 management_ms=0.5 faults=- resident_bytes=48
    k 8                                                              the user changed the top-k
    bye

Each but `bye` is answered by what is in force from then on; `refusal` and `why` may be left out:

    budget_bytes=48 k=6 drop=0 refusal=in-generation why=growing

`-` stands for what is not known. Times are milliseconds in decimal notation, `why` is one word for people to read.
"""

from __future__ import annotations

import re

from reference.errors import printable
from reference.growth_events import Begun, Ended, Event, KSet, Reply, Sampled
from reference.sizing import ModelShape

MAX_REPLY_BYTES = 1000
NUMBER = re.compile(r"[0-9]{1,18}")
REAL = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
NOTHING = "-"


class Unreadable(ValueError):
    """A line that is no answer; the message says why."""


def format_opening(shape: ModelShape, drop_fraction: float, platform: str) -> str:
    """The line that opens a session."""
    return (
        f"open k={shape.k} drop={_real(drop_fraction)} platform={platform or NOTHING} "
        f"entry_bytes={_list(shape.entry_bytes)} experts={_list(shape.experts)}"
    )


def format_event(event: Event) -> str:
    """The line that tells an event."""
    match event:
        case Begun():
            return "begin"
        case KSet():
            return f"k {event.k}"
        case Sampled():
            return f"sample lookups={event.sample.lookups} hits={_list(event.sample.hits)}"
        case Ended():
            turn = event.turn
            faults = NOTHING if turn.faults is None else turn.faults
            return (
                f"end tokens={turn.tokens} read_bytes={turn.read_bytes} io_ms={_real(turn.io_ms)} "
                f"waited_ms={_real(turn.waited_ms)} compute_ms={_real(turn.compute_ms)} "
                f"management_ms={_real(turn.management_ms)} faults={faults} "
                f"resident_bytes={turn.resident_bytes}"
            )


def parse_reply(line: str) -> Reply:
    """The answer in a line.

    Raises:
        Unreadable: it is none.
    """
    cells = dict(cell.partition("=")[::2] for cell in line.split(" "))
    if not {"budget_bytes", "k", "drop"} <= cells.keys() <= set(FIELDS):
        raise Unreadable(f"expected budget_bytes=… k=… drop=…, got '{printable(line)}'")
    return Reply(
        int(_matched(NUMBER, cells["budget_bytes"])),
        int(_matched(NUMBER, cells["k"])),
        float(_matched(REAL, cells["drop"])),
        "" if cells.get("refusal", NOTHING) == NOTHING else cells["refusal"],
        "" if cells.get("why", NOTHING) == NOTHING else cells["why"],
    )


FIELDS = ("budget_bytes", "k", "drop", "refusal", "why")


def _matched(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise Unreadable(f"'{printable(text)}' is no number")
    return text


def _list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _real(number: float) -> str:
    """Decimal notation that reads back as the same number; never an exponent."""
    text = repr(float(number))
    return text if "e" not in text else f"{number:.18f}"
