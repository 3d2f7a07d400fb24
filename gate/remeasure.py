"""`cachegate remeasure`: does a new measurement give the golden tables, and if not, should they change?

    cachegate remeasure all --from bench-data                     the check: old against new
    cachegate remeasure cliff --from bench-data --write --source S --reason R --accept CELL

Exit codes: 0 every cell lies within its tolerance, or was written; 1 one does not, and nothing was written;
2 unusable input; 3 nothing was measured.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gate.golden.changes import Change, printed_as
from gate.golden.checkout import code_version, writable
from gate.golden.evidence import gather
from gate.golden.measurement import toml
from gate.golden.remeasured import Remeasured, remeasure_all
from gate.golden.rewrite import NewTable, write_tables
from gate.golden.sources import folder_of
from gate.golden.table import Cell, Measurement, Table
from gate.golden.table_file import TABLES, load, load_all
from gate.show import print_table
from reference.errors import InputError, printable

PASSED, FAILED, NOTHING_MEASURED = 0, 1, 3
ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate remeasure`."""
    parser.add_argument(
        "table", metavar="TABLE", help="a table's name, its file, a folder of them, or all"
    )
    parser.add_argument(
        "--from",
        dest="paths",
        nargs="+",
        required=True,
        metavar="PATH",
        help="what it is measured from: the folder of recorded runs; runs, scrapes or reports",
    )
    parser.add_argument("--write", action="store_true", help="write what was measured")
    parser.add_argument("--source", metavar="TEXT", help="with --write: what was measured")
    parser.add_argument("--reason", metavar="TEXT", help="with --write: why the cells change")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="CELL",
        help="with --write: a cell that may move by more than its tolerance: ROW/COLUMN or "
        "TABLE:ROW/COLUMN",
    )
    parser.add_argument("--all", action="store_true", help="show every cell, not only what moved")
    parser.add_argument("--json", action="store_true", help="one list of cells on standard output")


def run(args: argparse.Namespace) -> int:
    """Measure and show, or write. Raises InputError before anything is printed or written."""
    _check_options(args)
    tables = tables_of(args.table)
    if not args.write:
        with folder_of(args.paths) as folder:
            found = remeasure_all(tables, folder)
        _show(found, args)
        return _code(found)
    with writable(tables[0].path.parent), folder_of(args.paths) as folder:
        found = remeasure_all(tables, folder)
        _refuse_unknown(found, args.accept)
        _show(found, args)
        return _write(found, folder, args)


def tables_of(name: str) -> list[Table]:
    """The table with this name or in this file, or all of a folder, or of the project.

    Raises:
        InputError: there is none.
    """
    if name == ALL:
        return load_all()
    if Path(name).is_dir():
        return load_all(Path(name).absolute())
    path = Path(name) if name.endswith(".toml") else TABLES / f"{name}.toml"
    if not path.is_file():
        raise InputError(
            f"no table {printable(name)}", expected="a table's name, its .toml file, or all"
        )
    return [load(path.absolute())]


def _check_options(args: argparse.Namespace) -> None:
    for name in ("source", "reason"):
        given = (getattr(args, name) or "").strip()
        if args.write and not given:
            raise InputError(
                f"--write needs a {name}", source=f"--{name}", expected="what a reviewer will read"
            )
    needless = ["source", "reason", "accept"] if not args.write else ["json"]
    for name in needless:
        if getattr(args, name):
            which = "the check" if args.write else "--write"
            raise InputError(f"is for {which} alone", source=f"--{name}")


# The check


def _code(found: Sequence[Remeasured]) -> int:
    if all(each.skipped for each in found):
        return NOTHING_MEASURED
    return FAILED if any(each.changes or each.faults for each in found) else PASSED


def _show(found: Sequence[Remeasured], args: argparse.Namespace) -> None:
    if args.json:
        cells = [_as_dict(each, change) for each in found for change in each.cells]
        print(json.dumps(cells, indent=1))
        return
    shown = [(each, each.cells if args.all else each.changes) for each in found]
    moved = [_line(each, change) for each, cells in shown for change in cells]
    if moved:
        print_table(("table", "cell", "old", "new", "unit", "tolerances"), moved)
        print()
    for each in found:
        for fault in each.faults:
            print(f"FAIL {fault}")
        if each.skipped:
            print(f"skip {each.table.id}: {each.skipped}")
    measured = [each for each in found if not each.skipped]
    print(
        f"{len(measured)} tables, {sum(len(each.cells) for each in measured)} cells: "
        f"{sum(len(each.changes) for each in measured)} differ by more than the tolerance"
    )


def _as_dict(each: Remeasured, change: Change) -> dict[str, object]:
    return {
        "table": each.table.id,
        "cell": change.name,
        "old": _plain(change.old),
        "new": _plain(change.new),
        "measured": _plain(change.measured),
        "unit": change.column.unit,
        "in_tolerances": change.in_tolerances,
        "beyond": change.beyond,
    }


def _plain(cell: Cell) -> str | int | float:
    return cell if isinstance(cell, str | int) else float(cell)


def _line(each: Remeasured, change: Change) -> tuple[str, ...]:
    steps = change.in_tolerances
    told = "not equal" if steps is None else f"{steps:.2f}"
    new = str(printed_as(change.column, change.old, change.measured))
    return each.table.id, change.name, str(change.old), new, change.column.unit, told


# Writing


def _write(found: Sequence[Remeasured], folder: Path, args: argparse.Namespace) -> int:
    moving = [_names(each, change) for each in found for change in each.changes]
    refused = [names for names in moving if not set(names) & set(args.accept)]
    for _, name in refused:
        print(f"FAIL {name} moves by more than its tolerance; if so be it: --accept {toml(name)}")
    if refused or any(each.faults for each in found):
        print("nothing was written")
        return FAILED
    news = [
        NewTable(each.table, each.changes, _measurement(each, folder, args))
        for each in found
        if each.changes
    ]
    write_tables(news)
    print(f"{sum(len(new.changes) for new in news)} cells of {len(news)} tables written")
    return _code(found) if all(each.skipped for each in found) else PASSED


def _names(each: Remeasured, change: Change) -> tuple[str, str]:
    """What a cell may be called: within its table, and among all."""
    return change.name, f"{each.table.id}:{change.name}"


def _measurement(each: Remeasured, folder: Path, args: argparse.Namespace) -> Measurement:
    evidence = gather(each.table, folder, each.rows)
    return Measurement(
        date=datetime.datetime.now(datetime.UTC).date(),
        source=args.source.strip(),
        reason=args.reason.strip(),
        engine=evidence.engine,
        definition=each.table.definition,
        code=code_version(),
        changed={change.name: (change.old, change.new) for change in each.changes},
        files=evidence.files,
    )


def _refuse_unknown(found: Sequence[Remeasured], accepted: Sequence[str]) -> None:
    """An --accept that names no cell is a slip; one that names a cell of several tables is too wide."""
    cells = Counter(
        name for each in found for change in each.cells for name in _names(each, change)
    )
    for name in accepted:
        if cells[name] != 1:
            raise InputError(
                f"{printable(name)} names {cells[name]} cells",
                source="--accept",
                expected="ROW/COLUMN, or TABLE:ROW/COLUMN, of one cell",
            )
