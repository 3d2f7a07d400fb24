"""The `cachegate` command: which subcommand runs, and how errors become exit codes.

0: all that was exercised passed; 1: a fail, crash, hang or garbage; 2: unusable input or usage; 3: nothing was judged.
Each subcommand is a module of this folder with `HELP`, `add_arguments(parser)` and `run(args) -> int`; only the one
that runs is imported.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

from gate.show import tell
from reference.errors import InputError, visible

UNUSABLE = 2

COMMANDS = {
    "check": ("gate.check", "run the laws and golden tables: the gate"),
    "smoke": (
        "gate.bringup.smoke",
        "bring up a new driver and name the first thing that is wrong with it",
    ),
    "new-driver": (
        "gate.bringup.new_driver",
        "write the skeleton of a driver in Rust, C++ or Python",
    ),
    "replay": ("gate.replay", "one program step by step, implementations beside the reference"),
    "compare": ("gate.compare", "what changed between two reports of the gate"),
    "power": ("gate.power.command", "what the gate catches of the seeded bugs, and how fast"),
    "exhaust": ("gate.bulk.exhaust", "every small program, modulo renaming"),
    "storm": ("gate.bulk.storm", "as many random programs as time allows"),
    "audit": ("gate.audit.command", "judge recorded runs and routing traces of the engine"),
    "curve": (
        "gate.curve.command",
        "what every budget and policy would have given on a routing trace",
    ),
    "rows": (
        "gate.rows.command",
        "what every row-cache layout would have given on a text or row trace",
    ),
    "grow": ("gate.growth.grow", "the self-sizing budget at work on a routing trace and a device"),
    "sizing": ("gate.growth.judge", "judge a self-sizing rule by its laws"),
    "metrics": ("gate.metrics.command", "judge a row-cache server by its Prometheus counters"),
    "remeasure": ("gate.remeasure", "golden tables beside a new measurement, cell by cell"),
    "table": ("gate.table", "a new golden table from recorded runs, scrapes or reports"),
    "history": ("gate.history", "what a golden table's cells were measured as before"),
    "qualify": (
        "gate.qualify.command",
        "measure the row cache of a running server and judge its layout",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        _make_streams_usable()
        return _run(arguments)
    except InputError as error:
        tell(f"cachegate: {error}")
        return UNUSABLE
    except BrokenPipeError:
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as fault:  # a full disk behind `>`, a folder that is gone
        _drop_output()
        place = f"{visible(str(fault.filename))}: " if fault.filename else ""
        tell(f"cachegate: {place}{fault.strerror or fault}")
        return UNUSABLE
    except KeyboardInterrupt:
        tell("cachegate: interrupted")
        return 128 + signal.SIGINT


def _run(arguments: Sequence[str]) -> int:
    try:
        args = _parser(arguments).parse_args(arguments)
        code: int = args.run(args)
    finally:
        sys.stdout.flush()  # what cannot be written shows here, not when Python ends
    return code


def _make_streams_usable() -> None:
    """No name of a file and no sign stops the output: what the terminal cannot show is written as `\\u2026`.

    Raises:
        InputError: standard output was closed (`>&-`).
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        raise InputError("standard output is closed", cure="send it to a file or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Nobody reads it, or nothing holds it: Python shall not try once more when it ends."""
    with suppress(OSError, ValueError):  # without a file of its own there is nothing to drop
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; only the subcommand that is named gets its arguments."""
    parser = argparse.ArgumentParser(
        prog="cachegate",
        description="The gate that a change to an inference weight cache must pass.",
        epilog="Exit codes: 0 passed, 1 failed, 2 unusable input, 3 nothing was judged.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    named = next((word for word in arguments if not word.startswith("-")), "")
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == named:
            module = importlib.import_module(module_name)
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
