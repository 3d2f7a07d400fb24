"""`cachegate audit`: did the engine, in every recorded run, do what the specification says?

One row per run and law; `--json` gives one object per run and turn. Exit codes: 0 all that was
exercised passed, 1 a law fails or a known exception no longer holds, 2 unusable input, 3 nothing
was judged.
"""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from gate.audit.exceptions import excused, outlived
from gate.audit.facts import Facts, Turn, establish
from gate.audit.findings import FAIL, PASS, SKIP, UNKNOWN, WORST_FIRST, Finding
from gate.audit.laws import LAW_IDS, judge_turn, sentence
from gate.audit.runs import RecordedRun, collect
from gate.audit.twins import judge_twins
from gate.show import Progress, print_json, print_table
from reference.errors import visible

PASSED, FAILED, NOTHING_JUDGED = 0, 1, 3


@dataclass(slots=True)
class AuditedTurn:
    """One turn of a run: the session's totals at its end, its own reads, and the verdicts."""

    facts: Facts
    turn: Turn
    findings: list[Finding] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """The object of `--json`; null where the artefacts do not give the number."""
        count = self.turn.count
        return {
            "run": self.facts.run.name,
            "turn": self.turn.number,
            "hits": count and count.hits,
            "lookups": count and count.lookups,
            "evictions": count and count.evictions,
            "rereads": count and count.rereads,
            "resident_bytes": count and count.resident_bytes,
            "decode_read_bytes": count and count.decode_read_bytes,
            "laws": [finding._asdict() for finding in self.findings],
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate audit`."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a folder of runs, or a file of one (.csv, .route.csv, .stdout, .log, .out, .metrics)",
    )
    parser.add_argument("--json", action="store_true", help="one list on standard output")
    parser.add_argument(
        "--require-all", action="store_true", help="a law that no run exercised counts as a failure"
    )


def run(args: argparse.Namespace) -> int:
    """Judge and print. Raises InputError before anything is printed."""
    collection = collect(args.paths)
    turns = audit([establish(recorded) for recorded in _counted(collection.runs)])
    told = outlived(_by_run(turns))
    if args.json:
        print_json(turn.as_dict() for turn in turns)
    else:
        _print_findings(turns)
        _print_summary(turns, collection.passed_over, told)
    return exit_code(turns, told, require_all=args.require_all)


def audit(runs: list[Facts]) -> list[AuditedTurn]:
    """All verdicts on all turns of some runs, in the order of LAW_IDS."""
    twins = judge_twins(runs)
    audited = []
    for facts in runs:
        for turn in facts.turns:
            place = str(facts.run.path), turn.number
            findings = [*judge_turn(facts, turn)]
            findings += [Finding(law, *verdicts[place]) for law, verdicts in twins.items()]
            findings.sort(key=lambda finding: LAW_IDS.index(finding.law))
            known = [excused(facts.run.path, finding) for finding in findings]
            audited.append(AuditedTurn(facts, turn, known))
    return audited


def exit_code(turns: list[AuditedTurn], told: list[str], *, require_all: bool) -> int:
    """The exit code that some verdicts give."""
    verdicts = {finding.verdict for turn in turns for finding in turn.findings}
    missing = require_all and bool(_unexercised(turns))
    if FAIL in verdicts or told or missing:
        return FAILED
    return PASSED if PASS in verdicts else NOTHING_JUDGED


def _counted(runs: list[RecordedRun]) -> Iterator[RecordedRun]:
    """The runs, with a counter on a terminal."""
    progress = Progress("runs", len(runs))
    for recorded in runs:
        yield recorded
        progress.step()
    progress.close()


def _by_run(turns: list[AuditedTurn]) -> dict[PurePath, list[Finding]]:
    found: dict[PurePath, list[Finding]] = {}
    for audited in turns:
        found.setdefault(audited.facts.run.path, []).extend(audited.findings)
    return found


def _unexercised(turns: list[AuditedTurn]) -> list[str]:
    judged = {f.law for turn in turns for f in turn.findings if f.verdict in (PASS, FAIL)}
    return [law for law in LAW_IDS if law not in judged]


def _print_findings(turns: list[AuditedTurn]) -> None:
    """One row per run and law: the worst verdict of its turns."""
    rows = []
    by_run: dict[PurePath, list[AuditedTurn]] = {}
    for audited in turns:
        by_run.setdefault(audited.facts.run.path, []).append(audited)
    for mine in by_run.values():
        for law in LAW_IDS:
            rows.append((mine[0].facts.run.name, law, *_over_turns(mine, law)))
    print_table(("run", "law", "verdict", "detail"), rows)


def _over_turns(turns: list[AuditedTurn], law: str) -> tuple[str, str]:
    found = [(t.turn.number, f) for t in turns for f in t.findings if f.law == law]
    # Of several turns with the worst verdict the last is shown: its figures are the session's.
    turn, worst = min(reversed(found), key=lambda pair: WORST_FIRST.index(pair[1].verdict))
    return worst.verdict, worst.detail if len(found) == 1 else f"turn {turn}: {worst.detail}"


def _print_summary(
    turns: list[AuditedTurn], passed_over: list[tuple[str, str]], told: list[str]
) -> None:
    """Counts by law, what was passed over, and the failures in full."""
    counts = Counter((f.law, f.verdict) for turn in turns for f in turn.findings)
    verdicts = (PASS, FAIL, UNKNOWN, SKIP)
    print()
    print_table(
        ("law", *verdicts, "states that"),
        [(law, *(str(counts[law, v]) for v in verdicts), sentence(law)) for law in LAW_IDS],
    )
    for reason, count in Counter(reason for _, reason in passed_over).items():
        print(f"passed over: {visible(reason)} ({count})")
    if missing := _unexercised(turns):
        print(f"not exercised: {', '.join(missing)}")
    for audited in turns:
        for finding in audited.findings:
            if finding.verdict == FAIL:
                _print_failure(audited, finding)
    for line in told:
        print(f"\nFAIL {line}")
    names = {audited.facts.run.path for audited in turns}
    print(f"\n{len(names)} runs, {len(turns)} turns: " + _totals(counts))


def _totals(counts: Counter[tuple[str, str]]) -> str:
    return ", ".join(
        f"{sum(n for (_, verdict), n in counts.items() if verdict == shown)} {shown}"
        for shown in (PASS, FAIL, UNKNOWN, SKIP)
    )


def _print_failure(audited: AuditedTurn, finding: Finding) -> None:
    run = audited.facts.run
    file = next(f for f in (run.metrics, run.trace) if f is not None).source
    file = f"./{file}" if file.startswith("-") else file
    print(f"\nFAIL {finding.law}: {sentence(finding.law)}")
    print(f"  run {visible(run.name)}, turn {audited.turn.number}")
    print(f"  {visible(finding.detail)}")
    print(f"  again: cachegate audit {shlex.quote(file)}")
