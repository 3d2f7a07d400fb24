"""Which engine runs the inner loops: the C kernel, or plain Python and numpy?

The kernel is a small C extension that pip builds where there is a compiler. Both engines give the
same results to the bit, which a property holds; the tool names the one that ran.
"""

from __future__ import annotations

import importlib
import os
from array import array
from typing import TYPE_CHECKING, Literal, cast

from reference.errors import InputError, printable

if TYPE_CHECKING:
    from types import ModuleType

EngineName = Literal["c", "python"]

VARIABLE = "CACHEGATE_ENGINE"
"""Environment variable that forces an engine: `c` or `python`."""


def engine_name() -> EngineName:
    """`c` if the kernel is built, unless CACHEGATE_ENGINE says otherwise; else `python`.

    Raises:
        InputError: CACHEGATE_ENGINE names no engine, or the kernel where none was built.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "c", "python"):
        raise InputError(
            f"unknown engine '{printable(wanted)}'", source=VARIABLE, expected="c or python"
        )
    if wanted == "c" and built() is None:
        raise InputError(
            "the C kernel is not built",
            source=VARIABLE,
            cure="install a C compiler and reinstall (pip install -e .), or unset the variable",
        )
    return cast(EngineName, wanted) if wanted else "c" if built() else "python"


def available() -> list[EngineName]:
    """The engines this installation has, the faster one first."""
    return ["c", "python"] if built() else ["python"]


def built() -> ModuleType | None:
    """The kernel's module, or None where it was not built. Its types: replay/_kernel.pyi."""
    try:
        return importlib.import_module("replay._kernel")
    except ImportError:
        return None


def thresholds(
    keys: array[int], touched: array[int], offsets: array[int], key_bytes: array[int]
) -> array[int]:
    """From which budget on each lookup hits, by the kernel, which must be built.

    Args:
        keys: what each batch looks up, each key once; indices into `key_bytes`.
        touched: the same keys of each batch in order of last occurrence.
        offsets: where each batch starts in both, and their length.
        key_bytes: entry bytes of each key, 0 or more, together below 2^63.

    Raises:
        ValueError: the arrays do not fit together.
    """
    module = built()
    if module is None:
        raise RuntimeError("the C kernel is not built; ask engine_name() first")
    found = array("Q", bytes(8 * len(keys)))
    module.thresholds(keys, touched, offsets, key_bytes, found)
    return found
