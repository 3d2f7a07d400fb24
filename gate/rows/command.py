"""`cachegate rows`: what would every layout of a RowCache have given on a text or a row trace?"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields

from gate.plotting import check_picture_name
from gate.quantities import count_of, decimal_of, size_bytes
from gate.rows.emulation import RowsRow, emulate
from gate.rows.inputs import Inputs, Traces, synthetic, tokens_of_file, tokens_of_text
from gate.rows.layouts import DEFAULT_POLICIES, layouts_of, scale_of
from gate.rows.report import print_costs, print_results
from gate.show import print_json
from reference.engram import HEADS, ROWS_A_TOKEN
from reference.errors import InputError, visible
from reference.row_geometry import SLOT_BYTES, rows_of_budget, split_by_rows
from replay import kernel
from replay.row_traces import MAX_GATHER_ROWS

DEFAULT_CACHE_SIZE = "1GiB"
DEFAULT_GATHER_ROWS = 4_096 * ROWS_A_TOKEN
US_PER_MISS = "6.4"
"""Readiness wait a miss adds, in microseconds: the RowCache report's measurement."""
MAX_CAPACITY_ROWS = 1 << 36
MAX_SEEDS = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate rows`."""
    _add_inputs(parser)
    parser.add_argument(
        "--policy",
        default=DEFAULT_POLICIES,
        metavar="P,…",
        help=f"N-way, two-set, lru; all is the default: {DEFAULT_POLICIES}",
    )
    capacity = parser.add_mutually_exclusive_group()
    capacity.add_argument(
        "--cache-size",
        metavar="SIZE",
        help=f"budget of the whole cache, 280 bytes a slot (default {DEFAULT_CACHE_SIZE})",
    )
    capacity.add_argument("--capacity-rows", metavar="N", help="slots of what is emulated")
    parser.add_argument(
        "--scale", default="1", metavar="N", help="8 or 1/8: an eighth of slots, sketch and heads"
    )
    parser.add_argument("--seeds", default="1", metavar="N", help="hash seeds 0 to N-1 (default 1)")
    parser.add_argument(
        "--us-per-miss", default=US_PER_MISS, metavar="US", help=f"default {US_PER_MISS}, measured"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one list of rows on standard output")
    output.add_argument("--csv", action="store_true", help="the same rows as CSV")
    parser.add_argument("--plot", metavar="FILE", help="hit rate and fill by request, .svg or .png")


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces",
        nargs="*",
        metavar="TRACE",
        help="row ids of one table, a request a file: .npy, .parquet, or text with a gather a line",
    )
    parser.add_argument("--synthetic", action="store_true", help="the specification's own text")
    parser.add_argument("--tokens", metavar="FILE", help="token ids of a text: .npy, or text")
    parser.add_argument("--text", metavar="FILE", help="a text in UTF-8 (extra `text`)")
    parser.add_argument(
        "--model-ids",
        action="store_true",
        help="exact rows of the public model, both tables, in place of raw n-grams in one table",
    )
    parser.add_argument(
        "--gather-rows",
        metavar="N",
        help=f"rows of a gather in traces that do not tell (default {DEFAULT_GATHER_ROWS})",
    )


def run(args: argparse.Namespace) -> int:
    """Emulate and print. Raises InputError before anything is printed."""
    layouts = layouts_of(args.policy)
    scale = scale_of(args.scale)
    seeds = count_of(args.seeds, "--seeds", 1, MAX_SEEDS)
    us_per_miss = float(decimal_of(args.us_per_miss, "--us-per-miss"))
    if args.plot is not None:
        check_picture_name(args.plot)
    inputs = _inputs(args, scale)
    capacity_rows = [rows // scale for rows in _capacity_rows(args, inputs)]
    runs = emulate(inputs, layouts, capacity_rows, scale, seeds)
    rows = [row for run in runs for row in run.rows(inputs.requests, scale)]
    if args.plot is not None:
        from gate.rows.plot import plot_rows  # noqa: PLC0415 - drawing is slow to import

        plot_rows(rows, args.plot)
    if args.json:
        print_json(asdict(row) for row in rows)
    elif args.csv:
        _print_csv(rows)
    else:
        print(_title(inputs, capacity_rows, scale, seeds))
        print_results(rows, us_per_miss)
        print()
        print_costs(runs)
    return 0


def _inputs(args: argparse.Namespace, scale: int) -> Inputs:
    """What to replay: exactly one of the four inputs."""
    heads, model_ids = HEADS // scale, args.model_ids
    given: dict[str, Callable[[], Inputs]] = {}
    if args.synthetic:
        given["--synthetic"] = lambda: synthetic(heads, model_ids)
    if args.tokens is not None:
        given["--tokens"] = lambda: tokens_of_file(args.tokens, heads, model_ids)
    if args.text is not None:
        given["--text"] = lambda: tokens_of_text(args.text, heads, model_ids)
    if args.traces:
        given["TRACE"] = lambda: _traces(args)
    if len(given) != 1:
        raise InputError(
            f"{' and '.join(given)} together" if given else "nothing to replay",
            expected="one of --synthetic, --tokens FILE, --text FILE, or row traces",
        )
    _check_scale(scale, model_ids, bool(args.traces))
    return next(iter(given.values()))()


def _check_scale(scale: int, model_ids: bool, traces: bool) -> None:
    """A smaller scale takes fewer heads, which row traces and the model's own ids do not have."""
    if scale > 1 and (model_ids or traces):
        raise InputError(
            f"cannot take 1/{scale} of {'a row trace' if traces else 'the exact rows'}",
            source="--scale",
            cure="use --scale 1, with a smaller --capacity-rows if need be",
        )
    if model_ids and traces:
        raise InputError("a row trace has its ids already", source="--model-ids")


def _traces(args: argparse.Namespace) -> Traces:
    rows = DEFAULT_GATHER_ROWS if args.gather_rows is None else args.gather_rows
    return Traces(args.traces, count_of(str(rows), "--gather-rows", 1, MAX_GATHER_ROWS))


def _capacity_rows(args: argparse.Namespace, inputs: Inputs) -> list[int]:
    """Slots of each table that is emulated.

    The cache has two tables of nearly one size. Where tokens are emulated on one, it gets half of
    the slots that the budget buys both, as the RowCache report did; a row trace gets all of it.
    """
    if args.capacity_rows is not None:
        rows = count_of(args.capacity_rows, "--capacity-rows", 0, MAX_CAPACITY_ROWS)
        return list(split_by_rows(rows)) if inputs.tables == 2 else [rows]
    size = DEFAULT_CACHE_SIZE if args.cache_size is None else args.cache_size
    budget = size_bytes(size, "--cache-size", MAX_CAPACITY_ROWS * SLOT_BYTES)
    if isinstance(inputs, Traces):
        return list(rows_of_budget(budget, (1,)))
    both = rows_of_budget(budget)
    return list(both) if inputs.tables == 2 else [sum(both) // 2]


def _title(inputs: Inputs, capacity_rows: Sequence[int], scale: int, seeds: int) -> str:
    slots = " + ".join(f"{rows:,}" for rows in capacity_rows)
    told = f"{visible(inputs.name)}: {slots} slots, scale 1/{scale}, engine {kernel.engine_name()}"
    return told + (f", mean ± standard deviation of {seeds} hash seeds" if seeds > 1 else "")


def _print_csv(rows: Sequence[RowsRow]) -> None:
    writer = csv.DictWriter(sys.stdout, [field.name for field in fields(RowsRow)])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
