"""Does a device cost what its file says, and does its file say what the recorded runs give?"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from fixtures.devices import Device, device_names, load_device, wall_ms
from gate.golden.definitions.growth_devices import PARAMETERS
from gate.golden.table import distance, half_unit
from reference.errors import MIB, InputError
from replay.closed_loop import Work

PLAIN = Device(
    id="plain",
    name="plain",
    platform="",
    lane_mib_s=500.0,
    waited_share=0.25,
    management_ms_per_mib=0.5,
    compute_ms={"default": 10.0},
    conceded=((0, 100.0), (8, 40.0)),
    heat=((0, 1.0), (8, 2.0)),
    ms_per_fault=0.1,
    base_faults=1.0,
    faults_per_mib=2.0,
)


def work(first_token: int = 0, resident_mib: int = 0, turn: int = 0) -> Work:
    """Four tokens that read 20 MiB."""
    return Work(turn, 4, first_token, 20 * MIB, resident_mib * MIB, cache_on=True)


def test_a_turn_costs_what_the_formulas_say() -> None:
    """20 MiB at 500 a second are 40 ms of reading and 10 of waiting; 30 MiB too much are 61 faults a token."""
    turn = PLAIN.measure(work(resident_mib=130))
    assert (turn.io_ms, turn.waited_ms, turn.management_ms) == (40.0, 10.0, 10.0)
    assert turn.faults == 4 * (1 + 2 * 30)
    assert turn.compute_ms == pytest.approx(4 * 10 + 244 * 0.1)
    assert wall_ms(turn) == pytest.approx(10 + 10 + 64.4)


def test_what_is_conceded_and_the_heat_change_with_the_tokens() -> None:
    """From token 8 on 40 MiB are conceded and compute takes twice as long."""
    before, after = (PLAIN.measure(work(token, resident_mib=90)) for token in (7, 8))
    assert (before.faults, after.faults) == (4, 4 * (1 + 2 * 50))
    assert after.compute_ms == pytest.approx(80 + 404 * 0.1)


def test_without_a_cache_nothing_is_managed() -> None:
    """With the cache off the engine spends no time on it."""
    assert PLAIN.measure(replace(work(), cache_on=False)).management_ms == 0


def test_faults_that_cannot_be_counted_still_cost() -> None:
    """A platform that cannot count faults says nothing of them; compute has their time all the same."""
    blind = replace(PLAIN, counts_faults=False).measure(work(resident_mib=130))
    assert blind.faults is None
    assert blind.compute_ms == PLAIN.measure(work(resident_mib=130)).compute_ms


def test_noise_depends_on_seed_and_turn_alone() -> None:
    """Two budgets see the same noise; another seed or turn sees another; it stays within sqrt(3) spreads."""
    noisy = replace(PLAIN, compute_spread=0.2)
    one, other = (noisy.measure(work(resident_mib=mib), seed=1).compute_ms for mib in (0, 50))
    assert one == other
    found = {
        noisy.measure(work(turn=turn), seed=seed).compute_ms for turn in range(9) for seed in (1, 2)
    }
    assert len(found) == 18
    reach = 3**0.5 * 0.2 / 4**0.5
    assert all(abs((ms - 0.4) / 40 - 1) <= reach for ms in found)
    assert noisy.quiet.measure(work()).compute_ms == 40.4


@pytest.mark.parametrize("device, key", sorted(PARAMETERS))
def test_the_file_says_what_the_runs_give(bench_data: Path, device: str, key: str) -> None:
    """Each measured number stands in the device's file, rounded to its last digit."""
    name, _, arch = key.partition(".")
    said = getattr(load_device(device), name)
    if arch:
        said = said[arch]
    elif name == "heat":
        said = said[-1][1]
    exponent = Decimal(str(said)).as_tuple().exponent
    assert isinstance(exponent, int)
    assert distance(said, PARAMETERS[device, key](bench_data)) <= half_unit(max(0, -exponent))


def test_every_number_has_its_source() -> None:
    """A device file names the run behind each number; one that follows another file says so."""
    structural = {"id", "name", "platform", "counts_faults", "sources"}
    for name in device_names():
        device = load_device(name)
        fallback = "others" in device.sources
        for key in Device.__dataclass_fields__:
            if key not in structural and getattr(device, key) not in (0.0, (), {}):
                assert key in device.sources or fallback, f"{name}: {key}"


def test_the_pressed_phone_differs_where_its_file_says() -> None:
    """Everything else is that of the calm phone."""
    calm, pressed = load_device("phone"), load_device("phone-pressed")
    own = {"id", "name", "sources", *pressed.sources}
    for key in set(Device.__dataclass_fields__) - own:
        assert getattr(calm, key) == getattr(pressed, key)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("name = 3", "name is 3"),
        ("lane_mib_s = 0", "lane_mib_s is 0"),
        ("lane_mib_s = nan", "lane_mib_s is nan"),
        ("compute_ms = 5", "compute_ms is 5"),
        ("conceded = [[5, 1], [2, 1]]", "conceded is out of order"),
        ("conceded = [[0.5, 1]]", "conceded holds"),
        ("conceded = 7", "conceded holds 7"),
        ("speed = 1", "unknown key speed"),
        ("name = 'x'", "missing"),
        ("= ", "cannot be read"),
        ("a = " + "[" * 5000, "cannot be read"),
    ],
)
def test_a_file_that_is_no_device_is_refused_by_name(
    tmp_path: Path, text: str, problem: str
) -> None:
    """The message names the file and what is wrong with it."""
    path = tmp_path / "odd.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        load_device(str(path))
    assert problem in str(refused.value)
    assert str(path) in str(refused.value)


def test_an_unknown_device_lists_those_there_are() -> None:
    """The three that come with the project are named."""
    with pytest.raises(InputError, match="desktop, phone, phone-pressed"):
        load_device("toaster")
