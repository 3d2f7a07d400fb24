"""Did the cache do what the specification says? The laws that need a replay or the model's shape.

I1 residency, I2 hit rate, I9 token demand, I10 evictions, I11 the cliff. Each takes a run and one
of its turns; modes that the model does not cover and broken turns are kept out by gate/audit_laws.py.
"""

from __future__ import annotations

from gate.audit.facts import Facts, Turn
from gate.audit.findings import Judgement, judged, skipped, unknown
from reference.errors import MIB
from reference.expert_counters import hit_pct
from reference.sizing import cliff_bytes, layer_demand_bytes, token_demand_bytes
from replay.traces import DECODE, RouteTrace


def residency(facts: Facts, turn: Turn) -> Judgement:
    """I1: the replay gives residency and expert_bytes of every row of the trace."""
    replay, trace = facts.replay, facts.run.trace
    if trace is None:
        return skipped("no routing trace")
    if replay is None:
        return unknown(facts.no_replay)
    if turn.number not in replay.explained_by:
        return skipped("the trace has no row of this turn")
    low, high = replay.explained_by[turn.number]
    if turn.count is not None:
        bad_rows, at = turn.count.bad_rows, ""
    elif low <= high:
        # No budget is recorded: is there one that explains every row?
        bad_rows = replay.turns_at(low)[turn.number].bad_rows
        at = f"; no budget is recorded, {low} to {high} bytes explain them"
    else:
        return judged(["no budget explains the residency of all rows"], "")
    rows = sum(batch.row_count for batch in trace.batches if batch.turn == turn.number)
    faults = [_row_fault(trace, row) for row in bad_rows]
    return judged(faults, f"{rows} rows{at}")


def _row_fault(trace: RouteTrace, row: int) -> str:
    recorded = f"residency {trace.residency[row]}, expert_bytes {trace.row_expert_bytes[row]}"
    return f"line {trace.line_of(row)} of the trace: {recorded} is not what the replay gives"


def hit_rate(facts: Facts, turn: Turn) -> Judgement:
    """I2: the replayed hit rate is the printed one at every token, and so is what is resident."""
    rows, count = turn.rows, turn.count
    if count is None:
        return unknown(facts.no_replay) if facts.run.trace else skipped("no routing trace")
    if rows is None or not rows.has("cache_hit_pct"):
        return skipped("no recorded hit rate")
    if rows.row_count != len(count.tokens):
        return judged([f"{rows.row_count} rows, but {len(count.tokens)} decode tokens traced"], "")
    faults = []
    for line, text, token in zip(
        rows.lines, rows.columns["cache_hit_pct"], count.tokens, strict=True
    ):
        expected = f"{hit_pct(token.hits, token.lookups):.2f}"
        if text != expected:
            faults.append(f"line {line}: cache_hit_pct {text}, replayed {expected}")
    totals = {
        "cache_hit_pct": f"{hit_pct(count.hits, count.lookups):.1f}",
        "cache_resident_MiB": f"{count.resident_bytes / MIB:.1f}",
    }
    for key, expected in totals.items():
        if rows.total(key) not in (None, expected):
            faults.append(f"summary: {key} {rows.total(key)}, replayed {expected}")
    return judged(faults, f"{len(count.tokens)} tokens, {count.hits}/{count.lookups} hits")


def token_demand(facts: Facts, turn: Turn) -> Judgement:
    """I9: token_demand and layer_demand are those of the shape; they are published one pass late."""
    if turn.rows is None or turn.rows.total("token_demand_MiB") is None:
        return skipped("no recorded token demand")
    if facts.shape is None:
        return skipped("no trace and no shipped shape: the entry bytes are not known")
    if turn.rows.row_count < 2:
        return unknown("one-token turn: the figure published last is that of the prefill")
    widest = max(layer_demand_bytes(facts.shape, layer) for layer in facts.shape.moe_layers)
    expected = {"token_demand_MiB": token_demand_bytes(facts.shape), "layer_demand_MiB": widest}
    faults = [
        f"summary: {key} {turn.rows.total(key)}, but the shape gives {size / MIB:.1f}"
        for key, size in expected.items()
        if turn.rows.total(key) not in (None, f"{size / MIB:.1f}")
    ]
    return judged(faults, f"TD {expected['token_demand_MiB']} bytes")


