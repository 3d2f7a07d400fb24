"""Which laws do usage estimates and the choice of the victim keep? What is resident is observed, never modelled.

Levels 2 and 3. The sketch is a function of the lookups alone, so one step at a time it decides who leaves: of the
residents that the implementation shows before the step, the one with the lowest (estimate, last access).
Source: the RowCache report; the sketch is reference/usage_sketch.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference.laws import (
    ROW,
    SHARED_PLACEMENT,
    Broken,
    Case,
    Finding,
    Registry,
    all_of,
    columns,
    shown,
)
from reference.row_counter_laws import config_of
from reference.row_pins import Pins
from reference.row_timeline import Row, RowStep, Sites, Uses
from reference.usage_sketch import CELL_MAX, UsageSketch

LAWS = Registry(ROW)
Findings = Iterable[Finding]


# --- estimates ------------------------------------------------------------------------------------


@LAWS.law("row-sketch/at-least-the-lookups", 3, all_of(*columns("estimates")))
def at_least_the_lookups(case: Case) -> Findings:
    """An estimate is at least the row's lookups, misses included, halved when all were and up to 255."""
    uses = [Uses(config_of(case)) for _ in config_of(case).sets]
    for step, _, after in case.around_rows():
        if step.is_gather:
            uses[step.table].count(step)
        for (table, row), estimate in (after.estimates or {}).items():
            floor = uses[table].floors.get(row, 0)
            held = floor <= estimate
            expected = f"estimate of row {row} at least {floor}"
            yield None if held else Broken(step.number, expected, f"estimate {estimate}")


@LAWS.law("row-sketch/step-by-step", 3, all_of(*columns("estimates")))
def step_by_step(case: Case) -> Findings:
    """A lookup raises its row's estimate by one, others' by one at most; a halving floors; nothing else moves it."""
    uses = [Uses(config_of(case)) for _ in config_of(case).sets]
    for step, before, after in case.around_rows():
        events = uses[step.table].count(step) if step.is_gather else []
        was, now = before.estimates or {}, after.estimates or {}
        for row in was.keys() & now.keys():
            low, high = _bounds(was[row], row[1], events if row[0] == step.table else [])
            held = low <= now[row] <= high
            expected = f"estimate of row {row[1]}, {was[row]} before, from {low} to {high}"
            yield None if held else Broken(step.number, expected, f"estimate {now[row]}")


def _bounds(estimate: int, row: int, events: Iterable[int | None]) -> tuple[int, int]:
    """The least and the most that a row's estimate can be after lookups of these rows, None being a halving."""
    low = high = estimate
    for event in events:
        if event is None:
            low, high = low >> 1, high >> 1
        else:
            low = min(low + (event == row), CELL_MAX)
            high = min(high + 1, CELL_MAX)
    return low, high


# --- who leaves -----------------------------------------------------------------------------------


@LAWS.law("row-admission/least-used-leaves", 2, all_of(SHARED_PLACEMENT, "insert_age=lookup"))
def least_used_leaves(case: Case) -> Findings:
    """A row that comes alone fills a free slot, or replaces the lowest (estimate, last access) iff used as much."""
    if config_of(case).insert_age != "lookup":
        return
    usage = Usage(case)
    for step, before, after in case.around_rows():
        if before.resident is None or after.resident is None:
            return
        usage.look_up(step)
        pinned = usage.pins.take(step, before, after)
        newcomer = _newcomer(step, before.resident)
        if newcomer is not None and config_of(case).sets[step.table]:
            allowed = usage.allowed(newcomer, before.resident, pinned, step.is_insert)
            if allowed:
                yield _one_of(step, newcomer, allowed, after.resident)
        usage.settle(step, before.resident, after.resident)


def _newcomer(step: RowStep, resident: frozenset[Row]) -> Row | None:
    """The one row that a step brings in, if it is one."""
    if step.times > 1 or not (step.is_gather or (step.is_insert and len(step.rows) == 1)):
        return None
    absent = {(step.table, row) for row in step.rows} - resident
    return absent.pop() if len(absent) == 1 else None


