"""Does the expert cache do right where public bug reports say others went wrong, and does the gate see each bug?"""

from __future__ import annotations

import pytest

from fixtures.expert_histories import history, own_bytes
from fixtures.reported_bugs import REPORTED_BUGS, ReportedBug, seen
from fixtures.seeded_bugs import BUGS
from gate.connect.implementation import BuiltIn
from gate.judging.judge import Judge
from gate.power.seeded import SeededCache
from reference.errors import InputError
from reference.expert_counters import hit_pct
from reference.laws import EXPERT
from reference.policy_replay import replay_policy
from reference.sizing import ModelShape

EACH = pytest.mark.parametrize("bug", REPORTED_BUGS, ids=lambda bug: bug.seeded)


@EACH
def test_the_reference_is_right_where_the_report_was_wrong(bug: ReportedBug) -> None:
    """The program of a report gives what was worked out for a correct cache."""
    assert seen(history(bug.operations, **bug.settings), bug.right) == bug.right


@EACH
def test_the_reported_bug_gives_the_reported_outcome(bug: ReportedBug) -> None:
    """The reference with that bug gives the wrong outcome that was worked out for it."""
    wrong = history(bug.operations, BUGS[bug.seeded].open_session, **bug.settings)
    assert seen(wrong, bug.wrong) == bug.wrong


@EACH
def test_the_gate_sees_the_reported_bug(bug: ReportedBug) -> None:
    """On that program the cache with the bug breaks a law, and the reference breaks none."""
    small = history(bug.operations, **bug.settings).program
    assert Judge.of(SeededCache(bug.seeded)).judge(small) is not None
    assert Judge.of(BuiltIn(EXPERT)).judge(small) is None


# Reports that are about delivered bytes


@pytest.mark.parametrize(
    "seeded, then, delivered",
    [
        ("C-E95", "prefill 0: 2 0 1 4", (2, 0, 1, 4)),
        ("C-E118", "decode 0: 1; end; budget 2; begin; decode 0: 1", (1,)),
    ],
    ids=["antirez-ds4-384", "hyrise-922"],
)
def test_each_expert_delivers_its_own_bytes(
    seeded: str, then: str, delivered: tuple[int, ...]
) -> None:
    """In a batch above the budget (ds4#384) and after a shrink (hyrise#922) an expert has its own bytes."""
    operations = f"decode 0: 0; decode 0: 1; decode 0: 2; {then}"
    assert history(operations, budget_bytes=3).last.digest == own_bytes(0, *delivered)
    wrong = history(operations, BUGS[seeded].open_session, budget_bytes=3)
    assert wrong.last.digest != own_bytes(0, *delivered)
    assert Judge.of(SeededCache(seeded)).judge(wrong.program) is not None


def test_results_do_not_depend_on_the_budget() -> None:
    """GenerelSchwerz/llama.cpp#99: one trace at budgets 0, 1, 2, 4 and all delivers the same bytes."""
    trace = "prefill 0: 3 1 3 0; decode 0: 1; decode 0: 4; decode 0: 3; decode 0: 1"
    delivered = [
        [answer.digest for answer in history(trace, budget_bytes=budget).outcome.answers]
        for budget in (0, 1, 2, 4, 6)
    ]
    assert delivered == [delivered[0]] * 5
    assert delivered[0][1] == own_bytes(0, 3, 1, 3, 0)


# Reports that are about rates and curves


def test_a_rate_without_lookups_is_defined() -> None:
    """aiox-core#500: no lookups give -1 and no exception; beyond 2^32 the rate stays right."""
    assert hit_pct(0, 0) == -1.0
    assert hit_pct(1 << 40, 1 << 41) == 50.0


def test_lru_hits_are_at_most_the_optimum() -> None:
    """BigMoeOnEdge#89: two slots and 0 1 2 0 1 2 give lru no hit and belady two."""
    batches = [(0, (expert,), True) for expert in (0, 1, 2, 0, 1, 2)]
    shape = ModelShape((1,), (3,), 1)
    hits = [
        sum(batch.hits[0] for _, batch in replay_policy(shape, batches, policy, 2))
        for policy in ("lru", "belady")
    ]
    assert hits == [0, 2]


@pytest.mark.parametrize("policy", ["lru2", "LRU", "", "belady"])
def test_a_policy_that_cannot_be_run_is_no_silent_lru(policy: str) -> None:
    """BigMoeOnEdge#89: a misspelt policy, and one that needs the future, are refused when the program is read."""
    with pytest.raises(InputError, match=policy or "policy"):
        history("decode 0: 0", policy=policy)


def test_a_prompt_may_cycle_the_working_set_out() -> None:
    """antirez/ds4#504 is no bug: a long prompt's union evicts what decode used, as plain LRU must."""
    long_prompt = history("decode 0: 0; decode 0: 1; prefill 0: 2 3 4 5; decode 0: 0")
    assert long_prompt.hits == "m m mmmm m"
    assert Judge.of(BuiltIn(EXPERT)).judge(long_prompt.program) is None
