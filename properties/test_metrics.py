"""Does `cachegate metrics` infer what a server does not count, judge every law, and name what forbids a verdict?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.damaged_files import written
from fixtures.expositions import Tables, exposition, served_counts
from fixtures.row_gathers import FAMILIES, gather_lists, row_configs
from gate.cli import main
from gate.metrics.intervals import TOTAL, intervals
from gate.metrics.laws import LAWS
from gate.metrics.rows import MetricsRow, row_of
from reference.row_cache import RowCache, RowCacheConfig
from reference.row_geometry import expected_fill, rows_at_fill

pytest.importorskip("prometheus_client", reason="needs the optional extra 'metrics'")
from gate.metrics.scrape import scrape_body

CAPACITY_ROWS = 3_613_836
RESIDENT_ROWS = 2_427_737

# hits, misses, evictions, rows added, hit % of the RowCache report's five requests at 1 GiB. Stated
# are the rates and evictions; of the misses and the rows added, sums over requests: the split among
# A and A', and among the later two, is free.
REPORT = {
    "A": (77_502, 738_309, 1_647, 736_600, "9.50"),
    "A'": (798_400, 4_900, 4_042, 858, "99.39"),
    "B": (460_133, 1_991_295, 223_854, 1_689_700, "18.77"),
    "B'": (2_128_731, 316_400, 175_506, 500, "87.06"),
    'A"': (694_160, 96_005, 48_129, 79, "87.85"),
}
FIELDS = ("hits", "misses", "evictions", "resident_rows")


def report_series() -> list[dict[str, int]]:
    """The server's counters before the first and after every request of the report."""
    series = [dict.fromkeys(FIELDS, 0)]
    for *grown, _ in REPORT.values():
        series.append({name: series[-1][name] + n for name, n in zip(FIELDS, grown, strict=True)})
    return [{**counts, "capacity_rows": CAPACITY_ROWS} for counts in series]


def told(
    capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0
) -> list[dict[str, Any]]:
    """The rows of `cachegate metrics … --json`, which ends with this exit code."""
    assert main(["metrics", *map(str, arguments), "--json"]) == code
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def rows_between(before: Tables, after: Tables, ways: int = 4) -> dict[str, MetricsRow]:
    """Each table's row, by its name."""
    ends = [
        scrape_body(exposition(tables).encode(), name)
        for tables, name in ((before, "b"), (after, "a"))
    ]
    found = intervals(ends[0], ends[1], ways)
    return {interval.table: row_of(1, interval) for interval in found}


def verdicts(row: MetricsRow) -> dict[str, str]:
    """Law to verdict."""
    return {finding.law: finding.verdict for finding in row.laws}


# The report's server


def test_the_reports_refusals_come_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five requests as measured: 265,994 refusals in all, 77,741 in B, 188,191 in the later two."""
    for number, counts in enumerate(report_series()):
        written(tmp_path, exposition({"": counts}), f"scrape-{number}")
    rows = told(capsys, tmp_path)
    assert [f"{row['hit_pct']:.2f}" for row in rows] == [pct for *_, pct in REPORT.values()]
    refusals = dict(zip(REPORT, (row["refusals"] for row in rows), strict=True))
    assert refusals["A"] + refusals["A'"] == 62
    assert refusals["B"] == 77_741
    assert refusals["B'"] + refusals['A"'] == 188_191
    assert sum(refusals.values()) == 265_994
    assert sum(row["evictions"] for row in rows) == 453_178
    assert rows[-1]["resident_rows"] == RESIDENT_ROWS


def test_the_reports_run_as_one_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before and after: 265,994 refusals, 67.18 % filled by 2.719 M distinct rows, 35.5 % full sets."""
    series = report_series()
    ends = [
        written(tmp_path, exposition({"": counts}), name)
        for counts, name in ((series[0], "before"), (series[-1], "after"))
    ]
    (row,) = told(capsys, *ends)
    assert row["misses"] == 3_146_909
    assert row["refusals"] == 265_994
    assert round(row["fill_pct"], 2) == 67.18
    assert row["distinct_rows"] == 2_719_487
    assert round(row["full_sets_pct"], 1) == 35.5
    assert {law["verdict"] for law in row["laws"]} == {"pass", "skip"}


def test_a_first_read_fills_as_chance_does() -> None:
    """A, all of whose misses are new rows, fills what the Poisson expectation says: 20.4 %."""
    before, after = report_series()[:2]
    row = rows_between({"": before}, {"": after})[TOTAL]
    assert row.fill_pct is not None
    assert row.expected_fill_pct is not None
    assert round(row.fill_pct, 1) == round(row.expected_fill_pct, 1) == 20.4


