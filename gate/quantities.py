"""How are numbers, sizes and lists written on the command line? One reading, one error, for every command."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from reference.errors import MIB, InputError, printable

UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": MIB, "gib": 1 << 30, "tib": 1 << 40}
LARGEST = 1 << 63


def decimal_list(text: str, option: str) -> list[Fraction]:
    """Comma-separated numbers of 0 or more, exactly as written: `0.5,1,2`.

    Raises:
        InputError: an item is no such number.
    """
    return [_decimal(item.strip(), option) for item in text.split(",")]


def _decimal(text: str, option: str) -> Fraction:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number < 0 or abs(number) > LARGEST or number.adjusted() < -30:
        raise InputError(
            f"'{printable(text)}' is not a number of 0 or more",
            source=option,
            expected="decimal numbers separated by commas, as in 0.5,1,2",
        )
    return Fraction(number)


def mib_list(text: str, option: str) -> list[int]:
    """Comma-separated budgets in MiB, fractions allowed, as bytes (rounded down)."""
    return [int(number * MIB) for number in decimal_list(text, option)]


def size_bytes(text: str, option: str) -> int:
    """A size with its unit: `1GiB`, `512MiB`, `4096`.

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
    return int(_decimal(digits.strip(), option) * UNITS[unit])


def choice_list(text: str, known: tuple[str, ...], option: str) -> list[str]:
    """Comma-separated names, each one of `known`; `all` is every one.

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
    return names


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
