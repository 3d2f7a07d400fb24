"""`cachegate curve`: what would every budget and policy have given on a routing trace?

All turns of a trace are replayed on one warm cache, in file order. Budgets are kept to the byte.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from fractions import Fraction
from functools import partial

from gate.curve.row import CurveRow
from gate.plotting import check_picture_name
from gate.quantities import choice_list, decimal_list, mib_list
from gate.show import Progress, print_json, print_table
from reference.errors import MIB, InputError, printable, visible
from reference.expert_config import POLICIES
from reference.sizing import ModelShape, cycles_held, token_demand_bytes
from replay.curve import ONE_PASS, Curve
from replay.lookups import lookups_of, shape_of
from replay.tally import Tally, added
from replay.traces import RouteTrace, read_route_trace

DEFAULT_CYCLES = "0.5,1,2,3,4,5,6,8"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate curve`."""
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="routing trace (--route-trace)")
    parser.add_argument(
        "--policy", default="lru", metavar="P,…", help=f"{', '.join(POLICIES)} or all"
    )
    budgets = parser.add_mutually_exclusive_group()
    budgets.add_argument(
        "--cycles",
        metavar="N,…",
        help=f"budgets in cycles of exact bytes (default {DEFAULT_CYCLES})",
    )
    budgets.add_argument("--budget-mib", metavar="N,…", help="budgets in MiB, fractions allowed")
    budgets.add_argument(
        "--all", action="store_true", help="every budget where the curve changes (lru and layer)"
    )
    parser.add_argument(
        "--turn",
        metavar="N",
        help="that turn alone, on the cache as the turns before left it; `each` for every turn",
    )
    parser.add_argument(
        "--scope", choices=["decode", "all"], default="decode", help="the table's hit rate"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one list of rows on standard output")
    output.add_argument("--csv", action="store_true", help="the same rows as CSV")
    parser.add_argument("--plot", metavar="FILE", help="hit rate against cycles held, .svg or .png")


def run(args: argparse.Namespace) -> int:
    """Replay and print. Raises InputError before anything is printed."""
    policies = choice_list(args.policy, POLICIES, "--policy")
    if args.all and not set(policies) <= set(ONE_PASS):
        raise InputError(
            f"--all needs a policy whose whole curve comes out of one pass, not {', '.join(policies)}",
            source="--policy",
            expected=" or ".join(ONE_PASS),
            cure="name budgets with --cycles or --budget-mib for the others",
        )
    if args.plot is not None:
        check_picture_name(args.plot)
    traces = [read_route_trace(path) for path in args.traces]
    rows = [row for trace in traces for row in _rows(trace, policies, args)]
    if args.plot is not None:
        from gate.curve.plot import plot_curves  # noqa: PLC0415 - drawing is slow to import

        plot_curves(traces, policies, rows, args.plot)
    _print(rows, args)
    return 0


def _rows(trace: RouteTrace, policies: Sequence[str], args: argparse.Namespace) -> list[CurveRow]:
    lookups, shape, turns = lookups_of(trace), shape_of(trace), _turns(trace, args.turn)
    rows = []
    for policy in policies:
        curve = Curve(lookups, policy)
        budgets = _budgets(shape, curve, args)
        progress = Progress(f"{policy}: budgets", len(budgets))
        for budget_bytes in budgets:
            tallies = curve.at(budget_bytes)
            row = partial(
                CurveRow,
                trace=trace.source,
                policy=policy,
                budget_bytes=budget_bytes,
                cycles=cycles_held(budget_bytes, shape),
            )
            rows += [_counted(row, turn, tallies) for turn in turns]
            progress.step()
        progress.close()
    return rows


def _budgets(shape: ModelShape, curve: Curve, args: argparse.Namespace) -> list[int]:
    if args.all:
        return [0, *curve.breakpoints()]
    if args.budget_mib is not None:
        return mib_list(args.budget_mib, "--budget-mib")
    demand = token_demand_bytes(shape)
    named = DEFAULT_CYCLES if args.cycles is None else args.cycles
    cycles = decimal_list(named, "--cycles")
    return [int(Fraction(demand) * number) for number in cycles]


def _turns(trace: RouteTrace, wanted: str | None) -> list[int | None]:
    """The turns to give rows for; None is all turns together."""
    if wanted is None:
        return [trace.turns[0]] if len(trace.turns) == 1 else [None]
    if wanted == "each":
        return list(trace.turns)
    turn = next((turn for turn in trace.turns if str(turn) == wanted.strip()), None)
    if turn is None:
        raise InputError(
            f"no turn {printable(wanted)} in {visible(trace.source)}",
            source="--turn",
            expected=f"{printable(', '.join(map(str, trace.turns)))} or each",
        )
    return [turn]


def _counted(row: Callable[..., CurveRow], turn: int | None, tallies: list[Tally]) -> CurveRow:
    """The row with what was counted in a turn, or in all."""
    mine = [tally for tally in tallies if turn is None or tally.turn == turn]
    lookups, hits, read_bytes, evictions, rereads = added(mine)
    decode_lookups, decode_hits, decode_read_bytes, _, _ = added(t for t in mine if t.decode)
    return row(
        turn=turn,
        hit_pct=100 * hits / lookups if lookups else None,
        decode_hit_pct=100 * decode_hits / decode_lookups if decode_lookups else None,
        hits=hits,
        lookups=lookups,
        decode_hits=decode_hits,
        decode_lookups=decode_lookups,
        read_bytes=read_bytes,
        decode_read_bytes=decode_read_bytes,
        evictions=evictions,
        rereads=rereads,
    )


def _print(rows: Sequence[CurveRow], args: argparse.Namespace) -> None:
    if args.json:
        print_json(asdict(row) for row in rows)
    elif args.csv:
        writer = csv.DictWriter(sys.stdout, [field.name for field in fields(CurveRow)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    else:
        _print_table(rows, args.scope)


def _print_table(rows: Sequence[CurveRow], scope: str) -> None:
    headings = ["turn", "policy", "budget MiB", "cycles", f"hit % ({scope})"]
    headings += ["read MiB", "evictions", "re-reads"]
    for trace in dict.fromkeys(row.trace for row in rows):
        print(visible(trace))
        print_table(headings, [_cells(row, scope) for row in rows if row.trace == trace])


def _cells(row: CurveRow, scope: str) -> tuple[str, ...]:
    hit_pct = row.decode_hit_pct if scope == "decode" else row.hit_pct
    read_bytes = row.decode_read_bytes if scope == "decode" else row.read_bytes
    without = "-" if row.budget_bytes else "off"
    return (
        "all" if row.turn is None else str(row.turn),
        row.policy,
        f"{row.budget_bytes / MIB:.3f}",
        f"{row.cycles:.3f}",
        without if hit_pct is None else f"{hit_pct:.2f}",
        f"{read_bytes / MIB:.1f}",
        str(row.evictions),
        str(row.rereads),
    )