def test_a_later_read_is_expected_on_top_of_what_is_there() -> None:
    """B's expected fill: the rows that A and A' left, by inversion, and B's misses as new rows."""
    _, _, before, after, *_ = report_series()
    row = rows_between({"": before}, {"": after})[TOTAL]
    sets = CAPACITY_ROWS // 4
    rows = rows_at_fill(before["resident_rows"], sets, 4) + after["misses"] - before["misses"]
    assert row.expected_fill_pct == pytest.approx(100 * expected_fill(rows, sets, 4))


# Any cache


@settings(max_examples=settings.default.max_examples // 5)  # each serves a whole history
@given(st.data(), st.sampled_from(sorted(FAMILIES)))
def test_inferred_refusals_are_the_caches_own(data: st.DataObject, family: str) -> None:
    """Whatever is gathered, refusals inferred from five series are the reference's, and no law fails."""
    config = data.draw(row_configs(family))
    cache = RowCache(RowCacheConfig(**{**vars(config), "sets": config.sets * 2}))
    before = served_counts(cache)
    earlier = cache.counters
    for number, gather in enumerate(data.draw(gather_lists(config.capacity_rows))):
        cache.gather(gather, table=number % 2)
        rows = rows_between(before, served_counts(cache), config.ways)
        now = cache.counters
        assert rows[TOTAL].refusals == now.refusals - earlier.refusals
        assert rows[TOTAL].added == now.added - earlier.added
        assert {v for row in rows.values() for v in verdicts(row).values()} == {"pass", "skip"}
        before, earlier = served_counts(cache), now


# Each law, broken once

SOUND = {
    "hits": 900,
    "misses": 500,
    "lookups": 1_400,
    "evictions": 100,
    "added": 300,
    "refusals": 100,
    "resident_rows": 300,
    "capacity_rows": 400,
}
LATER = {
    "hits": 1_900,
    "misses": 600,
    "lookups": 2_500,
    "evictions": 150,
    "added": 320,
    "refusals": 130,
    "resident_rows": 320,
    "capacity_rows": 400,
}
FRESH = {**dict.fromkeys(SOUND, 0), "capacity_rows": 400}
BREAKS: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "conservation": (SOUND, {**LATER, "misses": 569}),
    "nothing-removed": (SOUND, {**LATER, "resident_rows": 299}),
    "capacity": (SOUND, {**LATER, "resident_rows": 401}),
    "same-capacity": (SOUND, {**LATER, "capacity_rows": 404}),
    "whole-sets": ({**SOUND, "capacity_rows": 402}, {**LATER, "capacity_rows": 402}),
    "full-set": (FRESH, {**FRESH, "misses": 4, "evictions": 1, "resident_rows": 3}),
    "hit-needs-row": (FRESH, {**FRESH, "hits": 1}),
    "lookups": (SOUND, {**LATER, "lookups": 2_499}),
    "refusals": (SOUND, {**LATER, "refusals": 131}),
    "added": (SOUND, {**LATER, "added": 319}),
}
NEVER_FAIL = ("counters-rise", "since-start")
"""A fall is a reset, and rows older than the counters are no fault: both are `unknown` when broken."""


def test_every_law_is_broken_here() -> None:
    """The breaks below cover all laws but those that cannot fail."""
    assert {*BREAKS, *NEVER_FAIL, TOTAL} == set(LAWS)


def test_sound_counters_pass_every_law() -> None:
    """With every series there, nothing is skipped but the total of a server without one."""
    row = rows_between({"0": SOUND}, {"0": LATER})["0"]
    assert set(verdicts(row).values()) == {"pass"}
    assert row.refusals == 30
    assert row.missing == ()


