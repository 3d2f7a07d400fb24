"""How is a run's per-token CSV read: its preamble, its rows by turn, its summaries?

Columns are read by name, so every column set the engine has written (8, 9, 11, 22, 23 and 29
columns) is one case. Cells stay text, because laws compare them to the printed digit; the typed
access is by method. Format: Helldez/BigMoeOnEdge at 2d4f2b1, `--csv`, "bmoe_metrics" v1 and v2,
and the files without preamble from before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from reference.errors import InputError, printable
from replay.lines import header_columns, pairs_of, preamble_pairs, read_lines

METRIC_COLUMNS = frozenset(("step", "steps", "wall_ms", "io_ms", "compute_ms", "read_bytes"))

INTEGER_COLUMNS = frozenset(("step", "steps", "read_bytes", "turn", "majflt", "mtp_batch"))
REAL_COLUMNS = METRIC_COLUMNS - INTEGER_COLUMNS | frozenset(
    (
        *("cache_hit_pct", "stall_ms", "mgmt_ms", "cpu_ms", "dense_resident_frac", "majflt_mib"),
        *("cache_budget_mib", "rss_mib", "rss_anon_mib", "rss_file_mib", "swap_mib"),
        *("mem_available_mib", "mem_free_mib", "swap_free_mib", "loop_overhead_ms"),
        *("mtp_draft_ms", "drain_ms", "adopt_ms", "ra_issue_ms", "ra_wd_ms"),
    )
)

INTEGER = re.compile(r"\d{1,18}", re.ASCII)
REAL = re.compile(r"-?\d{1,18}(\.\d{1,18})?(e[-+]\d{1,2})?", re.ASCII)
"""With two digits of exponent, so that no reader meets a number that a float cannot hold."""
NOT_A_NUMBER = frozenset(("nan", "-nan", "inf", "-inf"))


def whole_number(text: str | None) -> int | None:
    """The text as an integer of 0 or more; None if it is none, or absurdly long."""
    return int(text) if text is not None and INTEGER.fullmatch(text) else None


@dataclass(slots=True)
class TurnRows:
    """The rows of one generation, and its summary.

    Attributes:
        turn: the `turn` column, or the count of the turns before where there is none.
        columns: cell texts by column name, in row order.
        lines: the 1-based line of each row.
        summary: the `# summary` pairs as text; None for a turn that did not complete.
        summary_line: its line; 0 without one.
    """

    turn: int
    columns: dict[str, list[str]]
    lines: list[int] = field(default_factory=list)
    summary: dict[str, str] | None = None
    summary_line: int = 0

    @property
    def row_count(self) -> int:
        """Tokens that were decoded and written."""
        return len(self.lines)

    def has(self, *names: str) -> bool:
        """Does the file have all these columns?"""
        return all(name in self.columns for name in names)

    def integers(self, name: str) -> list[int]:
        """An integer column, as integers."""
        return [int(cell) for cell in self.columns[name]]

    def numbers(self, name: str) -> list[float]:
        """A numeric column, as floats."""
        return [float(cell) for cell in self.columns[name]]

    def total(self, name: str) -> str | None:
        """The summary's text for a key; None without summary or key."""
        return None if self.summary is None else self.summary.get(name)

    def total_integer(self, name: str) -> int | None:
        """The summary's value for a key as an integer; None if it is absent or no integer."""
        return whole_number(self.total(name))

    def total_number(self, name: str) -> float | None:
        """The summary's value for a key as a float; None if it is absent or no number."""
        text = self.total(name)
        return float(text) if text is not None and REAL.fullmatch(text) else None


@dataclass(slots=True)
class MetricsFile:
    """A per-token CSV.

    Attributes:
        source: the path as it was given.
        version: "v1" or "v2"; empty for a file without preamble.
        preamble: its `key=value` pairs; empty for a file without preamble.
        columns: the header, in file order.
        turns: one per generation, in file order.
    """

    source: str
    version: str = ""
    preamble: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    turns: list[TurnRows] = field(default_factory=list)


