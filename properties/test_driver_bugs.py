"""Does the gate catch what is seeded into the example drivers in C++ and Rust, bugs of such languages among them?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.example_drivers import NoCompiler
from fixtures.seeded_bugs.drivers import DRIVER_BUGS
from gate.power.cases import DERANDOMIZED, MOST_CASES
from gate.power.drivers import driver_score

TRIED = {"quick": 0, "gate": 4, "nightly": 99}
"""How many bugs of each language a profile builds and tries."""

SEEDS = {"gate": (DERANDOMIZED,), "nightly": (DERANDOMIZED, *range(20))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a bug that the profile tries."""
    if "bug_id" in metafunc.fixturenames:
        most = TRIED[metafunc.config.getoption("--profile")]
        by_language: dict[str, list[str]] = {}
        for bug in DRIVER_BUGS.values():
            by_language.setdefault(bug.language, []).append(bug.id)
        tried = [
            bug
            for bugs in by_language.values()
            for bug in bugs[:: max(1, len(bugs) // max(most, 1))]
        ]
        metafunc.parametrize("bug_id", tried if most else [])


def test_there_are_enough_of_each_language() -> None:
    """At least 25 in C++ and 25 in Rust, on both caches."""
    for language in ("cpp", "rust"):
        bugs = [bug for bug in DRIVER_BUGS.values() if bug.language == language]
        assert len(bugs) >= 25
        assert {bug.kind for bug in bugs} == {"expert", "row"}


@pytest.mark.parametrize("bug", DRIVER_BUGS.values(), ids=lambda bug: bug.id)
def test_a_bug_changes_its_file_in_one_place(bug: object) -> None:
    """Each text a bug replaces stands in its file exactly once, so that it is known what is changed."""
    known = DRIVER_BUGS[bug.id]  # type: ignore[attr-defined]
    assert known.changed()


def test_a_bug_of_a_driver_is_caught(
    bug_id: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Built and judged like any driver, it breaks a law within the gate's first cases, by more than a hang."""
    seeds = SEEDS[pytestconfig.getoption("--profile")]
    try:
        score = driver_score(DRIVER_BUGS[bug_id], seeds, tmp_path)
    except NoCompiler as missing:
        pytest.skip(str(missing))
    assert None not in score.runs, f"not caught in {MOST_CASES} cases: {score}"
