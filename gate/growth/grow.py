"""`cachegate grow`: a self-sizing rule in a loop with cache and device, turn by turn, and what it is worth.

All turns run on one warm cache. A recorded generation is cut into turns of a few tokens; `synthetic:MODEL` makes turns
of any length.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fixtures.devices import device_names, load_device
from gate.connect.implementation import Failure
from gate.growth.comparison import Arena, Comparison, Row, compare, loop_name
from gate.growth.connect import LOOPS, built_in, connect_sizing, decided
from gate.show import print_table
from reference.errors import MIB, InputError
from reference.sizing import cycles_held, token_demand_bytes
from replay.closed_loop import LoopTurn
from replay.sampled_curve import PREFILL, SAMPLES
from replay.trace_session import TraceTurns
from replay.traces import RouteTrace, read_route_trace

FAILED = 1
SYNTHETIC = "synthetic:"
DEFAULT_TURN_TOKENS = 8
DEFAULT_TURNS = 16
MOST_ROUTINGS = 20_000_000
"""Of a synthetic session: beyond that it would not fit into memory."""

MOST_CHOICES = 200_000
"""Legal budgets of all turns of a trace: real models have some dozens a turn."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate grow`."""
    parser.add_argument(
        "trace", metavar="TRACE", help=f"routing trace (--route-trace), or {SYNTHETIC}MODEL"
    )
    parser.add_argument(
        "--device", required=True, metavar="D", help=f"{', '.join(device_names())} or FILE.toml"
    )
    parser.add_argument(
        "--turn-tokens",
        type=int,
        default=DEFAULT_TURN_TOKENS,
        metavar="N",
        help="decode tokens a turn (default %(default)s)",
    )
    parser.add_argument(
        "--loop", choices=list(LOOPS), default="greedy", help="the rule shown turn by turn"
    )
    parser.add_argument(
        "--sample",
        choices=SAMPLES,
        default=PREFILL,
        help="what the hit curve is simulated from, in that table: the turn's prefill, as proposed, or all seen so far",
    )
    parser.add_argument(
        "--decide", default="", metavar="NAME=VALUE,…", help="open points decided otherwise"
    )
    parser.add_argument("--sizing", metavar="CONNECT", help="another rule, shown and compared")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the noise, and of synthetic routing"
    )
    parser.add_argument(
        "--turns", type=int, metavar="N", help=f"of {SYNTHETIC}… (default {DEFAULT_TURNS})"
    )
    parser.add_argument(
        "--prompt-tokens", type=int, metavar="N", help=f"of {SYNTHETIC}…, each turn"
    )
    parser.add_argument("--json", action="store_true", help="both tables as one object")
    parser.add_argument("--plot", metavar="FILE", help="budget and time by turn, .svg or .png")


def run(args: argparse.Namespace) -> int:
    """Run, compare and print. Raises InputError before anything is printed."""
    device = load_device(args.device)
    rules = {name: built_in(decided(args.decide, each)) for name, each in LOOPS.items()}
    if args.sizing:
        rules[args.sizing] = connect_sizing(args.sizing)
    arena = Arena(_turns(args), device, args.seed)
    try:
        comparison = compare(arena, rules)
    except Failure as failure:
        print(f"cachegate: {args.sizing}: {failure}", file=sys.stderr)
        return FAILED
    shown = loop_name(args.sizing or args.loop, args.sample)
    if args.plot:
        from gate.growth.plot import plot_turns  # noqa: PLC0415 - drawing is slow to import

        plot_turns(arena, comparison, args.plot)
    if args.json:
        print(json.dumps(_document(args, arena, comparison, shown), indent=1))
    else:
        _print(arena, comparison, shown)
    return 0


