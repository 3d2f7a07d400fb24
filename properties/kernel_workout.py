"""Does the C kernel stay inside its bounds? All its functions, on sound and on hostile arguments.

A script of its own: properties/test_kernel.py runs it under AddressSanitizer and UBSan, which end
the process at the first bad access. Usage: kernel_workout.py PATH_OF_THE_INSTRUMENTED_KERNEL.
"""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Callable, Iterator
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

LARGEST = (1 << 64) - 1


def main(path: str) -> None:
    """Work everything out and say how often."""
    kernel = loaded(path)
    choice = random.Random(1)
    for _ in range(200):
        work_out_rows(kernel, choice)
        work_out_thresholds(kernel, choice)
    refused = sum(refuses(kernel, name, *args) for name, *args in hostile())
    refused += sum(refuses(kernel, "RowTable", *geometry) for geometry in impossible_tables())
    print(f"worked out, {refused} hostile calls refused")


def loaded(path: str) -> ModuleType:
    """The kernel from an extension file anywhere."""
    loader = ExtensionFileLoader("_kernel", path)
    module = module_from_spec(spec_from_file_location("_kernel", path, loader=loader))
    loader.exec_module(module)
    return module


def u64(items: Any) -> array[int]:
    """Items as an array of unsigned 64-bit numbers."""
    return array("Q", items)


def zeros(count: int) -> array[int]:
    """Room for that many numbers, and not one more."""
    return array("Q", bytes(8 * count))


def groups(choice: random.Random, most: int, population: int) -> tuple[array[int], array[int]]:
    """Ids of some gathers with repeats, and their bounds."""
    ids, offsets = [], [0]
    for _ in range(choice.randrange(12)):
        ids += [
            choice.randrange(population) * 0x9E3779B97F4A7C15 & LARGEST
            for _ in range(choice.randrange(most))
        ]
        offsets.append(len(ids))
    return u64(ids), u64(offsets)


def work_out_rows(kernel: ModuleType, choice: random.Random) -> None:
    """Hash, de-duplicate and replay some gathers on a table of any shape."""
    ids, offsets = groups(choice, 40, 60)
    out, out_offsets = zeros(len(ids)), zeros(len(offsets))
    kernel.xxh3_64(ids, choice.choice([0, 1, LARGEST]), out)
    rows = out[: kernel.distinct(ids, offsets, out, out_offsets)]
    sets, ways = choice.choice([0, 1, 2, 5]), choice.choice([1, 3, 4, 9])
    switches = [choice.random() < 0.5 for _ in range(7)]
    shape = (choice.choice([1, 2]), choice.choice([1, 4, 9]), choice.choice([1, 3, 64]))
    table = kernel.RowTable(sets, ways, *shape, choice.choice([0, 1, 7]), LARGEST, *switches)
    for _ in range(2):
        table.replay(rows, out_offsets, zeros(9 * (len(offsets) - 1)))
    table.read_slots(zeros(sets * ways), zeros(sets * ways))


def work_out_thresholds(kernel: ModuleType, choice: random.Random) -> None:
    """The one pass over batches long enough for positions to run out again and again."""
    keys, touched, offsets, known = [], [], [0], choice.randrange(1, 90)
    for _ in range(choice.randrange(300)):
        batch = choice.sample(range(known), min(known, choice.randrange(6)))
        keys += batch
        touched += choice.sample(batch, len(batch))
        offsets.append(len(keys))
    key_bytes = u64(choice.choice([0, 1, 1 << 40]) for _ in range(known))
    kernel.thresholds(u64(keys), u64(touched), u64(offsets), key_bytes, zeros(len(keys)))


