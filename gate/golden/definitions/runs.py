"""Which recorded runs do the definitions read, and which of their tokens count?

The proposal drops the first five tokens of a run, in which the dense weights are still being paged
in, and takes the speed over all others together: tokens / sum of their wall time. The convention is
not written down there; it is the one with which every per-run figure of BigMoeOnEdge#103 comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean

from replay.recordings import TurnRows, read_metrics

WARM_UP_TOKENS = 5

ANON_LONG = "2026-07-21-pinned-dense-ab/bmoe-20260720-212009"
"""Qwen3.6 at 3000 MiB, anonymous dense weights, 1581 tokens; another day and prompt than the next two."""

AHWB_LONG = "2026-07-21-pinned-dense-ab/bmoe-20260721-101543"
"""Qwen3.6 at 3000 MiB, dense weights in hardware buffers, 1354 tokens."""

ANON_PARTNER = "2026-07-21-pinned-dense-ab/bmoe-20260721-103724"
"""The partner of AHWB_LONG: same build, prompt and 1354 tokens, anonymous dense weights."""


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run of one generation.

    Args:
        name: path of its per-token CSV below the folder of recorded runs, without suffix.
        preamble: what the run was started with, as text.
        turn: its rows and summary.
    """

    name: str
    preamble: dict[str, str]
    turn: TurnRows

    def all_tokens(self, column: str) -> list[float]:
        """A column from the first token on."""
        return self.turn.numbers(column)

    def steady(self, column: str) -> list[float]:
        """A column without the tokens of the warm-up."""
        return self.all_tokens(column)[WARM_UP_TOKENS:]

    def summary(self, key: str) -> float:
        """A number of the run's summary.

        Raises:
            KeyError: the summary has no such number.
        """
        value = self.turn.total_number(key)
        if value is None:
            raise KeyError(f"{self.name} has no {key}")
        return value


@cache
def recorded_run(bench_data: Path, name: str) -> Run:
    """The run called `name`.

    Raises:
        InputError: the file cannot be read.
    """
    file = read_metrics(bench_data / f"{name}.csv")
    (turn,) = file.turns
    return Run(name, file.preamble, turn)


@cache
def recorded_runs(bench_data: Path) -> tuple[Run, ...]:
    """Every run whose CSV begins with a preamble, by name; those before 2026-07-17 have none.

    Raises:
        InputError: a file cannot be read.
    """
    names = [
        path.relative_to(bench_data).with_suffix("").as_posix()
        for path in sorted(bench_data.glob("*/*.csv"))
        if _has_preamble(path)
    ]
    return tuple(recorded_run(bench_data, name) for name in names)


def tokens_per_second(wall_ms: Sequence[float]) -> float:
    """The speed over all these tokens together."""
    return 1000 * len(wall_ms) / sum(wall_ms)


def windows(column: Sequence[float], length: int) -> list[Sequence[float]]:
    """The column cut into non-overlapping full windows; a shorter rest is left out."""
    return [column[at : at + length] for at in range(0, len(column) - length + 1, length)]


def dense_residency(fractions: Sequence[float]) -> float:
    """Mean resident fraction of the dense weights; -1 marks a token before the first sample."""
    return mean(fraction for fraction in fractions if fraction >= 0)


def _has_preamble(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline(64).startswith(b"# bmoe_metrics")
