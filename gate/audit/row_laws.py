"""Do a run's own figures agree? The laws on rows, summary and preamble.

I3 bytes read against experts missed, I5 the budget, I6 reads against token demand, I7 the hidden
lookup count, I12 memory columns, I13 the drop counters. I4, the sums, is gate/audit_sums.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

from gate.audit.facts import Facts, Turn, printed_budget
from gate.audit.findings import Judgement, judged, skipped
from gate.audit.replay import recorded_reads
from reference.errors import MIB
from reference.sizing import ModelShape, token_demand_bytes
from replay.recordings import NOT_A_NUMBER, TurnRows, whole_number

SUPPOSED_UBATCH = 512
"""The engine's default: a prompt up to it is prefilled in one graph."""


def bytes_read(facts: Facts, turn: Turn) -> Judgement:
    """I3: read_bytes of a token is the bytes of its missed experts, and at most the alignment more."""
    rows, trace = turn.rows, facts.run.trace
    if trace is None or rows is None or not rows.row_count:
        return skipped("needs a routing trace and a per-token CSV")
    reads = recorded_reads(trace).get(turn.number, [])
    if len(reads) != rows.row_count:
        return judged([f"{rows.row_count} rows, but {len(reads)} decode tokens traced"], "")
    faults = []
    extra_total = 0
    for line, read, (logical, experts) in zip(
        rows.lines, rows.integers("read_bytes"), reads, strict=True
    ):
        extra = read - logical
        extra_total += extra
        # The slack itself is not reached: a window adds less than 4096 bytes at each end.
        slack = experts * facts.alignment_bytes
        if extra < 0 or extra > max(0, slack - 1):
            faults.append(
                f"line {line}: read_bytes {read}, {experts} missed experts are {logical}"
                + (f" and at most {slack - 1} more" if slack else "")
            )
    return judged(faults, f"{rows.row_count} tokens, {extra_total} bytes of alignment")


def budget(facts: Facts, turn: Turn) -> Judgement:
    """I5: one budget in a turn, the same in rows, summary and preamble; what is resident fits it."""
    rows = turn.rows
    if rows is None or rows.total("cache_budget_MiB") is None:
        return skipped("no recorded budget")
    total = rows.total("cache_budget_MiB") or ""
    faults = []
    resizes = rows.total_integer("cache_resizes")
    if rows.has("cache_budget_mib"):
        for line, cell in zip(rows.lines, rows.columns["cache_budget_mib"], strict=True):
            if cell != total and not resizes:
                faults.append(f"line {line}: cache_budget_mib {cell}, the summary has {total}")
    if resizes and facts.is_command_line:
        faults.append(f"summary: cache_resizes {resizes}, but the command line cannot resize")
    faults += _preamble_faults(facts.run.preamble, total) if not resizes else []
    faults += _resident_faults(rows, turn)
    return judged(faults, f"{total} MiB")


