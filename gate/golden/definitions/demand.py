"""What does one token ask for, and what do budgets mean in such cycles?"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from fixtures.shapes import NamedShape, named_shape, named_shapes
from gate.golden.definitions.runs import Run, recorded_runs
from gate.golden.table import Row
from reference.errors import MIB
from reference.sizing import ModelShape, layer_demand_bytes, token_demand_bytes

FIXED_BUDGET_MIB = 3000

PROPOSAL_K = {"gemma-4-26b": 6}
"""The proposal's table takes each model's own k, but 6 for Gemma, whose own is 8."""

DESKTOP = "2026-07-24-desktop-qwen36/"


def token_demand(_bench_data: Path) -> list[Row]:
    """TD and the cycles that 3000 MiB hold, from the shapes alone."""
    return [
        {
            "model": model.name,
            "k": shape.k,
            "token_demand_mib": token_demand_mib(shape),
            "cycles": FIXED_BUDGET_MIB / token_demand_mib(shape),
        }
        for model, shape in _proposal_shapes()
    ]


def token_demand_recorded(bench_data: Path) -> list[Row]:
    """TD and widest layer from the shapes beside what the engine measured at that k without drop."""
    rows: list[Row] = []
    for model, shape in _proposal_shapes():
        runs = [run for run in recorded_runs(bench_data) if _same_demand(run, model, shape)]
        rows.append(
            {
                "model": model.name,
                "k": shape.k,
                "token_demand_mib": token_demand_mib(shape),
                "recorded_token_demand_mib": _agreed(runs, "token_demand_MiB"),
                "layer_demand_mib": widest_layer_mib(shape),
                "recorded_layer_demand_mib": _agreed(runs, "layer_demand_MiB"),
                "runs": len(runs),
            }
        )
    return rows


def predicted_demand(bench_data: Path) -> list[Row]:
    """The demand of gpt-oss at k = 4: from its shape, and as the engine recorded it."""
    model = named_shape("gpt-oss-120b")
    runs = [run for run in recorded_runs(bench_data) if _same_demand(run, model, model.shape)]
    return [
        {"demand": "predicted", "token_demand_mib": token_demand_mib(model.shape)},
        {"demand": "recorded", "token_demand_mib": _agreed(runs, "token_demand_MiB")},
    ]


def auto_budget(bench_data: Path) -> list[Row]:
    """What `--cache-mb auto` chose on the desktop."""
    return [
        {
            "run": run.name.removeprefix(DESKTOP),
            "preamble_mib": int(run.preamble["cache_mb"]),
            "budget_mib": run.summary("cache_budget_MiB"),
        }
        for run in recorded_runs(bench_data)
        if run.name.startswith(DESKTOP) and run.preamble["cache_auto"] == "1"
    ]


def zero_hit_runs(bench_data: Path) -> list[Row]:
    """The runs with the cache on in which not one token hit, and how many cycles they held."""
    return [
        {
            "run": run.name,
            "budget_mib": int(run.preamble["cache_mb"]),
            "cycles": int(run.preamble["cache_mb"]) / token_demand_mib(shape_of(run)),
            "highest_hit_pct": max(run.all_tokens("cache_hit_pct")),
            "read_mib_per_token": sum(run.all_tokens("read_bytes")) / MIB / run.turn.row_count,
        }
        for run in recorded_runs(bench_data)
        if int(run.preamble["cache_mb"]) > 0 and run.summary("cache_hit_pct") == 0
    ]


def token_demand_mib(shape: ModelShape) -> Fraction:
    """TD in MiB, exactly."""
    return Fraction(token_demand_bytes(shape), MIB)


def widest_layer_mib(shape: ModelShape) -> Fraction:
    """The largest demand of one layer in MiB, exactly."""
    return Fraction(max(layer_demand_bytes(shape, layer) for layer in shape.moe_layers), MIB)


def shape_of(run: Run) -> ModelShape:
    """The shape of the model that `run` used, at the run's k.

    Raises:
        LookupError: no shape of fixtures/shapes.toml names the run's model file.
    """
    for model in named_shapes().values():
        if model.file == run.preamble["model"]:
            return model.shape.with_k(int(run.preamble["n_expert_used"]))
    raise LookupError(f"{run.name}: no shape for {run.preamble['model']}")


def drops(run: Run) -> bool:
    """Does the run drop cold experts, so that its tokens ask for less than TD?"""
    return float(run.preamble.get("drop_cold_frac", "0")) > 0


def _proposal_shapes() -> list[tuple[NamedShape, ModelShape]]:
    return [
        (model, model.shape.with_k(PROPOSAL_K.get(model.id, model.shape.k)))
        for model in named_shapes().values()
    ]


def _same_demand(run: Run, model: NamedShape, shape: ModelShape) -> bool:
    return run.preamble["model"] == model.file and not drops(run) and shape_of(run).k == shape.k


def _agreed(runs: list[Run], key: str) -> float:
    """The one number that all runs have in their summary."""
    (value,) = {run.summary(key) for run in runs}
    return value
