"""How is an emulation of a RowCache told? The tables of `cachegate rows`: results, then costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from statistics import mean, stdev

from gate.rows.emulation import RowsRow, Run
from gate.show import print_table
from reference.errors import MIB
from reference.row_geometry import SLOT_BYTES

ROW_BYTES = SLOT_BYTES - 16
"""What a miss reads: a slot without its 16 bytes of index."""

RESULTS = ["policy", "request", "lookups", "hit %", "added", "evictions", "refusals"]
RESULTS += ["fill %", "expected %", "full sets %", "read MiB", "wait s"]
COSTS = ["policy", "entries/lookup", "second probes/lookup", "estimates/lookup"]
COSTS += ["entries/eviction", "estimates/eviction"]


def print_results(rows: Sequence[RowsRow], us_per_miss: float) -> None:
    """A line a policy and request; over several seeds the mean, and ± the standard deviation."""
    print_table(RESULTS, [_result(group, us_per_miss) for group in _by_policy_and_request(rows)])


def _by_policy_and_request(rows: Sequence[RowsRow]) -> list[list[RowsRow]]:
    """The rows of all seeds together, policies and requests in their order."""
    groups: dict[tuple[str, int], list[RowsRow]] = {}
    for (policy, _), run in groupby(rows, key=lambda row: (row.policy, row.seed)):
        for number, row in enumerate(run):
            groups.setdefault((policy, number), []).append(row)
    return list(groups.values())


def _result(rows: Sequence[RowsRow], us_per_miss: float) -> list[str]:
    misses = mean(row.lookups - row.hits for row in rows)
    return [
        rows[0].policy,
        rows[0].request,
        _over_seeds(rows, lambda row: row.lookups, 0),
        _over_seeds(rows, lambda row: row.hit_pct, 2),
        _over_seeds(rows, lambda row: row.added, 0),
        _over_seeds(rows, lambda row: row.evictions, 0),
        _over_seeds(rows, lambda row: row.refusals, 0),
        _over_seeds(rows, lambda row: row.fill_pct, 2),
        _over_seeds(rows, lambda row: row.expected_fill_pct, 2),
        _over_seeds(rows, lambda row: row.full_sets_pct, 2),
        f"{misses * ROW_BYTES / MIB:.1f}",
        f"{misses * us_per_miss / 1e6:.3f}",
    ]


def _over_seeds(
    rows: Sequence[RowsRow], value: Callable[[RowsRow], float | None], digits: int
) -> str:
    """The value, or mean ± standard deviation; a dash where there is none."""
    values = [number for row in rows if (number := value(row)) is not None]
    if not values:
        return "-"
    text = f"{mean(values):.{digits}f}"
    spread = stdev(values) if len(values) > 1 else 0.0
    return f"{text} ± {spread:.{digits}f}" if spread else text


def print_costs(runs: Sequence[Run]) -> None:
    """What a layout costs, over all requests of its first seed.

    An entry is one way's index entry; a probe of a set reads them all. An eviction here is any
    insert that met a full set, refused or not: it reads the entries of every candidate set, and
    under admission the estimate of every resident and of the newcomer.
    """
    first = [run for run in runs if run.config.hash_seed == 0]
    print_table(COSTS, [_cost(run) for run in first])


def _cost(run: Run) -> list[str]:
    lookups = int(run.column("hits").sum() + run.column("misses").sum())
    probes = int(run.column("second_probes").sum())
    estimates = int(run.column("estimates_read").sum())
    searches = int(run.column("evictions").sum() + run.column("refusals").sum())
    candidates = run.config.ways * run.config.candidate_sets
    # Under admission every entry's estimate is read, and the newcomer's: two equal sets count once.
    entries = estimates - searches if run.config.admission else candidates * searches
    return [
        run.layout.name,
        _ratio(run.config.ways * (lookups + probes), lookups),
        _ratio(probes, lookups),
        _ratio(estimates, lookups),
        _ratio(entries, searches),
        _ratio(estimates, searches),
    ]


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"
