"""What must every self-sizing rule keep, whatever it decides? Laws on what it was told and what it answered.

The first laws hold on every machine; those that begin "On a machine" apply only where the facts say so. Source:
BigMoeOnEdge#103 for what the rule may do; the retired governor of BigMoeOnEdge#35 (growing and cutting without end) for
what it may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from reference.growth_events import IN_GENERATION, NO_GENERATION, Begun, Ended, KSet, Sampled
from reference.growth_history import EVERYTHING, NOTHING, GrowthCase, History
from reference.laws import Broken, Finding, compare
from reference.sizing import legal_budgets, token_demand_bytes

Judge = Callable[[GrowthCase], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class GrowthLaw:
    """A law: stable name, one sentence, and what yields one finding a check."""

    id: str
    sentence: str
    judge: Judge


GROWTH_LAWS: list[GrowthLaw] = []


def law(law_id: str) -> Callable[[Judge], Judge]:
    """Register the decorated judge; its docstring is the law's sentence."""

    def register(judge: Judge) -> Judge:
        GROWTH_LAWS.append(GrowthLaw(law_id, " ".join((judge.__doc__ or "").split()), judge))
        return judge

    return register


def broken_laws(case: GrowthCase) -> list[tuple[GrowthLaw, Broken]]:
    """Every law that does not hold, with the first place where it does not."""
    found = []
    for each in GROWTH_LAWS:
        broken = next((finding for finding in each.judge(case) if finding), None)
        if broken:
            found.append((each, broken))
    return found


# --- on every machine -------------------------------------------------------------------------------------------------


@law("growth/opens-at-one-cycle")
def _opens_at_one_cycle(case: GrowthCase) -> Iterable[Finding]:
    """The opening budget is one cycle, and 0 for a model without experts."""
    demand = token_demand_bytes(case.history.shape)
    yield compare(0, "opening budget", demand, case.history.opened.budget_bytes)


@law("growth/legal-budgets")
def _legal_budgets(case: GrowthCase) -> Iterable[Finding]:
    """Every budget is 0 or a whole number of cycles of the k in force, at most the least that holds all experts; so no
    run pays for a cache that cannot hit."""
    legal, shape = legal_budgets(case.history.shape), case.history.shape
    for step in case.history.steps:
        if step.shape != shape:
            legal, shape = legal_budgets(step.shape), step.shape
        budget_bytes = step.after.budget_bytes
        yield (
            None
            if budget_bytes in legal
            else Broken(
                step.number,
                f"0 or a multiple of {legal.step} up to {legal[-1]}",
                f"budget {budget_bytes}",
            )
        )


@law("growth/never-inside")
def _never_inside(case: GrowthCase) -> Iterable[Finding]:
    """Nothing changes from a generation's beginning to its end."""
    for step in case.history.steps:
        inside = step.generating and not isinstance(step.event, Ended)
        if inside or isinstance(step.event, Begun):
            yield compare(step.number, "budget", step.before.budget_bytes, step.after.budget_bytes)


@law("growth/refused-by-name")
def _refused_by_name(case: GrowthCase) -> Iterable[Finding]:
    """What is out of place is refused by name and changes nothing; nothing else is refused."""
    for step in case.history.steps:
        expected = ""
        if isinstance(step.event, Begun | KSet) and step.generating:
            expected = IN_GENERATION
        elif isinstance(step.event, Ended) and not step.generating:
            expected = NO_GENERATION
        yield compare(step.number, "refusal", expected, step.after.refusal)
        if expected:
            yield compare(step.number, "budget", step.before.budget_bytes, step.after.budget_bytes)


@law("growth/k-and-drop-untouched")
def _k_and_drop_untouched(case: GrowthCase) -> Iterable[Finding]:
    """The top-k is the one the user set, and the drop threshold the one of the opening."""
    history = case.history
    yield compare(0, "k", history.shape.k, history.opened.k)
    for step in history.steps:
        yield compare(step.number, "k", step.shape.k, step.after.k)
        yield compare(step.number, "drop", history.drop_fraction, step.after.drop_fraction)


@law("growth/one-cycle-a-step")
def _one_cycle_a_step(case: GrowthCase) -> Iterable[Finding]:
    """A generation's end moves the budget by one cycle or not at all; a sample does not move it."""
    for step in case.history.steps:
        if isinstance(step.event, Ended | Sampled):
            moved = abs(step.after.budget_bytes - step.before.budget_bytes)
            most = token_demand_bytes(step.shape) if isinstance(step.event, Ended) else 0
            yield None if moved in (0, most) else Broken(step.number, f"0 or {most}", f"{moved}")


