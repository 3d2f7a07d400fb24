"""What does an audit find? A verdict for each law, with the figures that decided it."""

from __future__ import annotations

from typing import NamedTuple

PASS, FAIL, UNKNOWN, SKIP = "pass", "fail", "unknown", "skip"

WORST_FIRST = (FAIL, UNKNOWN, PASS, SKIP)
"""Of several verdicts on one law the first of these stands: `unknown` is never shown as a pass."""


class Finding(NamedTuple):
    """One verdict. `detail` is one line; a verdict `unknown` begins with the reason's name."""

    law: str
    verdict: str
    detail: str


class Judgement(NamedTuple):
    """A verdict on one law of one turn."""

    verdict: str
    detail: str


def judged(faults: list[str], figures: str) -> Judgement:
    """Pass with the figures that were compared, or fail with the first fault."""
    if not faults:
        return Judgement(PASS, figures)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return Judgement(FAIL, faults[0] + more)


def skipped(reason: str) -> Judgement:
    """The artefacts do not hold what the law needs."""
    return Judgement(SKIP, reason)


def unknown(reason: str) -> Judgement:
    """The law may hold or not; the reason begins with its name."""
    return Judgement(UNKNOWN, reason)
