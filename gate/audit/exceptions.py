"""Which failures are known, by name and reason, and which of those no longer hold?"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from gate.audit.findings import FAIL, PASS, UNKNOWN, Finding

EXCEPTIONS_FILE = Path(__file__).with_name("known_exceptions.toml")


@dataclass(frozen=True, slots=True)
class KnownException:
    """A law that named runs are known to break; fields as known_exceptions.toml explains them."""

    id: str
    law: str
    runs: tuple[str, ...]
    says: str
    reason: str
    source: str
    beside: tuple[str, ...] = ()

    def covers(self, run: PurePath, finding: Finding) -> bool:
        """Is this failure the known one?"""
        return (
            (finding.law, finding.verdict) == (self.law, FAIL)
            and matches(run, self.runs)
            and self.says in finding.detail
        )


def matches(run: PurePath, patterns: Iterable[str]) -> bool:
    """Does the end of the run's path match one of the patterns?"""
    return any(run.match(pattern) for pattern in patterns)


@cache
def known_exceptions() -> tuple[KnownException, ...]:
    """All entries of known_exceptions.toml."""
    return tuple(_known_exception(entry) for entry in _document()["exception"])


def _known_exception(entry: dict[str, Any]) -> KnownException:
    patterns = {key: tuple(entry.get(key, ())) for key in ("runs", "beside")}
    texts = {key: str(entry[key]) for key in ("id", "law", "says", "reason", "source")}
    return KnownException(runs=patterns["runs"], beside=patterns["beside"], **texts)


@cache
def declared_twins() -> tuple[tuple[str, ...], ...]:
    """The groups of runs that are twins by their campaign's word."""
    return tuple(tuple(entry["runs"]) for entry in _document()["twins"])


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(EXCEPTIONS_FILE.read_text(encoding="utf-8"))


def excused(run: PurePath, finding: Finding) -> Finding:
    """The finding, or `unknown` under the known exception's id if one covers it."""
    for entry in known_exceptions():
        if entry.covers(run, finding):
            detail = f"{entry.id}: {entry.reason} ({finding.detail})"
            return Finding(finding.law, UNKNOWN, detail)
    return finding


def outlived(findings: dict[PurePath, list[Finding]]) -> list[str]:
    """The entries that no longer hold, told in one line each: all their runs are here and pass.

    Args:
        findings: all findings of each run, after `excused`.
    """
    told = []
    for entry in known_exceptions():
        named = [
            [f for run, all_ in findings.items() if run.match(pattern) for f in all_]
            for pattern in entry.runs
        ]
        beside = all(any(run.match(p) for run in findings) for p in entry.beside)
        verdicts = [{f.verdict for f in found if f.law == entry.law} for found in named]
        if beside and any(found == {PASS} for found in verdicts):
            told.append(f"known exception {entry.id} no longer holds: law {entry.law} passes")
    return told
