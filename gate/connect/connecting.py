"""Which implementation does a connect string name?

`builtin` is the reference itself (`builtin:exact` and `builtin:engine` under other rules), `python:MODULE:CLASS` a
Python object (objects.py), `cmd:COMMAND` a driver's process (process.py); the last two may have options, as in
`cmd+strict:COMMAND` (options.py).
"""

from __future__ import annotations

from gate.connect.implementation import BUILT_IN_RULES, BuiltIn, Implementation
from gate.connect.objects import connect_object
from gate.connect.options import parse_options
from gate.connect.process import connect_process
from reference.errors import InputError, printable


def connect(text: str, cache: str) -> Implementation:
    """The implementation a connect string names, for one kind of cache.

    Raises:
        InputError: the string is not understood, or what it names cannot be started or is of the other kind.
    """
    kind, _, rest = text.partition(":")
    way, _, options = kind.partition("+")
    if text in BUILT_IN_RULES:
        return BuiltIn(cache, BUILT_IN_RULES[text])
    if way == "python" and rest:
        return connect_object(rest, cache, parse_options(options, text))
    if way == "cmd" and rest:
        return connect_process(rest, cache, parse_options(options, text))
    raise InputError(
        f"cannot connect to '{printable(text)}'",
        source=f"--{cache or 'cache'}",
        expected="builtin, python:MODULE:CLASS or cmd:COMMAND",
    )