def read_metrics(path: str | Path) -> MetricsFile:
    """Read a per-token CSV (also one that is named `.metrics`).

    Raises:
        InputError: no header, a column missing or doubled, a row of the wrong width, a cell that
            is no number, or a summary that is no list of pairs. It names file and line.
    """
    reader = _Reader(str(path))
    for line, text in read_lines(path):
        reader.take(line, text)
    return reader.finish()


class _Reader:
    """The state of one reading."""

    def __init__(self, source: str) -> None:
        self.file = MetricsFile(source)
        self.open: TurnRows | None = None
        self.completed = 0
        self.kinds: list[re.Pattern[str] | None] = []

    def take(self, line: int, text: str) -> None:
        """Take one line."""
        if text.startswith("# summary"):
            self._take_summary(line, text)
        elif text.startswith("#"):
            self._take_preamble(line, text)
        elif self.file.columns:
            if text:
                self._take_row(line, text)
        elif text:
            self.file.columns = header_columns(text, METRIC_COLUMNS, self.file.source, line)
            self.kinds = [_kind(name) for name in self.file.columns]

    def _take_preamble(self, line: int, text: str) -> None:
        if text.startswith("# bmoe_metrics"):
            self.file.version = text.removeprefix("# bmoe_metrics").strip()
            if self.file.version not in ("v1", "v2"):
                self._fault(f"`{printable(text)}`", line, "# bmoe_metrics v1 or v2")
        elif not self.file.columns:
            self.file.preamble.update(preamble_pairs(text))

    def _take_row(self, line: int, text: str) -> None:
        names, cells = self.file.columns, text.split(",")
        if len(cells) != len(names):
            self._fault(f"a row of {len(cells)} fields", line, f"{len(names)}: {','.join(names)}")
        for name, kind, cell in zip(names, self.kinds, cells, strict=True):
            if kind and not kind.fullmatch(cell) and not (kind is REAL and cell in NOT_A_NUMBER):
                what = "an integer" if kind is INTEGER else "a decimal number"
                self._fault(f"{name} is `{printable(cell)}`", line, what)
        turn = self._turn_of(dict(zip(names, cells, strict=True)))
        turn.lines.append(line)
        for name, cell in zip(names, cells, strict=True):
            turn.columns[name].append(cell)

    def _turn_of(self, row: dict[str, str]) -> TurnRows:
        """The generation that the row belongs to.

        A new one begins behind a summary, when the turn changes, and when the step falls back:
        a generation that failed leaves rows without a summary.
        """
        number = int(row["turn"]) if "turn" in row else self.completed
        if self.open is not None:
            step_fell = int(row["step"]) <= int(self.open.columns["step"][-1])
            if step_fell or self.open.turn != number:
                self.open = None
        if self.open is None:
            self.open = TurnRows(number, {name: [] for name in self.file.columns})
            self.file.turns.append(self.open)
        return self.open

    def _take_summary(self, line: int, text: str) -> None:
        pairs = pairs_of(text.split())
        if not self.file.columns or not pairs:
            self._fault("a summary without header or pairs", line, "rows, then `# summary k=v ...`")
        if self.open is None:
            # A generation that ended before its first token: no rows, but a summary.
            names = self.file.columns
            self.file.turns.append(TurnRows(self.completed, {name: [] for name in names}))
        turn = self.file.turns[-1]
        turn.summary, turn.summary_line = pairs, line
        self.open, self.completed = None, turn.turn + 1

    def _fault(self, problem: str, line: int, expected: str) -> NoReturn:
        raise InputError(problem, source=self.file.source, line=line, expected=expected)

    def finish(self) -> MetricsFile:
        """The file, once the last line is taken."""
        if not self.file.columns:
            self._fault(
                "no header line", 1, f"a header that names {', '.join(sorted(METRIC_COLUMNS))}"
            )
        return self.file


def _kind(name: str) -> re.Pattern[str] | None:
    """The form that the cells of a column have; None for a column that is not known."""
    if name in INTEGER_COLUMNS:
        return INTEGER
    return REAL if name in REAL_COLUMNS else None
