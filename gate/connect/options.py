"""What can be asked of a connection, beside what it connects to? `cmd+strict+deadline=3:./driver`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reference.errors import InputError, printable

LONGEST_DEADLINE_S = 86_400.0
EXPECTED = "cmd:…, cmd+strict:…, cmd+deadline=SECONDS:…, python+deadline=SECONDS:…"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a connection.

    Args:
        strict: the form of every answer of a driver is checked (gate/connect/strict.py).
        deadline_s: what one program may take, and a driver's hello.
    """

    strict: bool = False
    deadline_s: float = 10.0


DEFAULTS = Options()


def parse_options(text: str, source: str) -> Options:
    """The options in `text`, a plus between them.

    Raises:
        InputError: one that is not known.
    """
    strict, deadline_s = DEFAULTS.strict, DEFAULTS.deadline_s
    for option in text.split("+") if text else ():
        name, _, value = option.partition("=")
        if option == "strict":
            strict = True
        elif name == "deadline":
            deadline_s = _seconds(value, source)
        else:
            raise InputError(
                f"'{printable(option)}' is no option of a connection",
                source=printable(source),
                expected=EXPECTED,
            )
    return Options(strict, deadline_s)


def _seconds(text: str, source: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST_DEADLINE_S:
        raise InputError(
            f"'{printable(text)}' is no deadline",
            source=printable(source),
            expected=f"seconds above 0, at most {LONGEST_DEADLINE_S:.0f}",
        )
    return seconds