def _turns(args: argparse.Namespace) -> TraceTurns:
    if args.turn_tokens < 1:
        raise InputError("a turn has tokens", source="--turn-tokens", expected="1 or more")
    if args.trace.startswith(SYNTHETIC):
        return TraceTurns(_made(args), 0)
    for option in ("turns", "prompt_tokens"):
        if getattr(args, option) is not None:
            raise InputError(
                "a recorded trace has the turns it has",
                source=f"--{option.replace('_', '-')}",
                cure=f"{SYNTHETIC}MODEL in place of the trace",
            )
    turns = TraceTurns(read_route_trace(args.trace), args.turn_tokens)
    if not sum(span.tokens for span in turns.spans):
        raise InputError("no decode tokens", source=args.trace, expected="a trace with decode rows")
    if len(turns.legal) * len(turns.spans) > MOST_CHOICES:
        raise InputError(
            f"{len(turns.spans)} turns with {len(turns.legal)} legal budgets each",
            source=args.trace,
            expected=f"at most {MOST_CHOICES} budgets in all turns together",
            cure="longer turns: --turn-tokens",
        )
    return turns


def _made(args: argparse.Namespace) -> RouteTrace:
    """A synthetic session: every turn has its own prompt."""
    from fixtures.routing import named_routing, synthetic_trace  # noqa: PLC0415 - loads numpy

    routing = named_routing(args.trace.removeprefix(SYNTHETIC))
    turns = DEFAULT_TURNS if args.turns is None else args.turns
    prompt = routing.prompt_tokens if args.prompt_tokens is None else args.prompt_tokens
    if turns < 1 or prompt < 0:
        raise InputError("a session has turns", source="--turns", expected="1 or more")
    shape = routing.shape
    routings = turns * (prompt + args.turn_tokens) * len(shape.moe_layers) * shape.k
    if routings > MOST_ROUTINGS:
        raise InputError(
            f"{routings} routings",
            source="--turns",
            expected=f"at most {MOST_ROUTINGS} in one session",
            cure="fewer or shorter turns; fixtures/routing.py streams without bound",
        )
    return synthetic_trace(
        routing, turns=turns, prompt_tokens=prompt, turn_tokens=args.turn_tokens, seed=args.seed
    )


# --- printing ---------------------------------------------------------------------------------------------------------


def _print(arena: Arena, comparison: Comparison, shown: str) -> None:
    print(f"{arena.turns.trace.source} on {arena.device.name}")
    print(shown)
    headings = ["turn", "tokens", "MiB", "cycles", "hit %", "read MiB/token", "faults/token"]
    print_table([*headings, "ms/token", "then"], _turn_cells(arena, comparison.loops[shown]))
    print()
    headings = ["sizing", "MiB at the end", "cycles", "hit %", "read MiB/token", "faults/token"]
    cells = [_row_cells(arena, row) for row in comparison.rows]
    print_table([*headings, "ms/token", "% of the win"], cells)


def _turn_cells(arena: Arena, turns: Sequence[LoopTurn]) -> list[list[str]]:
    return [
        [str(number), str(turn.measured.tokens), *_cells(arena, arena.row("", [turn])), turn.why]
        for number, turn in enumerate(turns)
    ]


def _row_cells(arena: Arena, row: Row) -> list[str]:
    return [row.what, *_cells(arena, row), "-" if row.win_pct is None else f"{row.win_pct:.1f}"]


def _cells(arena: Arena, row: Row) -> list[str]:
    return [
        f"{row.resting_bytes / MIB:.1f}",
        f"{cycles_held(row.resting_bytes, arena.turns.shape):.2f}",
        "-" if row.hit_pct is None else f"{row.hit_pct:.1f}",
        f"{row.read_mib:.1f}",
        "-" if row.faults is None else f"{row.faults:.0f}",
        f"{row.ms:.1f}",
    ]


def _document(
    args: argparse.Namespace, arena: Arena, comparison: Comparison, shown: str
) -> dict[str, Any]:
    return {
        "trace": arena.turns.trace.source,
        "device": arena.device.id,
        "turn_tokens": args.turn_tokens,
        "seed": args.seed,
        "token_demand_bytes": token_demand_bytes(arena.turns.shape),
        "shown": shown,
        "turns": [
            asdict(arena.row(str(number), [turn])) | {"then": turn.why}
            for number, turn in enumerate(comparison.loops[shown])
        ],
        "comparison": [asdict(row) for row in comparison.rows],
    }
