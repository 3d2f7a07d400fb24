"""Does the C kernel compute what plain Python computes, and does it refuse what it cannot?"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from array import array
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from fixtures.row_gathers import U64, gather_lists
from reference import hashing
from reference.errors import InputError
from replay import hashing as fast_hashing
from replay import kernel
from replay.gathers import Gathers
from replay.lookups import Lookups
from replay.thresholds import one_pass

NEVER = (1 << 64) - 1
needs_kernel = pytest.mark.skipif(kernel.built() is None, reason="the C kernel is not built")
BATCHES = st.lists(st.lists(st.integers(0, 7), max_size=8), max_size=60)


def the_kernel() -> ModuleType:
    """The kernel's module, which is there."""
    module = kernel.built()
    assert module is not None
    return module


# Hashes


@given(keys=st.lists(U64, max_size=20), seed=U64)
def test_hashes_are_those_of_the_xxhash_package(keys: list[int], seed: int) -> None:
    """XXH3-64 of 8 bytes, in the kernel and in numpy, for any seed."""
    items = np.array(keys, dtype=np.uint64)
    published = [xxhash.xxh3_64_intdigest(key.to_bytes(8, "little"), seed) for key in keys]
    assert fast_hashing.xxh3_64(items, seed).tolist() == published
    if module := kernel.built():
        out = np.empty_like(items)
        module.xxh3_64(items, seed, out)
        assert out.tolist() == published


@given(keys=st.lists(U64, max_size=20))
def test_the_finaliser_in_numpy_is_the_references(keys: list[int]) -> None:
    """splitmix64's finaliser over an array, number by number."""
    assert fast_hashing.mix(np.array(keys, dtype=np.uint64)).tolist() == list(
        map(hashing.mix, keys)
    )


# Each row once per gather


@given(gathers=gather_lists(12))
def test_a_gather_keeps_each_row_once(gathers: list[list[int]]) -> None:
    """In order of first occurrence, by either engine; or of last occurrence; or sorted."""
    whole = Gathers.of(gathers)
    for engine in kernel.available():
        assert lists(whole.distinct(engine=engine)) == [list(dict.fromkeys(g)) for g in gathers]
        last = [list(dict.fromkeys(reversed(g)))[::-1] for g in gathers]
        assert lists(whole.distinct("last_occurrence", engine)) == last
        assert lists(whole.distinct("sorted", engine)) == [sorted(set(g)) for g in gathers]


def lists(gathers: Gathers) -> list[list[int]]:
    """The gathers as lists."""
    return [gathers.ids[start:stop].tolist() for start, stop in pairwise(gathers.offsets)]


# The expert cache at every budget


def lookups_of(batches: list[list[int]], key_bytes: list[int]) -> Lookups:
    """What batches of keys, with repeats, look up and touch."""
    found = Lookups(key_bytes=key_bytes)
    for batch in batches:
        found.key += dict.fromkeys(batch)
        found.touched += list(dict.fromkeys(reversed(batch)))[::-1]
        found.offsets.append(len(found.key))
    return found


def naive_thresholds(batches: list[list[int]], key_bytes: list[int]) -> list[int]:
    """The definition, word by word: bytes of what is at least as recent at the batch's start."""
    found, recency, before = [], [], []
    for batch in batches:
        for key in dict.fromkeys(batch):
            if key not in recency:
                found.append(NEVER)
            elif key in before:
                found.append(0)
            else:
                found.append(sum(key_bytes[k] for k in recency[recency.index(key) :]))
        for key in batch:
            recency = [k for k in recency if k != key] + [key]
        before = batch
    return found


