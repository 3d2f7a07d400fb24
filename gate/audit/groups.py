"""Which recorded runs are twins, so that a law may compare them?

It is read from preambles and prompts, within one folder. Equal settings and equally long prompts
do not prove that the prompt was the same; where a trace shows it, the group is split by it: the
routing of the first MoE layer in the prefill, which no streamed expert can influence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from gate.audit.exceptions import declared_twins, matches
from gate.audit.facts import Facts

NEUTRAL_KEYS = frozenset(
    (
        *("engine", "io_threads", "o_direct", "overlap", "io_two_wave", "dense_weights"),
        *("cache_auto", "cache_ceil_mb", "cache_floor_mb", "force_cache", "predict_log"),
        *("predict_spec_max", "compute_trace_layers", "prefetch_sync", "drop_renorm"),
    )
)
"""Preamble keys that must change neither hits nor output: timing must not steer the cache."""

OUTPUT_NEUTRAL_KEYS = NEUTRAL_KEYS | {"moe_stream", "cache_mb", "cache_policy", "n_ubatch"}
"""Preamble keys that must not change the output: the cache must not steer the model."""

DEFAULTS = {"drop_cold_frac": "0", "cache_policy": "lru", "drop_prefill": "0"}
"""What the preambles of older builds leave out."""


class Group(NamedTuple):
    """Twins; `declared` if they are that by their campaign's word."""

    runs: list[Facts]
    declared: bool


def hit_twins(runs: list[Facts]) -> list[Group]:
    """Runs of one model, prompt, k, budget and policy: by their campaign's word, or by preamble."""
    declared = [
        [facts for facts in runs if matches(facts.run.path, names)] for names in declared_twins()
    ]
    word = {id(facts) for group in declared for facts in group}
    rest = [facts for facts in runs if facts.streams and id(facts) not in word]
    return [*(Group(group, True) for group in declared), *_alike(rest, NEUTRAL_KEYS)]


def output_twins(runs: list[Facts]) -> list[Group]:
    """Runs of one model, prompt and k, whatever their cache."""
    return _alike(runs, OUTPUT_NEUTRAL_KEYS)


def _alike(runs: list[Facts], neutral: frozenset[str]) -> list[Group]:
    groups = defaultdict[Hashable, list[Facts]](list)
    for facts in runs:
        if facts.run.preamble.get("model"):
            groups[_settings(facts, neutral)].append(facts)
    return [group for alike in groups.values() for group in _by_prompt(alike)]


def _settings(facts: Facts, neutral: frozenset[str]) -> Hashable:
    """All that must be equal: the folder, the settings, what was asked, and how."""
    said = {**DEFAULTS, **facts.run.preamble}
    said["model"] = PurePosixPath(said["model"]).name
    kept = frozenset((key, value) for key, value in said.items() if key not in neutral)
    asked = tuple(
        (turn.rows.total("n_prompt"), *turn.rows.columns["steps"][:1])
        for turn in facts.turns
        if turn.rows
    )
    budget = None if "cache_mb" in neutral or not facts.budget else facts.budget.nominal_bytes
    session = facts.run.stdout is not None and facts.run.stdout.is_session
    return facts.run.path.parent, kept, asked, budget, session


def _by_prompt(alike: list[Facts]) -> Iterator[Group]:
    """Split by what the traces show; runs without a trace stay with the others of a single prompt."""
    shown = defaultdict[Hashable, list[Facts]](list)
    for facts in alike:
        shown[_first_layer(facts)].append(facts)
    silent = shown.pop(None, [])
    if len(shown) == 1:
        silent += shown.popitem()[1]
    for group in (*shown.values(), silent):
        yield Group(group, False)


def _first_layer(facts: Facts) -> Hashable:
    """Which experts the first MoE layer was asked for in every prefill; None without a trace."""
    trace = facts.run.trace
    if trace is None:
        return None
    return tuple(
        (batch.turn, *trace.expert[batch.first_row : batch.first_row + batch.row_count])
        for batch in trace.batches
        if batch.layer == trace.moe_layers[0] and not batch.phase
    )
