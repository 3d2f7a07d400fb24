"""`cachegate history`: what were a golden table's cells measured as before?

cachegate history cliff
cachegate history cliff --plot cliff.svg
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from gate.golden.past import Step, past
from gate.golden.table import Table
from gate.remeasure import tables_of
from gate.show import print_table

DIGEST_SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate history`."""
    parser.add_argument("table", metavar="TABLE", help="a table's name or its file")
    parser.add_argument("--plot", metavar="FILE", help="the cells over time, .svg or .png")
    parser.add_argument("--json", action="store_true", help="one list of measurements")


def run(args: argparse.Namespace) -> int:
    """Show the measurements of a table, the first one first. Raises InputError before anything is printed."""
    for table in tables_of(args.table):
        if args.plot:
            from gate.history_plot import plot_history  # noqa: PLC0415 - drawing is slow to import

            plot_history(table, args.plot)
        if args.json:
            print(json.dumps([asdict(each) for each in table.history], indent=1, default=str))
        else:
            _print(table)
    return 0


def _print(table: Table) -> None:
    source = table.source
    print(f"{table.id}: {table.title}")
    print(f"  {source.date} first: {source.document} at {source.commit}, {source.section}")
    for each in table.history:
        print(f"  {each.date} {each.source}: {each.reason}")
        print(
            f"    engine {each.engine}, {each.definition} at {each.code}, {_files(len(each.files))}"
        )
        for name, digest in each.files.items():
            print(f"      {digest[:DIGEST_SHOWN]} {name}")
    if not table.history:
        print("  never re-measured")
        return
    print()
    rows = [_row(name, steps) for name, steps in past(table).items()]
    print_table(("cell", "first", "then"), rows)


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _row(name: str, steps: list[Step]) -> tuple[str, ...]:
    then = ", ".join(f"{step.after} ({step.date})" for step in steps)
    return name, str(steps[0].before), then
