"""Are the shipped model shapes what the models' formats and the recorded runs say?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fixtures.shapes import block_formats, entry_bytes_of, named_shape, named_shapes
from gate.golden.definitions.runs import recorded_runs
from gate.golden.definitions.traces import route_trace, trace_shape
from reference.errors import InputError

MODELS = sorted(named_shapes())

TRACED = {"gptoss": "gpt-oss-120b", "qwen": "qwen3-30b-a3b", "gemma": "gemma-4-26b"}

LAYERS_BY_ENTRY = {
    "gpt-oss-120b": {13_219_200: 36},
    "qwen3-30b-a3b": {3_059_712: 24, 2_654_208: 24},
    "qwen3.6-35b": {2_039_808: 20, 1_769_472: 20},
    "gemma-4-26b": {4_336_640: 14, 3_593_216: 16},
    "lfm2.5-8b": {0: 2, 8_056_832: 10, 7_569_408: 12},
}


def gets_more_bits(layer: int, layers: int) -> bool:
    """The quantizer's rule for the better format of a down projection (ggml-org/llama.cpp)."""
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


@pytest.mark.parametrize("model", MODELS)
def test_every_entry_size_follows_from_matrix_and_formats(model: str) -> None:
    """Entries are rows * columns weights in three projections, in one of the listed formats each."""
    shape = named_shape(model)
    derived = {entry_bytes_of(shape.matrix, formats) for formats in shape.formats}
    assert set(shape.shape.entry_bytes) - {0} == derived


@pytest.mark.parametrize("model", MODELS)
def test_as_many_layers_have_each_size_as_the_source_says(model: str) -> None:
    """The counts of layers by entry size are those that give the recorded token demand."""
    assert Counter(named_shape(model).shape.entry_bytes) == LAYERS_BY_ENTRY[model]


@pytest.mark.parametrize("model", MODELS)
def test_dense_layers_have_no_experts(model: str) -> None:
    """Experts stand where entries have bytes, and nowhere else."""
    shape = named_shape(model).shape
    assert all(
        (size > 0) == (count > 0)
        for size, count in zip(shape.entry_bytes, shape.experts, strict=True)
    )


@pytest.mark.parametrize(
    ("model", "counted"),
    [("qwen3-30b-a3b", 48), ("qwen3.6-35b", 40), ("gemma-4-26b", 60), ("lfm2.5-8b", 24)],
)
def test_the_order_of_layers_follows_the_quantizers_rule(model: str, counted: int) -> None:
    """The larger entries stand where the rule puts them; Gemma has two down projections a layer.

    Of the two orders that were recorded, Qwen3-30B-A3B and Gemma, the rule gives both; the two that
    were not recorded, Qwen3.6 and LFM2.5, are taken from it.
    """
    sizes = named_shape(model).shape.entry_bytes
    larger = [size == max(sizes) for size in sizes if size]
    assert larger == [gets_more_bits(layer, counted) for layer, size in enumerate(sizes) if size]


@pytest.mark.parametrize("trace", sorted(TRACED))
def test_the_shape_is_what_the_trace_records(bench_data: Path, trace: str) -> None:
    """Layer by layer, entry bytes and experts equal the preamble of the routing trace."""
    recorded = trace_shape(bench_data, trace)
    model = named_shape(TRACED[trace])
    assert model.shape.with_k(recorded.k) == recorded
    assert model.arch == route_trace(bench_data, trace).arch


def test_every_recorded_run_has_a_shape(bench_data: Path) -> None:
    """File, architecture, layers and experts of each preamble are those of one shipped shape."""
    by_file = {shape.file: shape for shape in named_shapes().values()}
    for run in recorded_runs(bench_data):
        model = by_file[run.preamble["model"]]
        assert run.preamble["arch"] == model.arch
        assert int(run.preamble["n_layer"]) == len(model.shape.entry_bytes)
        assert int(run.preamble["n_expert"]) == max(model.shape.experts)


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    """The error lists the shapes that can be asked for."""
    with pytest.raises(InputError, match="gpt-oss-120b"):
        named_shape("gpt-5")


def test_a_matrix_that_is_no_whole_number_of_blocks_is_refused() -> None:
    """704 columns of one row do not fill blocks of 256 weights."""
    with pytest.raises(ValueError, match="no multiple"):
        block_formats()["Q4_K"].matrix_bytes(1, 704)