def _preamble_faults(preamble: dict[str, str], total: str) -> Iterator[str]:
    """cache_mb of the preamble is the budget at open, in whole MiB rounded down."""
    said, printed = preamble.get("cache_mb"), printed_budget(total)
    if said is None or printed is None or preamble.get("moe_stream") == "0":
        return
    allowed = {printed.low_bytes // MIB, printed.high_bytes // MIB}
    if whole_number(said) not in allowed:
        yield f"preamble: cache_mb {said}, the summary's budget is {total} MiB"


def _resident_faults(rows: TurnRows, turn: Turn) -> Iterator[str]:
    """At the end of a turn more may be resident only if the last batch alone exceeds the budget."""
    held, limit = rows.total_number("cache_resident_MiB"), rows.total_number("cache_budget_MiB")
    if held is None or limit is None:
        return
    widest = rows.total_number("layer_demand_MiB") or 0.0
    batch = max(widest, turn.count.last_batch_bytes / MIB if turn.count else 0.0)
    if held > max(limit, batch) + 0.1 + 1e-9:
        yield f"summary: cache_resident_MiB {held} with a budget of {limit}"


def reads_against_demand(facts: Facts, turn: Turn) -> Judgement:
    """I6: a decode token reads at most one token demand and its alignment; without a hit, at least that."""
    rows, shape = turn.rows, facts.shape
    if shape is None or rows is None or not rows.has("cache_hit_pct") or not rows.row_count:
        return skipped("needs a per-token CSV and the model's shape")
    demand = token_demand_bytes(shape)
    experts = sum(min(shape.k, shape.experts[layer]) for layer in shape.moe_layers)
    most = demand + experts * facts.alignment_bytes
    most_lookups = sum(shape.experts) + experts * rows.row_count
    faults, whole = [], 0
    cells = zip(rows.lines, rows.integers("read_bytes"), rows.numbers("cache_hit_pct"), strict=True)
    for line, read, hit in cells:
        # A rate that prints as 0.00 is below 0.005 %: no hit at all while lookups are few.
        no_hit = hit < 0 or (hit == 0 and most_lookups < 20_000 and not turn.number)
        whole += no_hit
        if read > most:
            faults.append(f"line {line}: read_bytes {read}, one token asks for at most {most}")
        if no_hit and read < demand:
            faults.append(f"line {line}: read_bytes {read} without a hit, one token is {demand}")
    return judged(faults, f"{rows.row_count} tokens within one TD, {whole} of them read all of it")


def hidden_lookups(facts: Facts, turn: Turn) -> Judgement:
    """I7: one count of prefill lookups explains every printed hit rate (uniform entry bytes)."""
    rows, shape = turn.rows, facts.shape
    if shape is None or rows is None or not rows.has("cache_hit_pct") or not rows.row_count:
        return skipped("needs a per-token CSV and the model's shape")
    sizes = {shape.entry_bytes[layer] for layer in shape.moe_layers}
    if len(sizes) != 1:
        return skipped("entry bytes differ between layers: reads do not give the misses")
    if facts.budget is None or facts.budget.is_off:
        return skipped("the cache is off, or no budget is recorded")
    if turn.number or not _one_prefill_graph(facts, rows):
        return skipped("only for a first turn whose prefill is one graph: it has no hit")
    entry, alignment = min(sizes), facts.alignment_bytes
    misses = [_misses(read, entry, alignment) for read in rows.integers("read_bytes")]
    return _solve(rows, shape, misses)


def _one_prefill_graph(facts: Facts, rows: TurnRows) -> bool:
    trace = facts.run.trace
    if trace is not None:
        prefill = [b for b in trace.batches if b.turn == rows.turn and not b.phase]
        return len({batch.layer for batch in prefill}) == len(prefill)
    most = whole_number(facts.run.preamble.get("n_ubatch")) or SUPPOSED_UBATCH
    return (rows.total_integer("n_prompt") or most + 1) <= most


def _misses(read: int, entry: int, alignment: int) -> int | None:
    """How many experts were read; None if more than one number would do."""
    least, most = ceil(Fraction(read, entry + alignment)), read // entry
    return most if least == most else None


def _solve(rows: TurnRows, shape: ModelShape, misses: list[int | None]) -> Judgement:
    """The prefill lookups P for which 100 * hits / (P + lookups) prints as recorded, at every row."""
    per_token = sum(min(shape.k, shape.experts[layer]) for layer in shape.moe_layers)
    low, high, hits = Fraction(len(shape.moe_layers)), Fraction(sum(shape.experts)), 0
    cells = zip(rows.lines, rows.columns["cache_hit_pct"], misses, strict=True)
    for token, (line, text, missed) in enumerate(cells, 1):
        if text in NOT_A_NUMBER or missed is None or missed > per_token:
            return judged(
                [f"line {line}: read_bytes is no number of experts, or no rate stands there"], ""
            )
        hits += per_token - missed
        rate, half = Fraction(text), Fraction(1, 200)
        lookups = token * per_token
        if rate + half > 0:
            low = max(low, Fraction(100 * hits) / (rate + half) - lookups)
        if rate - half > 0:
            high = min(high, Fraction(100 * hits) / (rate - half) - lookups)
        if rate < 0 or ceil(low) > floor(high):
            return judged([f"line {line}: no count of prefill lookups gives {text} here"], "")
    return judged([], f"{ceil(low)} to {floor(high)} prefill lookups explain {rows.row_count} rows")


def memory(facts: Facts, turn: Turn) -> Judgement:
    """I12: majflt_mib = majflt * 4096 / 2^20; free memory is part of what is available."""
    rows = turn.rows
    if rows is None or not rows.has("majflt", "majflt_mib"):
        return skipped("no memory columns")
    faults = [
        f"line {line}: majflt_mib {cell}, {majflt} faults are {majflt * 4096 / MIB:.2f}"
        for line, majflt, cell in zip(
            rows.lines, rows.integers("majflt"), rows.columns["majflt_mib"], strict=True
        )
        if cell != f"{majflt * 4096 / MIB:.2f}"
    ]
    if rows.has("mem_free_mib", "mem_available_mib"):
        faults += [
            f"line {line}: mem_free_mib {free} above mem_available_mib {available}"
            for line, free, available in zip(
                rows.lines,
                rows.numbers("mem_free_mib"),
                rows.numbers("mem_available_mib"),
                strict=True,
            )
            if free > available
        ]
    return judged(faults, f"{rows.row_count} rows")


def dropping(facts: Facts, turn: Turn) -> Judgement:
    """I13: with dropping on every router slot of every decode is counted; with it off none is."""
    rows = turn.rows
    routed = rows.total_integer("experts_routed") if rows else None
    dropped = rows.total_integer("experts_dropped") if rows else None
    if rows is None or routed is None or dropped is None:
        return skipped("no drop counters")
    if not facts.mode.startswith("drop"):
        faults = [f"summary: {routed} experts routed, {dropped} dropped, with dropping off"]
        return judged(faults if routed or dropped else [], "dropping is off, nothing is counted")
    if facts.shape is None:
        return skipped("the model's shape is not known")
    per_token = facts.shape.k * len(facts.shape.moe_layers)
    expected = per_token * rows.row_count
    faults = []
    if routed != expected:
        short = "one decode short: " if routed == expected - per_token else ""
        faults.append(
            f"{short}summary: experts_routed {routed}, not {per_token} * {rows.row_count}"
        )
    if dropped > routed:
        faults.append(f"summary: {dropped} experts dropped of {routed} routed")
    return judged(faults, f"{routed} routed, {dropped} dropped")
