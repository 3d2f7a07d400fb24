"""Which function computes the cells of a golden table? The table names one of these.

A definition takes the folder of recorded runs and gives the table's rows, column name to value. Those of the row
cache do not look into the folder: they replay the synthetic text, or work on figures of other tables.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gate.golden.definitions import (
    breakpoints,
    demand,
    device,
    growth,
    growth_devices,
    growth_samples,
    hits,
    memory,
    row_derived,
    rows,
    saving,
    speed,
)
from gate.golden.table import Row

Definition = Callable[[Path], list[Row]]

ROW_DEFINITIONS: dict[str, Definition] = {
    definition.__name__: definition
    for definition in (
        rows.of_the_server,
        row_derived.row_cache_derived,
        rows.row_cache_capacity,
        rows.row_cache_chance,
        rows.row_cache_emulated,
        rows.row_cache_emulated_eighth,
        rows.row_cache_fill,
        rows.row_cache_fill_eighth,
        rows.row_cache_ratios,
    )
}
"""Those of the row cache, which need no recorded runs."""

DEFINITIONS: dict[str, Definition] = ROW_DEFINITIONS | {
    definition.__name__: definition
    for definition in (
        demand.token_demand,
        demand.token_demand_recorded,
        demand.predicted_demand,
        demand.auto_budget,
        demand.zero_hit_runs,
        hits.hit_by_cycles,
        hits.hit_by_exact_cycles,
        hits.marginal_gains,
        hits.marginal_gains_exact,
        hits.gain_order,
        hits.budget_rules,
        hits.cliff,
        hits.hit_claims,
        hits.prefill_simulation,
        breakpoints.breakpoints,
        breakpoints.breakpoint_sample,
        device.device_against_replay,
        device.budget_cut,
        memory.memory_signal,
        memory.memory_signal_range,
        memory.memory_signal_across,
        memory.dense_residency_table,
        speed.faults_against_speed,
        speed.faults_against_speed_elsewhere,
        speed.long_run_windows,
        speed.long_run_fall,
        speed.fault_cost,
        speed.fault_share,
        speed.fault_penalty,
        speed.fault_penalty_claim,
        saving.saving_ratio,
        saving.saving_ratio_claim,
        growth.growth_comparison,
        growth.growth_decisions,
        growth.growth_dips,
        growth_samples.sample_length,
        growth_samples.sample_length_synthetic,
        growth_devices.device_parameters,
        growth_devices.management_time,
        growth_devices.fault_price,
        growth_devices.faults_by_budget,
        growth_devices.compute_spread,
    )
}
