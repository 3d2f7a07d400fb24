"""`cachegate qualify row-cache`: is the row cache of this running server what it is said to be?

    cachegate qualify row-cache --server http://HOST:PORT --text FILE --layout 4-way --out my-server.toml

Sends the RowCache report's five requests, reads the counters around each, and writes the table, its identities,
the refusals that can be inferred, and beside them what an emulation of the layout gives. docs/qualify.md tells
how to start the server. Exit codes: 0 all passed, 1 a verdict is fail, 2 unusable input, 3 nothing was judged.
"""

from __future__ import annotations

import argparse
import datetime
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fixtures.text import request_sequence
from gate.audit.findings import FAIL, PASS
from gate.golden.new_table import Heading
from gate.golden.samples_of_scrapes import samples_of_scrapes
from gate.golden.table import Table
from gate.golden.table_file import load
from gate.metrics.sources import DEFAULT_PATH
from gate.qualify.prediction import Prediction, predict
from gate.qualify.report import as_dict, print_report
from gate.qualify.server import Server
from gate.qualify.session import Asked, ask_all, capacities
from gate.qualify.verdicts import findings
from gate.quantities import count_of, decimal_list
from gate.rows.inputs import Tokens, synthetic, tokens_of_file, tokens_of_text
from gate.rows.layouts import DEFAULT_POLICIES, Layout, layouts_of, scale_of
from gate.table import write_new
from reference.engram import HEADS
from reference.errors import InputError
from reference.row_geometry import split_by_rows

PASSED, FAILED, NOTHING_JUDGED = 0, 1, 3
SERVER_TABLES = 2
"""How many tables a server has that does not tell them apart: those of the public model."""
MAX_SEEDS = 1_000
MODEL_ROWS, HASHED_ROWS = "model", "hashed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cachegate qualify`."""
    parser.add_argument("what", choices=["row-cache"])
    parser.add_argument("--server", required=True, metavar="URL", help="its base, http://HOST:PORT")
    parser.add_argument(
        "--metrics", metavar="URL", help=f"its counters (default URL{DEFAULT_PATH})"
    )
    parser.add_argument("--model", default="", metavar="NAME", help="default: the first it names")
    parser.add_argument("--prefix", metavar="P", help="of the series, as for cachegate metrics")
    _add_inputs(parser)
    parser.add_argument(
        "--layout", default="4-way", metavar="P", help="what the cache is said to be"
    )
    parser.add_argument(
        "--against", default=DEFAULT_POLICIES, metavar="P,…", help="layouts it is told apart from"
    )
    parser.add_argument(
        "--rows",
        choices=[MODEL_ROWS, HASHED_ROWS],
        default=MODEL_ROWS,
        help="which rows the server reads for an n-gram: those of the public model (default; extra "
        "`text`), or those of the emulation's hash",
    )
    parser.add_argument(
        "--scale", default="1", metavar="N", help="1/8: heads and sketch of an eighth"
    )
    parser.add_argument("--seeds", default="3", metavar="N", help="hash seeds emulated (default 3)")
    parser.add_argument(
        "--timeout", default="600", metavar="S", help="for one answer (default 600)"
    )
    parser.add_argument(
        "--settle", default="0.2", metavar="S", help="between readings (default 0.2)"
    )
    parser.add_argument("--warm", action="store_true", help="the cache need not be empty")
    parser.add_argument("--save", metavar="DIR", help="keep the scrapes in this new folder")
    parser.add_argument("--out", metavar="FILE", help="write the measured golden table, .toml")
    parser.add_argument("--json", action="store_true", help="one object on standard output")


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar="FILE", help="a text in UTF-8 (extra `text`)")
    source.add_argument("--tokens", metavar="FILE", help="token ids of a text: .npy, or text")
    source.add_argument("--synthetic", action="store_true", help="the specification's own text")


