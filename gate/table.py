"""`cachegate table new`: a golden table from recorded runs, scrapes of a server, or reports of the gate.

    cachegate table new c2-repeats --of runs --from new-runs --title T --source S
    cachegate table new my-server --of scrapes --from first second third --title T --source S --dir tables

Each tolerance is derived: from the printed digits, or from how far repeats lie apart. Equations that hold between
the columns by more than chance are written into the table as checks.
"""

from __future__ import annotations

import argparse
import datetime
import re
from collections import Counter
from pathlib import Path

from gate.golden.checks import broken_checks
from gate.golden.evidence import refuse_unsound
from gate.golden.new_table import Heading, table_text
from gate.golden.proposals import proposals
from gate.golden.samples import Samples
from gate.golden.sources import SAMPLES, folder_of
from gate.golden.table import KEY, SPREAD, Table
from gate.golden.table_file import TABLES, load
from gate.golden.whole_files import replace_files
from gate.show import print_table
from reference.errors import InputError, printable

KINDS = ("runs", "scrapes", "reports")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate table`."""
    parser.add_argument("action", choices=["new"])
    parser.add_argument("name", metavar="NAME", help="small letters, digits and dashes")
    parser.add_argument(
        "--of", choices=KINDS, required=True, help="what the measurement consists of"
    )
    parser.add_argument("--from", dest="paths", nargs="+", required=True, metavar="PATH")
    parser.add_argument("--title", required=True, metavar="TEXT", help="the question it answers")
    parser.add_argument("--source", required=True, metavar="TEXT", help="what was measured")
    parser.add_argument(
        "--dir", metavar="DIR", help="where it is written (default: the project's tables)"
    )


def run(args: argparse.Namespace) -> int:
    """Make the table and tell how its tolerances came about. Raises InputError before anything is written."""
    target = _target(args.name, args.dir)
    definition = f"samples_of_{args.of}"
    with folder_of(args.paths) as folder:
        samples = SAMPLES[definition](folder)
        refuse_unsound(folder, samples.names)
    date = datetime.datetime.now(datetime.UTC).date()
    write_new(samples, Heading(args.title, args.source, definition, date), target)
    show_new(load(target))
    return 0


def write_new(samples: Samples, heading: Heading, target: Path) -> None:
    """Write the table of some samples, with every check that its own cells keep.

    Raises:
        InputError: the file cannot be written, or the samples make no golden table.
    """
    replace_files(
        {target: table_text(samples, heading)},
        lambda staged, _: _add_checks(staged, samples, heading),
    )


def _add_checks(staged: Path, samples: Samples, heading: Heading) -> None:
    """Complete the staged file: what it holds decides which checks it gets."""
    checks = proposals(load(staged))
    staged.write_text(table_text(samples, heading, checks), encoding="utf-8")
    if broken := broken_checks(load(staged)):
        raise InputError(f"its own check does not hold: {broken[0]}", source=str(staged))


def show_new(table: Table) -> None:
    """Each column with its tolerance and the reason for it; then the checks."""
    columns = [column for column in table.columns if column.kind != KEY]
    rows = [(c.name, c.unit, c.kind, f"{float(c.tolerance):g}", c.why) for c in columns]
    print_table(("column", "unit", "kind", "tolerance", "why"), rows)
    print()
    for check in table.checks:
        print(f"check: {check}")
    kinds = Counter(column.kind for column in columns)
    if not kinds[SPREAD]:
        print("no repeats differ: nothing is known of the spread")
    print(
        f"{table.path}: {len(table.rows)} rows, {len(columns)} columns, {len(table.checks)} checks"
    )


def _target(name: str, folder: str | None) -> Path:
    if not NAME.fullmatch(name):
        raise InputError(
            f"'{printable(name)}' is no name of a table",
            expected="small letters, digits and dashes",
        )
    target = (Path(folder) if folder else TABLES).absolute() / f"{name}.toml"
    if target.exists():
        raise InputError(
            "there is such a table",
            source=str(target),
            cure="cachegate remeasure changes its cells",
        )
    if not target.parent.is_dir():
        raise InputError("no such folder", source=str(target.parent))
    return target