@given(batches=BATCHES, key_bytes=st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_thresholds_are_what_the_definition_says(
    batches: list[list[int]], key_bytes: list[int]
) -> None:
    """Both engines equal the definition on batches with repeats and unequal entry bytes."""
    lookups = lookups_of(batches, key_bytes)
    expected = naive_thresholds(batches, key_bytes)
    assert one_pass(lookups, list(pairwise(lookups.offsets)), len(lookups.key)) == expected
    if kernel.built():
        assert compiled(lookups) == expected


@needs_kernel
def test_positions_run_out_unnoticed() -> None:
    """Hundreds of touches a key, so that positions are numbered anew: still plain Python's."""
    batches = [[(3 * i) % 7, (5 * i) % 7] for i in range(2_000)]
    lookups = lookups_of(batches, [1 << 40, 2, 3, 5, 7, 11, 13])
    expected = one_pass(lookups, list(pairwise(lookups.offsets)), len(lookups.key))
    assert compiled(lookups) == expected


def compiled(lookups: Lookups) -> list[int]:
    """The kernel's thresholds."""
    parts = (lookups.key, lookups.touched, lookups.offsets, lookups.key_bytes)
    return list(kernel.thresholds(*(array("q", part) for part in parts)))


# Refusals


@needs_kernel
@pytest.mark.parametrize(
    "keys, touched, offsets, key_bytes",
    [
        ([0, 3], [0, 3], [0, 2], [1, 1]),
        ([0, -1], [0, -1], [0, 2], [1, 1]),
        ([0, 0], [0, 0], [0, 2], [1, 1]),
        ([0, 1], [0, 0], [0, 2], [1, 1]),
        ([0, 1], [1], [0, 2], [1, 1]),
        ([0, 1], [0, 1], [0, 1], [1, 1]),
        ([0, 1], [0, 1], [0, 3, 2], [1, 1]),
        ([0, 1], [0, 1], [], [1, 1]),
        ([0, 1], [0, 1], [0, 2], [1, -1]),
        ([0, 1], [0, 1], [0, 2], [1 << 62, 1 << 62]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    keys: list[int], touched: list[int], offsets: list[int], key_bytes: list[int]
) -> None:
    """Unknown or repeated keys, other touches, bad bounds, sums of 2^63: ValueError."""
    parts = (keys, touched, offsets, key_bytes)
    with pytest.raises(ValueError, match=r"key|offsets"):
        kernel.thresholds(*(array("q", part) for part in parts))


@needs_kernel
def test_a_refused_call_has_written_nothing() -> None:
    """Ids are checked against their bounds before the first output is touched."""
    ids, offsets = array("Q", [5, 6, 7]), array("q", [0, 2, 1, 3])
    out, out_offsets = array("Q", [1, 2, 3]), array("Q", [4, 5, 6, 7])
    with pytest.raises(ValueError, match="ascend"):
        the_kernel().distinct(ids, offsets, out, out_offsets)
    assert list(out) == [1, 2, 3]
    assert list(out_offsets) == [4, 5, 6, 7]


@needs_kernel
def test_the_user_can_stop_a_long_replay() -> None:
    """A signal's exception comes out of a running replay, and the half-way table is spent."""
    rows = np.zeros(1 << 26, dtype=np.uint64)
    offsets = np.arange(0, len(rows) + 1, 1 << 12)
    counts = np.zeros(9 * (len(offsets) - 1), dtype=np.int64)
    shape = {"sets": 1, "ways": 1, "candidate_sets": 1, "sketch_rows": 4, "sketch_width": 64}
    switches = "admission second_set_tie_second halve_after_gather tick_per_gather"
    switches += " age_of_insert free_way_highest victim_tie_highest"
    off = dict.fromkeys(switches.split(), False)
    table = the_kernel().RowTable(**shape, halve_every=0, hash_seed=0, **off | {"admission": True})
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(InterruptedError):
            table.replay(rows, offsets, counts)
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ValueError, match="interrupted"):
        table.replay(rows[:0], offsets[:1], counts[:0])


def _stop(number: int, frame: object) -> NoReturn:
    raise InterruptedError(number)


# Which engine


def test_the_engine_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """CACHEGATE_ENGINE switches the kernel off; empty, it leaves the choice to the tool."""
    monkeypatch.setenv(kernel.VARIABLE, "python")
    assert kernel.engine_name() == "python"
    monkeypatch.setenv(kernel.VARIABLE, "")
    assert kernel.engine_name() == kernel.available()[0]


def test_an_unknown_engine_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never taken for one of the two."""
    monkeypatch.setenv(kernel.VARIABLE, "fast")
    with pytest.raises(InputError, match=r"CACHEGATE_ENGINE.*fast"):
        kernel.engine_name()


def test_a_kernel_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for it where it was not built is told how to get it; nothing else breaks."""
    monkeypatch.setitem(sys.modules, "replay._kernel", None)
    assert kernel.available() == ["python"]
    monkeypatch.delenv(kernel.VARIABLE, raising=False)
    assert kernel.engine_name() == "python"
    monkeypatch.setenv(kernel.VARIABLE, "c")
    with pytest.raises(InputError, match="C compiler"):
        kernel.engine_name()


# Memory


@pytest.mark.usefixtures("more_than_quick")
def test_the_kernel_stays_inside_its_bounds(tmp_path: Path) -> None:
    """Built with AddressSanitizer and UBSan, it survives a workout of all functions, leak-free.

    Warnings of the compiler count as failures here.
    """
    built = tmp_path / "_kernel.so"
    runtime = compile_with_sanitizers(built)
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1",
        "LSAN_OPTIONS": "exitcode=0",  # the interpreter may leak; its own leaks are no failure
        "PYTHONMALLOC": "malloc",
    }
    workout = Path(__file__).with_name("kernel_workout.py")
    ran = subprocess.run(
        [sys.executable, workout, built],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "worked out" in ran.stdout
    assert "_kernel" not in ran.stderr, "a leak, with the kernel on the stack"


def compile_with_sanitizers(target: Path) -> str:
    """Build the kernel to `target`; returns the runtime to preload, or skips with the reason."""
    gcc, headers = shutil.which("gcc"), sysconfig.get_path("include")
    if gcc is None or not Path(headers, "Python.h").exists():
        pytest.skip("needs gcc and Python's headers")
    runtime = subprocess.check_output([gcc, "-print-file-name=libasan.so"], text=True).strip()
    if not Path(runtime).is_absolute():
        pytest.skip("this gcc has no AddressSanitizer")
    source = Path(kernel.__file__).with_name("_kernel.c")
    flags = "-O1 -g -fPIC -shared -Wall -Wextra -Werror -fno-sanitize-recover=all"
    sanitize = "-fsanitize=address,undefined"
    command = [gcc, *flags.split(), sanitize, f"-I{headers}", source, "-o", target]
    subprocess.run(command, check=True, timeout=300)
    return runtime
