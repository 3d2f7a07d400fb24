"""`cachegate sizing`: does a self-sizing rule keep its laws?

The rule runs on small machines whose hit curve and costs are known exactly (fixtures/growth_worlds.py); every law of
reference/growth_laws.py judges every run.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field

from fixtures.growth_worlds import GrowthWorld, standard_worlds
from gate.connect.implementation import Failure
from gate.growth.connect import connect_sizing
from gate.show import print_table
from reference.growth_events import MakeSizing
from reference.growth_laws import GROWTH_LAWS
from reference.laws import Broken

PASSED, FAILED, NOTHING_JUDGED = 0, 1, 3


@dataclass(slots=True)
class Judgement:
    """What came out.

    Attributes:
        checks: of each law, by id.
        broken: law, machine and place of each law that does not hold, the first time.
        failure: the verdict when the rule stopped answering, and the machine it was on.
    """

    checks: Counter[str] = field(default_factory=Counter)
    broken: dict[str, tuple[GrowthWorld, Broken]] = field(default_factory=dict)
    failure: tuple[GrowthWorld, Failure] | None = None


def judge(make: MakeSizing) -> Judgement:
    """Every law on every machine; stops where the rule no longer answers."""
    found = Judgement()
    for world in standard_worlds():
        try:
            case = world.case(make)
        except Failure as failure:
            found.failure = (world, failure)
            break
        for law in GROWTH_LAWS:
            for finding in law.judge(case):
                found.checks[law.id] += 1
                if finding and law.id not in found.broken:
                    found.broken[law.id] = (world, finding)
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate sizing`."""
    parser.add_argument(
        "sizing",
        nargs="?",
        default="builtin",
        metavar="CONNECT",
        help="builtin[:hull|:literal], python:MODULE:CLASS or cmd:COMMAND (default builtin)",
    )


def run(args: argparse.Namespace) -> int:
    """Judge and print."""
    found = judge(connect_sizing(args.sizing))
    rows = [[_verdict(found, law.id), law.id, str(found.checks[law.id])] for law in GROWTH_LAWS]
    print_table(["verdict", "law", "checks"], rows)
    for law in GROWTH_LAWS:
        if law.id in found.broken:
            world, broken = found.broken[law.id]
            print(f"\n{law.id}: {law.sentence}")
            print(f"  at event {broken.step}: expected {broken.expected}, got {broken.got}")
            print(f"  on {world}")
    if found.failure:
        world, failure = found.failure
        print(f"\n{failure.verdict}: {failure.detail}\n  on {world}")
    if found.broken or found.failure:
        return FAILED
    return PASSED if found.checks else NOTHING_JUDGED


def _verdict(found: Judgement, law_id: str) -> str:
    if law_id in found.broken:
        return "fail"
    return "pass" if found.checks[law_id] else "not exercised"
