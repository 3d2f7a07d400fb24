"""Does `cachegate smoke` name the mistake of an adapter, and does `new-driver` write one that can be filled in?"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.example_drivers import DRIVERS, KINDS, LANGUAGES
from gate.bringup.ladder import ladder
from gate.bringup.new_driver import BUILD
from gate.cli import main
from gate.connect.wire import encode
from reference.laws import EXPERT, ROW

PYTHON = DRIVERS / "python"


def smoke(folder: Path, driver: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code of `cachegate smoke` on a Python driver, and the lines it prints."""
    code = main(["smoke", "cmd:" + shlex.join([sys.executable, str(folder / driver)])])
    return code, capsys.readouterr().out.splitlines()


def part(lines: list[str], label: str) -> str:
    """What stands behind a label of the first fault."""
    return next((line.strip()[10:] for line in lines if line.strip().startswith(label)), "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_correct_driver_climbs_every_rung(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python examples pass all rungs, none skipped, with exit code 0."""
    code, lines = smoke(PYTHON, f"{kind}_driver.py", capsys)
    rungs = [line for line in lines if line.endswith("  pass")]
    assert (code, len(rungs)) == (0, len(ladder(f"{kind}-cache")))
    assert lines[-1].startswith("every rung holds")


MISTAKES = {
    "forgets done": (
        "expert_driver.py",
        'print("done", flush=True)',
        "sys.stdout.flush()",
        ("hang: nothing within 3 s after 1 of 1 answers", "then `done`, and flush stdout"),
    ),
    "forgets to flush": (
        "expert_driver.py",
        'print("done", flush=True)',
        'print("done")',
        ("hang: nothing within 3 s after 0 of 1 answers", "flush stdout after it"),
    ),
    "does not answer the opening": (
        "expert_driver.py",
        "        show(Answer())\n",
        "",
        ("garbage: `done` after 0 of 1 answers", "docs/protocol.md"),
    ),
    "opens no new cache": (
        "expert_driver.py",
        "        cache = ExpertCache(",
        "        cache = globals().get('cache') or ExpertCache(",
        ("others", "open a new cache at every program's first line"),
    ),
    "digests each expert once": (
        "expert_cache.py",
        "digest_of(delivered[e] for e in ids)",
        "digest_of(delivered[e] for e in distinct)",
        ("digest ", "its repeats are left out"),
    ),
    "digests in ascending order": (
        "expert_cache.py",
        "digest_of(delivered[e] for e in ids)",
        "digest_of(delivered[e] for e in sorted(ids))",
        ("digest ", "in ascending order"),
    ),
    "forgets the layer in the key": (
        "expert_cache.py",
        "value_of((layer << 32) + e)",
        "value_of(e)",
        ("digest ", "the layer, or table, is not in the key"),
    ),
    "forgets the addition": (
        "backing_store.py",
        "mix((key + 0x9E3779B97F4A7C15) & MASK)",
        "mix(key)",
        ("digest ", "value(key) lacks the addition before mix"),
    ),
    "prints flags for repeats": (
        "expert_cache.py",
        'return Answer(None, "".join("01"[h] for h in hits)',
        'return Answer(None, "".join("01"[h] for h in hits) * 2',
        ("column hit: expected 1 flags, one for each of 1, got 2", "docs/protocol.md"),
    ),
    "refuses by another name": (
        "expert_cache.py",
        '"no-generation"',
        '"not-open"',
        ("column refusal: not-open is none of no-generation", "docs/protocol.md"),
    ),
    "refuses for another reason": (
        "expert_cache.py",
        '"dense-layer"',
        '"no-such-layer"',
        ("refusal no-such-layer", "refuse what is out of place by its name"),
    ),
    "lists the most recent first": (
        "expert_cache.py",
        "key=lambda key: self.entries[key].tick)",
        "key=lambda key: -self.entries[key].tick)",
        ("victim order ", "the next victim first"),
    ),
    "counts repeats": (
        "expert_cache.py",
        "distinct = list(dict.fromkeys(ids))",
        "distinct = list(ids)",
        ("column hit: expected 2 flags, one for each of 3 1, got 3", "docs/protocol.md"),
    ),
    "raises": (
        "expert_cache.py",
        "    def retain(self, layer, ids):\n",
        "    def retain(self, layer, ids):\n        raise KeyError(layer)\n",
        ("crash: exited with code 1 after", "run it by hand with the lines below"),
    ),
}
"""A mistake -> the example's file, what is replaced by what, and what the fault's `got` and `cure` hold."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_of_an_adapter_is_named(
    mistake: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One mistake in the Python example: exit code 1, and the first fault tells what came and what cures it."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    file, right, wrong, (got, cure) = MISTAKES[mistake]
    for source in PYTHON.glob("*.py"):
        shutil.copy(source, tmp_path)
    text = (tmp_path / file).read_text()
    assert right in text
    (tmp_path / file).write_text(text.replace(right, wrong))
    code, lines = smoke(tmp_path, "expert_driver.py", capsys)
    assert code == 1
    assert got in part(lines, "got:")
    assert cure in part(lines, "cure:")
    assert part(lines, "expected:")


def test_the_line_to_type_shows_the_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shell takes the command behind `by hand:`, and the driver answers it with the digest that came."""
    for source in PYTHON.glob("*.py"):
        shutil.copy(source, tmp_path)
    store = tmp_path / "backing_store.py"
    store.write_text(store.read_text().replace("^ (x >> 30)", "^ (x >> 31)"))
    _, lines = smoke(tmp_path, "expert_driver.py", capsys)
    by_hand, got = part(lines, "by hand:"), part(lines, "got:").removeprefix("digest ")
    said = subprocess.run(by_hand, shell=True, capture_output=True, text=True, check=True).stdout
    assert got in said
    assert said.endswith("done\n")


@pytest.mark.parametrize("text", ["builtin", "cmd:", "record:runs", "driver"])
def test_only_drivers_and_objects_are_brought_up(text: str) -> None:
    """Anything else is unusable input."""
    assert main(["smoke", text]) == 2


def test_objects_are_brought_up_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A class climbs the same rungs."""
    for name in ("Expert", "Row"):
        assert main(["smoke", f"python:properties.objects_under_test:{name}"]) == 0
    assert capsys.readouterr().out.count("every rung holds") == 2


def test_after_a_hang_no_other_rung_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Each would cost a deadline: they are told to be not reached."""
    code = main(["smoke", "python+deadline=0.3:properties.objects_under_test:Loops"])
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert [line.split()[-1] for line in lines if line.strip()[:1].isdigit()].count("hang") == 1
    assert any(line.endswith("not reached") for line in lines)


@pytest.mark.parametrize("cache", [EXPERT, ROW])
def test_every_rung_shows_what_the_one_before_does_not(cache: str) -> None:
    """No two rungs are the same program."""
    programs = [rung.program for rung in ladder(cache)]
    assert len({repr(program) for program in programs}) == len(programs)


@pytest.mark.parametrize("cache", [EXPERT, ROW])
def test_the_last_rung_is_more_than_a_pipe_holds(cache: str) -> None:
    """64 KiB and more are sent, and a line comes back for each of 800 operations."""
    last = ladder(cache)[-1].program
    assert len(encode(last)) > 1 << 16
    assert len(last.operations) >= 800


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_driver_builds_and_is_brought_up(
    language: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written compiles as it says, starts, and fails the first rung for what is to be filled in."""
    folder = tmp_path / "driver"
    assert main(["new-driver", language, str(folder), "--cache", f"{kind}-cache"]) == 0
    told = capsys.readouterr().out
    built = BUILD.search("".join(file.read_text() for file in sorted(folder.glob("*_driver.*"))))
    if built:
        compiler = built.group(1).split()[0]
        assert f"cd {folder} && {built.group(1)}" in told
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler} here")
        ended = subprocess.run(
            shlex.split(built.group(1)), cwd=folder, check=True, capture_output=True, text=True
        )
        assert ended.stderr == ""
    command = next(line for line in told.splitlines() if line.startswith("try"))
    connect = shlex.split(command)[-1].replace("python3", shlex.quote(sys.executable))
    assert main(["smoke", connect]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("my-cache 0.1")
    assert "first thing wrong: rung 1, opens a cache" in lines
    assert "FILL IN" in "".join(file.read_text() for file in folder.glob("*_cache.*"))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A folder with a file of the driver in it is unusable input, and stays as it is."""
    (tmp_path / "backing_store.hpp").write_text("mine")
    assert main(["new-driver", "cpp", str(tmp_path)]) == 2
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]
