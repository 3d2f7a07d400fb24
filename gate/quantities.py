"""How are numbers, sizes and lists written on the command line? One reading, one error, for every command."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from reference.errors import MIB, InputError, printable

UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": MIB, "gib": 1 << 30, "tib": 1 << 40}
LARGEST = 1 << 63
NUMBER = re.compile(r"\+?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE)
"""A decimal number as it is written; Python's own reading also takes `1_000`, `nan` and the digits of any script."""
MOST_DIGITS = 100


def decimal_of(text: str, option: str) -> Fraction:
    """One number of 0 or more, exactly as written.

    Raises:
        InputError: it is no such number.
    """
    number = Decimal(text) if len(text) <= MOST_DIGITS and NUMBER.fullmatch(text) else None
    if number is None or number > LARGEST or number.adjusted() < -30:
        raise InputError(
            f"'{printable(text)}' is not a number of 0 or more",
            source=option,
            expected="a decimal number, as in 0.5",
        )
    return Fraction(number)


def decimal_list(text: str, option: str) -> list[Fraction]:
    """Comma-separated numbers of 0 or more, exactly as written: `0.5,1,2`.

    Raises:
        InputError: an item is no such number.
    """
    return [decimal_of(item.strip(), option) for item in text.split(",")]


def mib_list(text: str, option: str) -> list[int]:
    """Comma-separated budgets in MiB, fractions allowed, as bytes (rounded down)."""
    return [int(number * MIB) for number in decimal_list(text, option)]


def size_bytes(text: str, option: str, most_bytes: int = LARGEST) -> int:
    """A size with its unit: `1GiB`, `512MiB`, `4096`; at most `most_bytes`.

    Raises:
        InputError: it is no size.
    """
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text[len(digits) :].strip().lower()
    if unit not in UNITS:
        raise InputError(
            f"'{printable(text)}' has an unknown unit",
            source=option,
            expected="B, KiB, MiB, GiB or TiB, as in 1GiB",
        )
    size = int(decimal_of(digits.strip(), option) * UNITS[unit])
    if size > most_bytes:
        raise InputError(
            f"'{printable(text)}' is too much",
            source=option,
            expected=f"at most {most_bytes // UNITS['gib']} GiB",
        )
    return size


def choice_list(text: str, known: tuple[str, ...], option: str) -> list[str]:
    """Comma-separated names, each one of `known` and each once; `all` is every one.

    Raises:
        InputError: a name is not known.
    """
    if text == "all":
        return list(known)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise InputError(
                f"'{printable(name)}' is not known",
                source=option,
                expected=", ".join((*known, "or all")),
            )
    return list(dict.fromkeys(names))


def count_of(text: str, option: str, least: int, most: int) -> int:
    """A whole number from `least` to `most`.

    Raises:
        InputError: it is none.
    """
    digits = text.strip()
    if (
        digits.isascii()
        and digits.isdecimal()
        and len(digits) < 30
        and least <= int(digits) <= most
    ):
        return int(digits)
    raise InputError(
        f"'{printable(text)}' is no such number",
        source=option,
        expected=f"a whole number from {least} to {most}",
    )
