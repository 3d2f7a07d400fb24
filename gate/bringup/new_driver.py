"""`cachegate new-driver rust|cpp|python DIR`: where does somebody begin who has a cache and no driver?

The adapter is that of the example drivers (fixtures/drivers); the cache beside it is a skeleton (fixtures/skeletons)
that compiles, answers, and is wrong: its FILL INs are where the user's cache is called.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from reference.errors import InputError
from reference.laws import EXPERT, ROW

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WRITTEN = 0


@dataclass(frozen=True, slots=True)
class Language:
    """How a driver is written in one language.

    Args:
        adapter: its file, %s the kind of cache.
        skeleton: the file the user fills in.
        shared: what the two need.
        command: how the driver is started, %s its folder with the kind of cache.
    """

    adapter: str
    skeleton: str
    shared: tuple[str, ...]
    command: str


LANGUAGES = {
    "rust": Language(
        "%s_driver.rs", "%s_cache.rs", ("backing_store.rs", "%s_types.rs"), "%s_driver"
    ),
    "cpp": Language(
        "%s_driver.cpp", "%s_cache.hpp", ("backing_store.hpp", "%s_types.hpp"), "%s_driver"
    ),
    "python": Language(
        "%s_driver.py", "%s_cache.py", ("backing_store.py", "%s_types.py"), "python3 %s_driver.py"
    ),
}
BUILD = re.compile(r"Build: (.+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `cachegate new-driver`."""
    parser.add_argument("language", choices=sorted(LANGUAGES))
    parser.add_argument("folder", metavar="DIR", help="made if it is not there")
    parser.add_argument(
        "--cache", choices=[EXPERT, ROW], default=EXPERT, help=f"what it drives (default {EXPERT})"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files, and say what to do with them."""
    folder = Path(args.folder)
    files = files_of(args.language, args.cache)
    _write(folder, files)
    language, kind = LANGUAGES[args.language], args.cache.partition("-")[0]
    adapter, skeleton = language.adapter % kind, language.skeleton % kind
    program, _, script = language.command.partition(" ")
    command = f"{program} {folder / (script % kind)}" if script else str(folder / (program % kind))
    if not script and not folder.is_absolute():
        command = f"./{command}"
    build = BUILD.search(files[adapter])
    print(f"wrote    {', '.join(sorted(files))} in {folder}")
    if build:
        print(f"build    cd {folder} && {build.group(1)}")
    print(f"fill in  {folder / skeleton}, wherever it says FILL IN")
    print(f"try      cachegate smoke 'cmd:{command}'")
    print(f"gate     cachegate check --{args.cache} 'cmd:{command}'")
    return WRITTEN


def files_of(language: str, cache: str) -> dict[str, str]:
    """Name and text of every file of a new driver."""
    of, kind = LANGUAGES[language], cache.partition("-")[0]
    named = [name % kind if "%" in name else name for name in (of.adapter, *of.shared)]
    files = {name: (FIXTURES / "drivers" / language / name).read_text() for name in named}
    files[named[0]] = _blank_hello(files[named[0]])
    skeleton = of.skeleton % kind
    files[skeleton] = (FIXTURES / "skeletons" / language / skeleton).read_text()
    for module in re.findall(r"^mod (\w+);\n", files[named[0]], re.MULTILINE):
        if f"{module}.rs" not in files:  # a part of the example's cache
            files[named[0]] = files[named[0]].replace(f"mod {module};\n", "")
    return files


def _blank_hello(adapter: str) -> str:
    """The adapter with the hello of a driver that has everything still before it."""
    adapter = re.sub(r"example-\w+ 1\.0", "my-cache 0.1", adapter, count=1)
    adapter = re.sub(r"capabilities=[a-z,-]+", "capabilities=-", adapter, count=1)
    return re.sub(r"[a-z_]+=any(?: [a-z_]+=any)*", "placement=own", adapter, count=1)


def _write(folder: Path, files: dict[str, str]) -> None:
    """All files or none; nothing is overwritten."""
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise InputError(
            f"has a file {there[0]} already",
            source=str(folder),
            expected="a folder without a driver",
            cure="name another folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", source=str(folder)) from None