def hostile() -> Iterator[tuple[Any, ...]]:
    """Calls that the kernel must refuse, by name and arguments."""
    three, bounds = u64([1, 2, 3]), u64([0, 3])
    shifted = memoryview(bytes(32))[1:25].cast("Q")
    backwards = memoryview(three)[::-1]
    for bad in (zeros(2), zeros(5), array("I", bytes(24)), shifted, backwards, b"", None, 7):
        yield "xxh3_64", three, 0, bad
        yield "replay", three, bounds, bad
        yield "read_slots", bad, zeros(4)
        yield "read_slots", zeros(4), bad
    yield "xxh3_64", three, 0, three
    yield "xxh3_64", three, -1, zeros(3)
    yield "xxh3_64", three, LARGEST + 1, zeros(3)
    yield "xxh3_64", three, "0", zeros(3)
    whole = u64(range(8))
    yield "xxh3_64", memoryview(whole)[:4], 0, memoryview(whole)[3:7]
    for bad in bad_bounds():
        yield "distinct", three, bad, zeros(3), zeros(len(bad))
        yield "replay", three, bad, zeros(9)
        yield "thresholds", three, three, bad, u64([1] * 4), zeros(3)
    yield "distinct", three, bounds, zeros(2), zeros(2)
    yield "distinct", three, bounds, zeros(3), zeros(1)
    yield "distinct", three, bounds, zeros(3), bounds
    yield "replay", three, bounds, zeros(8)
    yield "replay", three, bounds, b"\0" * 72
    yield from hostile_batches()


def bad_bounds() -> Iterator[array[int]]:
    """Bounds that do not divide three items."""
    for bounds in ([], [0], [3], [1, 3], [0, 2], [0, 4], [0, 4, 3], [0, 2, 1, 3], [0, LARGEST, 3]):
        yield u64(bounds)


def hostile_batches() -> Iterator[tuple[Any, ...]]:
    """Batches that repeat, touch something else, know no such key, or sum up too high."""
    bounds, ones = u64([0, 3]), u64([1, 1, 1])
    for keys, touched in (
        ([0, 1, 1], [0, 1, 1]),
        ([0, 1, 2], [0, 1, 1]),
        ([0, 1, 1], [0, 1, 2]),
        ([0, 1, 3], [0, 1, 3]),
        ([0, 1, 2], [0, 1, LARGEST]),
        ([0, 1, 1 << 63], [0, 1, 2]),
    ):
        yield "thresholds", u64(keys), u64(touched), bounds, ones, zeros(3)
    keys = u64([0, 1, 2])
    for sizes in ([1 << 62, 1 << 62, 0], [LARGEST, 1, 1], [1 << 63, 0, 0]):
        yield "thresholds", keys, keys, bounds, u64(sizes), zeros(3)
    yield "thresholds", keys, u64([0, 1]), bounds, ones, zeros(3)
    yield "thresholds", keys, keys, bounds, ones, zeros(2)
    yield "thresholds", keys, keys, bounds, ones, keys


def impossible_tables() -> Iterator[tuple[int, ...]]:
    """Geometries without a way, with a third candidate set, or beyond any memory."""
    switches = (True, False, False, False, False, False, False)
    for geometry in (
        (1, 0, 1, 4, 64, 0, 0),
        (1, 4, 0, 4, 64, 0, 0),
        (1, 4, 3, 4, 64, 0, 0),
        (1, 4, 1, 0, 64, 0, 0),
        (1, 4, 1, 4, 0, 0, 0),
        (1, 4, 1, 1 << 20, 1 << 20, 0, 0),
        (1, 4, 1, LARGEST, LARGEST, 0, 0),
        (LARGEST, LARGEST, 1, 4, 64, 0, 0),
        (1 << 62, 4, 1, 4, 64, 0, 0),
        (-1, 4, 1, 4, 64, 0, 0),
    ):
        yield (*geometry, *switches)


def refuses(kernel: ModuleType, name: str, *args: Any) -> bool:
    """True; an error if the call was carried out, or failed in any unforeseen way."""
    switches = (True, False, False, False, False, False, False)
    table = kernel.RowTable(1, 4, 1, 4, 64, 0, 0, *switches)
    call: Callable[..., Any] = getattr(kernel, name, None) or getattr(table, name)
    try:
        call(*args)
    except (ValueError, TypeError, BufferError, MemoryError):
        return True
    raise AssertionError(f"{name} took {args}")


if __name__ == "__main__":
    main(sys.argv[1])
