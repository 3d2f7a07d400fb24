"""Does the self-sizing rule keep its promises on recorded routing and the devices made from recorded runs?"""

from __future__ import annotations

from itertools import pairwise
from math import log2
from pathlib import Path

import pytest

from fixtures.devices import Device, device_names, load_device
from gate.golden.definitions.traces import TRACES, route_trace
from gate.growth.connect import LOOPS, built_in
from reference.growth_history import History
from replay.closed_loop import run_closed_loop
from replay.sampled_curve import PREFILL
from replay.trace_session import TraceSession, TraceTurns

TURN_TOKENS = 8
SEEDS = range(4)


def session(turns: TraceTurns, device: Device, loop: str, seed: int = 0) -> History:
    """What a loop was told and answered on a trace and a device."""
    sizing = built_in(LOOPS[loop])(turns.shape, 0.0, device.platform)
    arch = turns.trace.arch
    ran = run_closed_loop(
        sizing,
        TraceSession(turns, PREFILL),
        lambda work: device.measure(work, arch, seed),
        turns.shape,
    )
    return ran.history


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("name", device_names())
def test_noise_moves_the_resting_budget_by_one_cycle_at_most(
    bench_data: Path, trace: str, name: str, more_than_quick: None
) -> None:
    """Of the size each device file states, at the turn length of the page."""
    turns = TraceTurns(route_trace(bench_data, trace), TURN_TOKENS)
    device = load_device(name)
    quiet = session(turns, device.quiet, "greedy").resting_bytes()
    for seed in SEEDS:
        resting = session(turns, device, "greedy", seed).resting_bytes()
        assert abs(resting - quiet) <= turns.legal.step


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_the_loop_does_not_thrash_on_the_calm_phone(
    bench_data: Path, trace: str, loop: str, more_than_quick: None
) -> None:
    """The direction changes at most 4 + 2 log2(turns) times; budgets are whole cycles, one apart."""
    turns = TraceTurns(route_trace(bench_data, trace), TURN_TOKENS)
    budgets = session(turns, load_device("phone"), loop).budgets
    moves = [later - earlier for earlier, later in pairwise(budgets) if later != earlier]
    changes = sum((one > 0) != (other > 0) for one, other in pairwise(moves))
    assert changes <= 4 + 2 * log2(len(budgets))
    assert {abs(move) for move in moves} <= {turns.legal.step}
