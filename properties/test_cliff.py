"""Where does the hit rate become 0: below one cycle, as is said, or elsewhere?

"0 % below one cycle" is false by a few entries: the true cliff lies max over layers of (min(k, n) - 1) * entry bytes
below the token demand. Between the two hits are possible; whole-cycle budgets keep out of that gap.
"""

from __future__ import annotations

from hypothesis import given

from fixtures.expert_histories import History, history, played
from fixtures.model_shapes import model_shapes
from reference.expert_config import EXACT_BYTES, ExpertConfig
from reference.program import Begin, Load, Program
from reference.program_text import parse
from reference.sizing import ModelShape, cliff_bytes, token_demand_bytes

BELOW_ONE_CYCLE = """\
expert-cache v1 entry_bytes=1,1 experts=3 k=2 budget_bytes=3 budget_rule=bytes
begin
decode 0: 0 1
decode 1: 0 1
decode 0: 1 2
"""
"""A cycle is four bytes. With three, the last expert of layer 0 outlives the other layer, and hits."""


def hits_at(budget_bytes: int, text: str = BELOW_ONE_CYCLE) -> int:
    """Decode hits of a program at another budget."""
    given_budget = text.replace("budget_bytes=3", f"budget_bytes={budget_bytes}")
    return played(parse(given_budget)).count("decode_hits")


def test_below_one_cycle_hits_are_possible() -> None:
    """The counterexample: one byte below the token demand, one decode hit."""
    shape = parse(BELOW_ONE_CYCLE).config.shape  # type: ignore[union-attr]
    assert token_demand_bytes(shape) == 4
    assert hits_at(token_demand_bytes(shape) - 1) == 1


def test_below_the_cliff_there_are_none() -> None:
    """The cliff of the same program is three bytes: at two, and at one, nothing hits."""
    shape = parse(BELOW_ONE_CYCLE).config.shape  # type: ignore[union-attr]
    assert cliff_bytes(shape) == 3
    assert [hits_at(budget) for budget in range(5)] == [0, 0, 0, 1, 1]


def test_whole_cycles_keep_out_of_the_gap() -> None:
    """The same request under the proposal's rule is below one cycle, so the cache is off."""
    assert hits_at(3, BELOW_ONE_CYCLE.replace(" budget_rule=bytes", "")) == 0


def two_tokens(shape: ModelShape, layer: int, budget_bytes: int) -> History:
    """Every layer routes its first experts; in the second token `layer` begins with its last one again."""
    tokens = []
    for token in range(2):
        for at in shape.moe_layers:
            experts = tuple(range(min(shape.k, shape.experts[at])))
            tokens.append(Load(at, experts[::-1] if token and at == layer else experts))
    config = ExpertConfig(shape, budget_bytes, rules=EXACT_BYTES)
    return played(Program(config, (Begin(), *tokens)))


@given(shape=model_shapes(moe_layers=2))
def test_the_cliff_is_reached_to_the_byte(shape: ModelShape) -> None:
    """Two equal tokens hit at the cliff and not one byte below it, whatever the model."""
    cliff = cliff_bytes(shape)
    layers = shape.moe_layers
    assert any(two_tokens(shape, layer, cliff).count("decode_hits") for layer in layers)
    assert not any(two_tokens(shape, layer, cliff - 1).count("decode_hits") for layer in layers)


@given(shape=model_shapes(moe_layers=2))
def test_from_one_cycle_up_what_was_used_a_token_ago_hits(shape: ModelShape) -> None:
    """The second of two equal tokens hits with all its experts at exactly one cycle."""
    layers = len(shape.moe_layers)
    second = two_tokens(shape, shape.moe_layers[0], token_demand_bytes(shape)).hits.split()[layers:]
    assert set("".join(second)) == {"H"}


def test_with_one_moe_layer_there_is_no_cliff() -> None:
    """Its last batch is protected until the next, so one byte of budget is enough for a hit."""
    lone = history("decode 0: 0 1; decode 0: 1 0", entry_bytes="3,-", budget_bytes=1, budget_rule="bytes")  # fmt: skip
    assert lone.hits == "mm HH"
    assert cliff_bytes(ModelShape((3, 0), (6, 6), 2)) == 0