@law("growth/nothing-measured")
def _nothing_measured(case: GrowthCase) -> Iterable[Finding]:
    """A generation without decode tokens changes nothing, and one that read nothing adds nothing."""
    for step in case.history.steps:
        if not isinstance(step.event, Ended):
            continue
        moved = step.after.budget_bytes - step.before.budget_bytes
        if step.event.turn.tokens == 0:
            yield compare(step.number, "change of the budget", 0, moved)
        elif step.event.turn.read_bytes == 0:
            yield compare(step.number, "growth", 0, max(0, moved))


@law("growth/same-run")
def _same_run(case: GrowthCase) -> Iterable[Finding]:
    """Told the same, a rule answers the same."""
    yield from _same(case.history, case.again)


@law("growth/no-platform")
def _no_platform(case: GrowthCase) -> Iterable[Finding]:
    """Told the same under another platform's name, a rule answers the same."""
    yield from _same(case.history, case.elsewhere)


def _same(one: History, other: History) -> Iterable[Finding]:
    for step, twin in zip(one.steps, other.steps, strict=False):
        yield compare(step.number, "budget", step.after.budget_bytes, twin.after.budget_bytes)


# --- on machines of which something is known --------------------------------------------------------------------------


@law("growth/off-where-nothing-is-conceded")
def _off(case: GrowthCase) -> Iterable[Finding]:
    """On a machine that concedes nothing the growth stops and the budget comes to rest at 0."""
    if case.facts.concedes == NOTHING:
        yield compare(0, "resting budget", 0, case.history.resting_bytes())


@law("growth/top-where-everything-is-conceded")
def _top(case: GrowthCase) -> Iterable[Finding]:
    """On a machine that concedes everything the budget comes to rest where the curve stops rising: the least multiple
    that holds all experts, if it rises to there."""
    if case.facts.concedes == EVERYTHING and case.facts.shares:
        demand = token_demand_bytes(case.history.shape)
        least = _gaining_cycles(case.facts.shares) * demand
        resting = case.history.resting_bytes()
        yield None if resting >= least else Broken(0, f"at least {least}", f"rests at {resting}")


@law("growth/stops-without-gain")
def _stops_without_gain(case: GrowthCase) -> Iterable[Finding]:
    """No cycle is added from which on the curve rises no more."""
    if case.facts.shares:
        shares = case.facts.shares
        useful = next(at for at in range(len(shares)) if shares[at] == shares[-1])
        most = max(1, useful) * token_demand_bytes(case.history.shape)
        for budget in case.history.budgets:
            yield None if budget <= most else Broken(0, f"at most {most}", f"budget {budget}")


@law("growth/no-thrash")
def _no_thrash(case: GrowthCase) -> Iterable[Finding]:
    """On a machine where nothing changes but noise, the direction changes at most 4 + 2 log2(generations) times."""
    if case.facts.stationary:
        budgets = case.history.budgets
        moves = [later > earlier for earlier, later in pairwise(budgets) if later != earlier]
        changes = sum(later != earlier for earlier, later in pairwise(moves))
        most = 4 + 2 * log2(len(budgets))
        yield None if changes <= most else Broken(0, f"at most {most:.0f}", f"{changes} changes")


@law("growth/noise-is-one-cycle")
def _noise(case: GrowthCase) -> Iterable[Finding]:
    """On a machine where nothing changes and each cycle's worth is clear, noise of the stated size moves the resting
    budget by at most one cycle."""
    if case.facts.stationary and case.facts.clear:
        demand = token_demand_bytes(case.history.shape)
        moved = abs(case.history.resting_bytes() - case.quiet.resting_bytes())
        yield None if moved <= demand else Broken(0, f"at most {demand}", f"{moved}")


@law("growth/rests-where-it-pays")
def _rests_where_it_pays(case: GrowthCase) -> Iterable[Finding]:
    """On a machine where nothing changes, each cycle's worth is clear and gains only fall, the budget rests at the last
    cycle worth its cost; with noise, at most one away."""
    if case.facts.stationary and case.facts.worth is not None:
        demand = token_demand_bytes(case.history.shape)
        expected = case.facts.worth * demand
        yield compare(0, "resting budget without noise", expected, case.quiet.resting_bytes())
        away = abs(case.history.resting_bytes() - expected)
        yield (
            None
            if away <= demand
            else Broken(0, f"{expected} give or take {demand}", f"{away} away")
        )


def _gaining_cycles(shares: Sequence[float]) -> int:
    """The cycles before the first that gains nothing."""
    flat = (at for at in range(1, len(shares)) if shares[at] <= shares[at - 1])
    return next(flat, len(shares)) - 1