@pytest.mark.parametrize("law", BREAKS)
def test_a_broken_law_fails(law: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each law broken once fails by its own name, the exit code is 1, and the report says where."""
    before, after = BREAKS[law]
    ends = [
        written(tmp_path, exposition({"0": before}), "before"),
        written(tmp_path, exposition({"0": after}), "after"),
    ]
    (row, total) = told(capsys, *ends, code=1)
    assert {f["law"]: f["verdict"] for f in row["laws"]}[law] == "fail"
    assert total["table"] == "total"
    assert main(["metrics", *map(str, ends)]) == 1
    assert f"FAIL {law}: {LAWS[law].sentence}" in capsys.readouterr().out


def test_an_exposed_total_is_compared_with_its_tables(tmp_path: Path) -> None:
    """A total beside two tables passes as their sum, and fails one off."""
    both = {name: 2 * count for name, count in SOUND.items()}
    tables = {"0": SOUND, "1": SOUND}
    sound = rows_between({**tables, "": both}, {**tables, "": both})[TOTAL]
    assert verdicts(sound)[TOTAL] == "pass"
    off = {**both, "misses": both["misses"] + 1}
    broken = rows_between({**tables, "": both}, {**tables, "": off})[TOTAL]
    assert verdicts(broken)[TOTAL] == "fail"
    ends = [
        written(tmp_path, exposition({**tables, "": total}), name)
        for total, name in ((both, "before"), (off, "after"))
    ]
    assert main(["metrics", *map(str, ends)]) == 1


def test_rows_older_than_the_counters_give_no_verdict() -> None:
    """More resident rows than misses: the counters began later; the interval is judged all the same."""
    early = {**SOUND, "misses": 350, "lookups": 1_250}
    late = {**LATER, "misses": 450, "lookups": 2_350}
    found = verdicts(rows_between({"0": early}, {"0": late})["0"])
    assert found.pop("since-start") == "unknown"
    assert set(found.values()) == {"pass"}


# What forbids a verdict


@pytest.mark.parametrize("counter", ["hits", "misses", "evictions", "lookups"])
def test_a_counter_reset_is_named_and_never_passes(
    counter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One counter of one table falls: every law of every table is unknown, exit code 3."""
    before = {"0": SOUND, "1": SOUND}
    after = {"0": {**LATER, counter: SOUND[counter] - 1}, "1": LATER}
    ends = [
        written(tmp_path, exposition(tables), name)
        for tables, name in ((before, "before"), (after, "after"))
    ]
    rows = told(capsys, *ends, code=3)
    for row in rows:
        assert {f["verdict"] for f in row["laws"] if f["law"] != TOTAL} == {"unknown"}
        assert row["refusals"] is None
    detail = rows[0]["laws"][0]["detail"]
    assert (
        detail
        == f"counter reset: {counter} of 0 fell from {SOUND[counter]} to {SOUND[counter] - 1}"
    )


def test_a_reset_does_not_excuse_a_scrape_that_contradicts_itself() -> None:
    """More resident rows than slots is a failure, whatever happened before."""
    row = rows_between({"0": SOUND}, {"0": {**FRESH, "resident_rows": 401}})["0"]
    assert verdicts(row)["capacity"] == "fail"
    assert verdicts(row)["conservation"] == "unknown"


@pytest.mark.parametrize(
    "line",
    ["process_start_time_seconds {}", 'server_row_cache_hits_created{{table="0"}} {}'],
)
def test_a_restart_is_seen_behind_risen_counters(line: str) -> None:
    """Counters that have passed their old values again: the start time tells."""
    ends = [
        scrape_body((exposition({"0": counts}) + line.format(start) + "\n").encode(), "s")
        for counts, start in ((SOUND, 1_700_000_000.25), (LATER, 1_700_000_900.5))
    ]
    row = row_of(1, intervals(ends[0], ends[1], 4)[0])
    assert set(verdicts(row).values()) == {"unknown"}
    assert "from 1700000000.25 to 1700000900.5" in row.laws[0].detail


def test_a_missing_series_is_named() -> None:
    """Without evictions nothing is inferred; what needs none of them is still judged."""
    counts = [
        {name: ends[name] for name in ("hits", "misses", "resident_rows", "capacity_rows")}
        for ends in (SOUND, LATER)
    ]
    row = rows_between({"0": counts[0]}, {"0": counts[1]})["0"]
    found = {finding.law: finding for finding in row.laws}
    assert row.refusals is None
    assert row.missing == ("no series server_row_cache_evictions",)
    assert found["conservation"].verdict == "skip"
    assert found["conservation"].detail == "no series server_row_cache_evictions"
    assert found["capacity"].verdict == "pass"


def test_a_table_that_appears_is_named() -> None:
    """A table in the second scrape alone has no interval, and the total does not guess one."""
    rows = rows_between({"0": SOUND}, {"0": LATER, "1": SOUND})
    assert "no series server_row_cache_hits of 1 before" in rows["1"].missing
    assert verdicts(rows["1"])["conservation"] == "skip"
    assert verdicts(rows["1"])["capacity"] == "pass"
    assert rows[TOTAL].refusals is None
    assert rows["0"].refusals == 30


def test_gauges_of_the_whole_cache_serve_the_total() -> None:
    """Counters by table and gauges for all together: the total is judged, the tables are not."""
    ends = []
    for counts in (SOUND, LATER):
        counters = {name: counts[name] for name in ("hits", "misses", "evictions")}
        gauges = {name: counts[name] for name in ("resident_rows", "capacity_rows")}
        ends.append({"0": counters, "": gauges})
    rows = rows_between(*ends)
    assert rows[TOTAL].refusals == 30
    assert rows[TOTAL].distinct_rows is not None
    assert rows["0"].refusals is None