def _one_of(
    step: RowStep, newcomer: Row, allowed: list[frozenset[Row]], got: frozenset[Row]
) -> Finding:
    if got in allowed:
        return None
    expected = " or ".join(shown(residents) for residents in allowed)
    return Broken(
        step.number, f"after row {newcomer[1]} came, resident {expected}", f"resident {shown(got)}"
    )


class Usage:
    """The sketches and last accesses of all tables, from the lookups alone.

    Attributes:
        last_access: by row; a row whose last access cannot be told is not in it.
    """

    def __init__(self, case: Case) -> None:
        config = self.config = config_of(case)
        self.sites = Sites(config)
        self.pins = Pins(config)
        self.sketches = [
            UsageSketch(config.sketch_rows, config.sketch_width, config.halve_every)
            for _ in config.sets
        ]
        self.now = [0] * config.tables
        self.last_access: dict[Row, int] = {}

    # Following the steps.

    def look_up(self, step: RowStep) -> None:
        """Count the lookups of a step; of a halving after the gather, the last one is left to `settle`."""
        for _ in range(step.times if step.is_gather else 0):
            self.sketches[step.table].halve_if_due()
            if self.config.clock_tick == "gather":
                self._tick(step.table)
            for row in step.worked:
                self._look_up((step.table, row))

    def _look_up(self, row: Row) -> None:
        if self.config.clock_tick == "lookup":
            self._tick(row[0])
        self.sketches[row[0]].count(self.sites.of(row).columns)
        if self.config.halve_when == "at_once":
            self.sketches[row[0]].halve_if_due()
        self.last_access[row] = self.now[row[0]]

    def _tick(self, table: int) -> None:
        every = range(len(self.now)) if self.config.clock_scope == "cache" else (table,)
        for at in every:
            self.now[at] += 1

    def settle(self, step: RowStep, there: frozenset[Row], now: frozenset[Row]) -> None:
        """The step is over: what was resident before and after it tells when a read-ahead row came."""
        if step.is_gather:
            self.sketches[step.table].halve_if_due()
        rows = {(step.table, row) for row in step.rows} if step.is_insert else set()
        for row in rows & now:
            if row not in there or self.config.insert_resident == "touch":
                self.last_access[row] = self.now[step.table]
            elif not rows <= there:
                self.last_access.pop(row, None)  # it may have left and come back

    # What follows.

    def allowed(
        self, newcomer: Row, there: frozenset[Row], pinned: frozenset[Row], reads_ahead: bool
    ) -> list[frozenset[Row]]:
        """What may be resident once `newcomer` came; several at a tie, none where the residents do not tell."""
        rivals = self._rivals(newcomer, there)
        if rivals is None or self.pins.unsure.intersection(rivals):
            return []
        if len(rivals) < self.config.ways * len(self.sites.of(newcomer).sets):
            return [there | {newcomer}]
        victims = self._victims(rivals - pinned)
        bypasses = reads_ahead and self.config.readahead == "pin"
        if not victims or not (bypasses or self._used(newcomer) >= self._used(victims[0])):
            return [there]
        return [there - {victim} | {newcomer} for victim in victims]

    def _rivals(self, newcomer: Row, there: frozenset[Row]) -> frozenset[Row] | None:
        """Who sits in the newcomer's sets; None when some resident may sit there or elsewhere."""
        sets, rivals = set(self.sites.of(newcomer).sets), set()
        for row in there:
            own = self.sites.of(row).sets
            if row[0] != newcomer[0] or sets.isdisjoint(own):
                continue
            if not sets.issuperset(own):
                return None
            rivals.add(row)
        return frozenset(rivals)

    def _victims(self, rivals: frozenset[Row]) -> list[Row]:
        """Who may go first: the least used, and of these the oldest; all whose age is not known."""
        least = min(map(self._used, rivals), default=0)
        weakest = sorted(row for row in rivals if self._used(row) == least)
        known = [self.last_access[row] for row in weakest if row in self.last_access]
        oldest = min(known, default=0)
        return [row for row in weakest if self.last_access.get(row, oldest) == oldest]

    def _used(self, row: Row) -> int:
        """What admission weighs: the estimate, or nothing."""
        if not self.config.admission:
            return 0
        return self.sketches[row[0]].estimate(self.sites.of(row).columns)