def evictions(facts: Facts, turn: Turn) -> Judgement:
    """I10: evictions = misses - what is resident; re-reads are misses of evicted entries."""
    if turn.rows is None or turn.rows.total("evictions") is None:
        return skipped("no recorded evictions")
    recorded = {key: turn.rows.total_integer(key) for key in ("evictions", "rereads")}
    faults = []
    if (recorded["rereads"] or 0) > (recorded["evictions"] or 0):
        faults.append(f"{recorded['rereads']} re-reads, but {recorded['evictions']} evictions")
    if turn.count is None:
        if faults or not facts.run.trace:
            return judged(faults, "") if faults else skipped("no routing trace")
        return unknown(facts.no_replay)
    replayed = {"evictions": turn.count.evictions, "rereads": turn.count.rereads}
    faults += [
        f"summary: {key} {recorded[key]}, replayed {replayed[key]}"
        for key in replayed
        if recorded[key] != replayed[key]
    ]
    return judged(faults, f"{turn.count.misses} misses, {replayed['evictions']} evictions")


def cliff(facts: Facts, turn: Turn) -> Judgement:
    """I11: below the cliff no decode token hits; from one cycle up a repeated expert does."""
    shape, budget = facts.shape, facts.budget
    if shape is None or budget is None:
        return skipped("no recorded budget" if shape else "the model's shape is not known")
    if budget.is_off:
        return skipped("the cache is off")
    if len(shape.moe_layers) < 2:
        return skipped("fewer than two MoE layers: there is no cliff")
    if budget.high_bytes < cliff_bytes(shape):
        return _below_cliff(facts, turn)
    if budget.low_bytes >= token_demand_bytes(shape):
        return _from_one_cycle(facts, turn)
    return skipped(
        "the budget lies between the cliff and one cycle: hits are possible, not certain"
    )


def _below_cliff(facts: Facts, turn: Turn) -> Judgement:
    """No decode hit: in the trace, or in the hit column where only a cold prefill came before."""
    trace, rows = facts.run.trace, turn.rows
    if trace is not None:
        hits = [
            row
            for batch in trace.batches
            if batch.turn == turn.number and batch.phase == DECODE
            for row in range(batch.first_row, batch.first_row + batch.row_count)
            if trace.residency[row]
        ]
        faults = [f"line {trace.line_of(row)} of the trace: a hit below the cliff" for row in hits]
        return judged(faults, "no decode hit below the cliff")
    if rows is None or not rows.has("cache_hit_pct") or turn.number:
        return skipped("neither a routing trace nor the hit rates of a first turn")
    # The hit rate cannot rise from token to token if no decode token hits.
    cells = [float(text) for text in rows.columns["cache_hit_pct"]]
    faults = [
        f"line {rows.lines[at]}: the hit rate rises to {cells[at]}, below the cliff"
        for at in range(1, len(cells))
        if cells[at] > cells[at - 1]
    ]
    return judged(faults, "the hit rate never rises below the cliff")


def _from_one_cycle(facts: Facts, turn: Turn) -> Judgement:
    """An expert that its layer used in the decode token before is still resident."""
    trace = facts.run.trace
    if trace is None:
        return skipped("the budget is above the cliff, and there is no routing trace")
    before: dict[int, set[int]] = {}
    faults, repeated = [], 0
    for batch in trace.batches:
        if batch.turn != turn.number or batch.phase != DECODE:
            continue
        rows = range(batch.first_row, batch.first_row + batch.row_count)
        again = [row for row in rows if trace.expert[row] in before.get(batch.layer, ())]
        repeated += len(again)
        faults += [
            f"line {trace.line_of(row)} of the trace: a miss, though the token before used it"
            for row in again
            if not trace.residency[row]
        ]
        before[batch.layer] = {trace.expert[row] for row in rows}
    if not repeated:
        return skipped("no expert is used in two tokens one after the other")
    return judged(faults, f"{repeated} experts used again by the next token, all resident")
