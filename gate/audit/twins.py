"""Do runs that must agree agree? Law I8 (hits and reads) and the law of outputs.

Every turn is compared with what most of its group have. Where neither traces nor the campaign's
word prove that the prompts were the same, a difference is a failure only behind an equal beginning.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gate.audit.facts import Facts, Turn
from gate.audit.findings import FAIL, PASS, Judgement, skipped, unknown
from gate.audit.groups import Group, hit_twins, output_twins

CACHE_OFF = "-1.00"
"""How the hit column shows that there were no lookups."""

EQUAL_TOKENS = 4
"""Outputs that begin with as many equal tokens answer the same prompt."""


Value = tuple[tuple[str, ...], ...]
"""One or more columns of texts."""


class Sample(NamedTuple):
    """What is compared of one turn: `value` must be equal among twins."""

    facts: Facts
    turn: Turn
    value: Value

    def setting(self, key: str) -> str:
        """A setting from the preamble."""
        return self.facts.run.preamble.get(key, "")


class TwinLaw(NamedTuple):
    """How one of the two laws takes its samples and compares a sample with a twin's."""

    sample: Callable[[Facts, Turn], Value | None]
    difference: Callable[[Sample, Sample, bool], Judgement | None]
    without_twin: str


Verdicts = dict[tuple[str, int], Judgement]
"""By the run's path and the turn."""


def judge_twins(runs: list[Facts]) -> dict[str, Verdicts]:
    """The verdicts of both laws on every turn of every run."""
    return {
        "I8": _judge(HITS, hit_twins(runs), runs),
        "output": _judge(OUTPUT, output_twins(runs), runs),
    }


def _judge(law: TwinLaw, groups: list[Group], runs: list[Facts]) -> Verdicts:
    verdicts: Verdicts = {}
    for facts in runs:
        for turn in facts.turns:
            why = turn.silence or facts.mode
            alone = unknown(why) if why else skipped(law.without_twin)
            verdicts[str(facts.run.path), turn.number] = alone
    for group in groups:
        for sample, judgement in _judge_group(law, group):
            verdicts[str(sample.facts.run.path), sample.turn.number] = judgement
    return verdicts


def _judge_group(law: TwinLaw, group: Group) -> Iterator[tuple[Sample, Judgement]]:
    by_turn = defaultdict[int, list[Sample]](list)
    for facts in group.runs:
        for turn in facts.turns:
            value = None if turn.silence or facts.mode else law.sample(facts, turn)
            if value is not None:
                by_turn[turn.number].append(Sample(facts, turn, value))
    for samples in by_turn.values():
        if len(samples) > 1:
            commonest = Counter(sample.value for sample in samples).most_common(1)[0][0]
            model = next(sample for sample in samples if sample.value == commonest)
            agree = Judgement(PASS, f"as {len(samples) - 1} twins")
            for sample in samples:
                yield sample, law.difference(sample, model, group.declared) or agree


def _hits(facts: Facts, turn: Turn) -> Value | None:
    """The hit and the read column."""
    rows = turn.rows
    if rows is None or not rows.row_count or not rows.has("cache_hit_pct"):
        return None
    return tuple(rows.columns["cache_hit_pct"]), tuple(rows.columns["read_bytes"])


def _hit_difference(one: Sample, model: Sample, declared: bool) -> Judgement | None:
    """How hits or reads differ. Reads are compared only under one way of reading, O_DIRECT or not."""
    names = ["hit rates differ", "bytes read differ"]
    if one.setting("o_direct") != model.setting("o_direct"):
        names.pop()
    for at, name in enumerate(names):
        if one.value[at] != model.value[at]:
            place = _first_difference(one, model, at)
            proven = declared or _both_traced(one, model) or _begins(one, model)
            return _differs(f"{name} from {model.facts.run.name}, {place}", proven)
    return None


def _first_difference(one: Sample, model: Sample, at: int) -> str:
    mine, theirs = one.value[at], model.value[at]
    lines = one.turn.rows.lines if one.turn.rows else []
    for line, cell, other in zip(lines, mine, theirs, strict=False):
        if cell != other:
            return f"line {line}: {cell}, not {other}"
    return f"{len(mine)} tokens, not {len(theirs)}"


def _begins(one: Sample, model: Sample) -> bool:
    """Is the first token's hit rate and read the same, or every hit rate of a cache that is on?"""
    (my_hits, my_reads), (their_hits, their_reads) = one.value, model.value
    first_token = (my_hits[0], my_reads[0]) == (their_hits[0], their_reads[0])
    return my_hits[0] != CACHE_OFF and (my_hits == their_hits or first_token)


def _output(facts: Facts, turn: Turn) -> Value | None:
    """The answer of a one-shot run, or reasoning and text of a request, and its first tokens."""
    out = facts.run.stdout
    if out is None:
        return None
    if out.is_session:
        done = [request for request in out.requests if request.counts_as_turn]
        if turn.number >= len(done):
            return None
        record = done[turn.number].done or {}
        return ((str(record.get("reasoning", "")), str(record.get("text", ""))),)
    return None if out.answer is None or turn.number else ((out.answer.decode("latin-1"),),)


def _output_difference(one: Sample, model: Sample, declared: bool) -> Judgement | None:
    if one.value == model.value:
        return None
    told = f"the output differs from that of {model.facts.run.name}"
    if one.setting("n_ubatch") != model.setting("n_ubatch"):
        return unknown(f"ubatch: {told}, and graphs of another size may round differently")
    mine, theirs = one.facts.run.prompts, model.facts.run.prompts
    same = mine == theirs if None not in (mine, theirs) else _both_traced(one, model)
    return _differs(told, same or _first_tokens(one) == _first_tokens(model) != [])


def _first_tokens(sample: Sample) -> list[object]:
    """The first tokens as they were streamed; empty if there are fewer than it takes."""
    out = sample.facts.run.stdout
    turn = sample.turn.number
    turns = [r for r in out.requests if r.counts_as_turn or r.id is None] if out else []
    if turn >= len(turns) or len(turns[turn].progress) < EQUAL_TOKENS:
        return []
    return [record.get("delta_text") for record in turns[turn].progress[:EQUAL_TOKENS]]


def _both_traced(one: Sample, model: Sample) -> bool:
    """Do both have a trace? Then their group was made by what it shows of the prompt."""
    return None not in (one.facts.run.trace, model.facts.run.trace)


def _differs(told: str, same_prompt: bool) -> Judgement:
    if same_prompt:
        return Judgement(FAIL, told)
    return unknown(f"prompt: {told}, and nothing shows that the prompts were the same")


HITS = TwinLaw(_hits, _hit_difference, "no twin: another run of the same model, prompt and budget")
OUTPUT = TwinLaw(_output, _output_difference, "no twin with a recorded output")
