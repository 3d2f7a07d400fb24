"""What kind of recorded file is this, and which run does it belong to?

The kind is read from the first lines where the name does not tell: a `.metrics` file is a per-token
CSV in one campaign and a list of device figures in another.
"""

from __future__ import annotations

import stat
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from reference.errors import InputError
from replay.lines import KEY_VALUE, read_lines
from replay.recordings import INTEGER, INTEGER_COLUMNS, REAL_COLUMNS


class Kind(Enum):
    """What a file can be to an audit."""

    ROUTE = "route trace"
    METRICS = "per-token CSV"
    STDOUT = "standard output"
    SIDECAR = "device figures"
    PROMPTS = "session commands"
    OTHER = "other"


class Artefact(NamedTuple):
    """A classified file; `reason` says why a file of kind OTHER is passed over."""

    kind: Kind
    reason: str = ""


STDOUT_SUFFIXES = (".stdout", ".out", ".log")
"""In the order of preference when a run has several."""

ROUTE_SUFFIX = ".route.csv"

OTHER_TABLES = {
    "budget_mib,policy,": "a table of hit rates by budget, not a run",
    "turn,phase,step,layer,expert,proj,": "an I/O trace: no law of the audit reads it",
    "turn,phase,step,seq,layer,op,": "a compute trace: no law of the audit reads it",
}
"""How the header of a table that is no run begins, and what it is."""


def stem_of(path: Path) -> str:
    """The file's name without its artefact suffix: the name of its run within the folder."""
    name = path.name
    return name.removesuffix(ROUTE_SUFFIX) if name.endswith(ROUTE_SUFFIX) else path.stem


def classify(path: Path) -> Artefact:
    """The kind of a file.

    Raises:
        InputError: a CSV or `.metrics` file that cannot be read as text (see replay/lines.py).
    """
    if not _is_regular(path):
        return Artefact(Kind.OTHER, "not a regular file: a broken link, a pipe or a device")
    if path.name.endswith(ROUTE_SUFFIX):
        return Artefact(Kind.ROUTE)
    if path.suffix in STDOUT_SUFFIXES:
        return Artefact(Kind.STDOUT)
    if path.suffix == ".stdin":
        return Artefact(Kind.PROMPTS)
    if path.suffix in (".csv", ".metrics"):
        return _by_first_lines(path)
    return Artefact(Kind.OTHER, f"no law reads {path.suffix or 'files without suffix'}")


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _by_first_lines(path: Path) -> Artefact:
    for _, text in read_lines(path):
        if text.startswith("# route_trace"):
            return Artefact(Kind.ROUTE)
        if text.startswith("# bmoe_metrics"):
            return Artefact(Kind.METRICS)
        if text and not text.startswith("#"):
            return _by_header(path, text)
    return Artefact(Kind.METRICS)  # comments only: its reader says what is missing


def _by_header(path: Path, header: str) -> Artefact:
    for start, reason in OTHER_TABLES.items():
        if header.startswith(start):
            return Artefact(Kind.OTHER, reason)
    names = set(header.split(","))
    if {"residency", "expert"} <= names:
        return Artefact(Kind.ROUTE)
    if names & (INTEGER_COLUMNS | REAL_COLUMNS) or INTEGER.fullmatch(header.partition(",")[0]):
        return Artefact(Kind.METRICS)
    if path.suffix == ".metrics" and KEY_VALUE.fullmatch(header):
        return Artefact(Kind.SIDECAR)
    return Artefact(Kind.OTHER, "a table with no column of a recorded run")


def read_sidecar(path: str | Path) -> dict[str, int]:
    """The `key=value` device figures of a benchmark driver: peak_rss_kb, temperatures and so on.

    Raises:
        InputError: a line that is no pair of a name and an integer, or a file that is no text.
    """
    figures: dict[str, int] = {}
    for line, text in read_lines(path):
        if not text:
            continue
        match = KEY_VALUE.fullmatch(text)
        if not match or not INTEGER.fullmatch(match[2].removeprefix("-")):
            expected = "name=integer"
            raise InputError("no device figure", source=str(path), line=line, expected=expected)
        figures[match[1]] = int(match[2])
    return figures
