"""Options of the suite: the profile, what is under test, and where the recorded runs lie."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

pytest_plugins = ["gate.judging.recorder"]

BENCH_DATA_HELP = (
    "recorded runs of the engine: a checkout of Helldez/BigMoeOnEdge has them under docs/bench-data; "
    "point --bench-data or CACHEGATE_BENCH_DATA at that folder"
)
ENGINE_RUNS_HELP = (
    "more runs of the engine on tiny models (fixtures/runs holds the committed ones); "
    "point --engine-runs or CACHEGATE_ENGINE_RUNS at a folder with their manifest.json"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the suite's own options."""
    group = parser.getgroup("cachegate")
    group.addoption("--profile", default="quick", choices=["quick", "gate", "nightly"])
    group.addoption("--expert-cache", action="append", metavar="CONNECT")
    group.addoption("--row-cache", action="append", metavar="CONNECT")
    group.addoption("--deviations", action="append", metavar="FILE")
    group.addoption("--counterexamples", metavar="DIR", default="counterexamples")
    group.addoption("--bench-data", metavar="DIR", help=BENCH_DATA_HELP)
    group.addoption("--engine-runs", metavar="DIR", help=ENGINE_RUNS_HELP)


def pytest_configure(config: pytest.Config) -> None:
    """Load the Hypothesis profile and seed the run asked for; `nightly` has a fresh one, which the report tells."""
    from fixtures import profiles  # noqa: PLC0415 - Hypothesis is not imported before pytest is configured

    seeded = config.option.hypothesis_seed is not None
    profiles.load(config.getoption("--profile"), seeded=seeded)
    if config.getoption("--profile") == "nightly" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbits(32))


def _folder(config: pytest.Config, option: str, variable: str, how: str) -> Path:
    named = config.getoption(option) or os.environ.get(variable)
    if not named:
        pytest.skip(how)
    folder = Path(named)
    if not folder.is_dir():
        raise pytest.UsageError(f"{option}: {named} is not a folder; {how}")
    return folder


@pytest.fixture(scope="session")
def bench_data(pytestconfig: pytest.Config) -> Path:
    """The folder of recorded runs and routing traces; the test skips where there is none."""
    return _folder(pytestconfig, "--bench-data", "CACHEGATE_BENCH_DATA", BENCH_DATA_HELP)


@pytest.fixture(scope="session")
def engine_runs(pytestconfig: pytest.Config) -> Path:
    """The folder of all tiny-model runs with their manifest; the test skips where there is none."""
    return _folder(pytestconfig, "--engine-runs", "CACHEGATE_ENGINE_RUNS", ENGINE_RUNS_HELP)


@pytest.fixture(scope="session")
def counterexamples(pytestconfig: pytest.Config) -> Path:
    """Where failing programs are written."""
    return Path(pytestconfig.getoption("--counterexamples"))


@pytest.fixture
def more_than_quick(pytestconfig: pytest.Config) -> None:
    """Skips under the profile quick: for a test that takes a second without trying programs."""
    if pytestconfig.getoption("--profile") == "quick":
        pytest.skip("takes its time: from the profile gate on")


@pytest.fixture(scope="session")
def only_nightly(pytestconfig: pytest.Config) -> None:
    """Skips but under the profile nightly: for a test that takes ten seconds."""
    if pytestconfig.getoption("--profile") != "nightly":
        pytest.skip("takes long: in the profile nightly")
