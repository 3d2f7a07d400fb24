"""Do the recorded runs still give the golden tables? Needs the folder of recorded runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.golden.comparison import compare, reproduced_claims
from gate.golden.definitions import DEFINITIONS, ROW_DEFINITIONS
from gate.golden.definitions.traces import TRACES, route_trace, trace_shape
from gate.golden.sources import SAMPLES
from gate.golden.table import Table, distance, half_unit
from gate.golden.table_file import TABLES, load, load_all
from gate.judging.recorder import Record
from reference.errors import MIB
from reference.expert_cache import ExpertCache
from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.expert_counters import hit_pct
from reference.sizing import cliff_bytes, token_demand_bytes
from replay.traces import DECODE


def replayed_by_reference(bench_data: Path, trace: str, budget_bytes: int) -> ExpertCache:
    """The reference cache after all batches of a trace: independent of the one-pass engine."""
    recorded = route_trace(bench_data, trace)
    config = ExpertConfig(trace_shape(bench_data, trace), budget_bytes, rules=EXACT_BYTES)
    cache = ExpertCache(config)
    for batch in recorded.batches:
        experts = recorded.expert[batch.first_row : batch.first_row + batch.row_count]
        cache.load(batch.layer, experts, decode=batch.phase == DECODE)
    return cache


OF_RECORDED_RUNS = [
    table for table in load_all() if table.definition not in ROW_DEFINITIONS | SAMPLES
]


@pytest.mark.parametrize("table", OF_RECORDED_RUNS, ids=lambda table: table.id)
def test_the_recorded_runs_give_the_table(bench_data: Path, table: Table, record: Record) -> None:
    """Every asserted cell comes out within its tolerance, and no stated claim does."""
    measured = DEFINITIONS[table.definition](bench_data)
    differences = [str(difference) for difference in compare(table, measured)]
    cells = sum(len(table.asserted_cells(row)) for row in table.rows)
    record.add_golden(table.id, cells, differences)
    assert differences == []
    assert reproduced_claims(table, measured) == []


@pytest.mark.parametrize("trace", TRACES)
def test_the_reference_cache_gives_the_device_counters(bench_data: Path, trace: str) -> None:
    """Loaded batch by batch, the reference counts what the table says the device counted."""
    table = load(TABLES / "device-against-replay.toml")
    cache = replayed_by_reference(bench_data, trace, int(table.cell("budget_mib", trace)) * MIB)
    counters = cache.counters
    resident_mib = sum(entry.size_bytes for entry in cache.residents.values()) / MIB
    assert counters.evictions == table.cell("evictions", trace)
    assert counters.rereads == table.cell("rereads", trace)
    decode_pct = hit_pct(counters.decode_hits, counters.decode_lookups)
    for column, value, digits in (
        ("recorded_hit_pct", hit_pct(counters.hits, counters.lookups), 1),
        ("decode_hit_pct", decode_pct, 3),
        ("recorded_resident_mib", resident_mib, 1),
    ):
        assert distance(table.cell(column, trace), value) <= half_unit(digits)


@pytest.mark.parametrize(("budget_of", "printed"), [("rounded", "27.9"), ("exact", "35.4")])
def test_the_reference_cache_gives_gemma_at_one_cycle(
    bench_data: Path, budget_of: str, printed: str
) -> None:
    """676 MiB is just below one cycle and gives 27.9 %; exactly one cycle gives 35.4 %."""
    demand = token_demand_bytes(trace_shape(bench_data, "gemma"))
    budget = round(demand / MIB) * MIB if budget_of == "rounded" else demand
    counters = replayed_by_reference(bench_data, "gemma", budget).counters
    assert f"{hit_pct(counters.decode_hits, counters.decode_lookups):.1f}" == printed


@pytest.mark.parametrize("trace", TRACES)
def test_the_cliff_is_where_the_shape_puts_it(bench_data: Path, trace: str) -> None:
    """The first budget with a decode hit is TD - (k - 1) * largest entry, to the byte."""
    table = load(TABLES / "cliff.toml")
    shape = trace_shape(bench_data, trace)
    assert table.cell("first_hit_bytes", trace) == cliff_bytes(shape)
    assert table.cell("token_demand_bytes", trace) == token_demand_bytes(shape)