def run(args: argparse.Namespace) -> int:
    """Ask, judge, print. Raises InputError before anything is printed."""
    declared, layouts = _layouts(args)
    scale = scale_of(args.scale)
    seeds = count_of(args.seeds, "--seeds", 1, MAX_SEEDS)
    inputs = _inputs(args, HEADS // scale)
    server = _server(args)
    requests = request_sequence(inputs.tokens)
    out = _out_file(args.out)
    with tempfile.TemporaryDirectory(prefix="cachegate-") as place:
        folder = _folder(args.save, Path(place) / "scrapes")
        asked = ask_all(server, requests, folder, declared.ways, warm=args.warm)
        wanted = out or (None if args.json else Path(place) / "table.toml")
        table = _table(folder, wanted, args) if wanted else None
    predictions = [] if args.warm else _predictions(asked, inputs, layouts, scale, seeds)
    found = findings(asked, inputs, declared.name, predictions, _tables(asked))
    if args.json:
        print(json.dumps(as_dict(asked, predictions, found), indent=1))
    else:
        print_report(asked, declared.name, predictions, found, table.checks if table else ())
    verdicts = {finding.verdict for finding in found}
    return FAILED if FAIL in verdicts else PASSED if PASS in verdicts else NOTHING_JUDGED


def _layouts(args: argparse.Namespace) -> tuple[Layout, list[Layout]]:
    """The declared layout, and all that are tried: itself first."""
    declared = layouts_of(args.layout)
    if len(declared) != 1:
        raise InputError("one layout is declared", source="--layout", expected="as in 4-way")
    others = [layout for layout in layouts_of(args.against) if layout.name != declared[0].name]
    return declared[0], [*declared, *others]


def _inputs(args: argparse.Namespace, heads: int) -> Tokens:
    model_rows = args.rows == MODEL_ROWS
    if model_rows and heads != HEADS:
        raise InputError(
            "the public model has all heads", source="--scale", cure="use --rows hashed"
        )
    if args.synthetic:
        inputs = synthetic(heads, model_rows)
    elif args.tokens is not None:
        inputs = tokens_of_file(args.tokens, heads, model_rows)
    else:
        inputs = tokens_of_text(args.text, heads, model_rows)
    list(inputs)  # what the tokens cannot give is told before the server is asked
    return inputs


def _server(args: argparse.Namespace) -> Server:
    url = args.server.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise InputError(f"'{url}' is no server", source="--server", expected="http://HOST:PORT")
    return Server(
        url=url,
        metrics_url=args.metrics or url + DEFAULT_PATH,
        prefix=args.prefix,
        timeout_s=float(decimal_list(args.timeout, "--timeout")[0]) or 600.0,
        settle_s=float(decimal_list(args.settle, "--settle")[0]),
        model=args.model,
    )


def _out_file(name: str | None) -> Path | None:
    if name is None:
        return None
    out = Path(name).absolute()
    if out.suffix != ".toml" or out.exists() or not out.parent.is_dir():
        raise InputError(
            "cannot be made", source=name, expected="a new file NAME.toml in a folder that exists"
        )
    return out


def _folder(name: str | None, default: Path) -> Path:
    """A new folder for the scrapes."""
    folder = default if name is None else Path(name)
    try:
        folder.mkdir(parents=True)
    except OSError as fault:
        raise InputError(f"cannot be made: {fault.strerror}", source=str(folder)) from None
    return folder


def _tables(asked: Sequence[Asked]) -> int:
    return len(asked[-1].tables) or SERVER_TABLES


def _predictions(
    asked: Sequence[Asked],
    inputs: Tokens,
    layouts: Sequence[Layout],
    scale: int,
    seeds: int,
) -> list[Prediction]:
    sizes = capacities(asked)
    if inputs.tables == 1:
        slots = [sum(sizes) // _tables(asked)]
    else:
        slots = sizes if len(sizes) == inputs.tables else list(split_by_rows(sum(sizes)))
    return predict(inputs, layouts, slots, tables=_tables(asked), scale=scale, seeds=seeds)


def _table(folder: Path, out: Path, args: argparse.Namespace) -> Table:
    """The golden table of the scrapes in a folder, written to `out`."""
    samples = samples_of_scrapes(folder)
    heading = Heading(
        title="What did the server's row cache count at each of the five requests?",
        document=f"cachegate qualify row-cache, declared as {args.layout}",
        definition=samples_of_scrapes.__name__,
        date=datetime.datetime.now(datetime.UTC).date(),
    )
    write_new(samples, heading, out)
    return load(out)
