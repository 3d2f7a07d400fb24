"""Is every form of an exposition read alike, and everything else refused by file and line?"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.damaged_files import reads_or_refuses, written
from fixtures.expositions import exposition
from gate.cli import main
from reference.errors import InputError

pytest.importorskip("prometheus_client", reason="needs the optional extra 'metrics'")
from gate.metrics import scrape
from gate.metrics.scrape import scrape_body, scrape_file

COUNTS = {"hits": 9, "misses": 5, "evictions": 1, "resident_rows": 3, "capacity_rows": 8}
TEXT = exposition({"0": COUNTS})
LABELS = (("table", "0"),)
HITS = 'server_row_cache_hits_total{table="0"}'


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        exposition({"0": COUNTS}, total=""),
        TEXT.replace(".0\n", "\n"),
        TEXT.replace('hits_total{table="0"} 9.0', 'hits_total{table="0"} 9e+00'),
        TEXT.replace("\n", "\r\n"),
        TEXT.replace(".0\n", ".0 1700000000123\n"),
        TEXT.replace('{table="0"}', '{table="0",model="",}'),
        TEXT.replace(f"{HITS} ", '{"server_row_cache_hits_total",table="0"} '),
        TEXT.replace(".0\n", '.0 # {trace="a"} 1.0 1700000000.5\n') + "# EOF\n",
        TEXT + 'http_seconds{quantile="0.5"} NaN\nhttp_errors -1\n',
        TEXT.replace("server_row_cache", "row_cache"),
    ],
)
def test_every_form_says_the_same(text: str) -> None:
    """With and without `_total`, integers or floats, either line end, labels as one likes."""
    assert scrape_body(text.encode(), "s").tables == {LABELS: COUNTS}


def test_explicit_times_are_read_in_their_unit() -> None:
    """Milliseconds in the text format, seconds in OpenMetrics; an exemplar's time is not a sample's."""
    text = scrape_body(TEXT.replace(".0\n", ".0 1700000000500\n").encode(), "s")
    timed = '.0 1700000000.5 # {trace="a"} 1.0 1600000000.0\n'
    metrics = scrape_body((TEXT.replace(".0\n", timed) + "# EOF\n").encode(), "s")
    assert text.at_seconds == metrics.at_seconds == 1_700_000_000.5


@pytest.mark.parametrize("prefix", ["a", "a_", "a_row_cache", "a_row_cache_"])
def test_a_prefix_chooses_among_caches(prefix: str) -> None:
    """What stands before `_hits` or before `_row_cache_hits`, with or without the underscore."""
    other = exposition({"0": {**COUNTS, "hits": 1}}, prefix="b_row_cache")
    body = (exposition({"0": COUNTS}, prefix="a_row_cache") + other).encode()
    assert scrape_body(body, "s", prefix).tables[LABELS]["hits"] == 9
    with pytest.raises(InputError, match="several row caches: a_row_cache, b_row_cache"):
        scrape_body(body, "s")


BAD_VALUES = ["NaN", "+Inf", "-Inf", "-1", "0.5", "1e300", "9007199254740994", "9" * 400]


@pytest.mark.parametrize("value", BAD_VALUES)
@pytest.mark.parametrize("series", ["hits_total", "resident_rows"])
def test_a_value_that_is_no_count_is_refused(
    value: str, series: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not finite, negative, a fraction, or beyond exact: exit 2, with file, line and series."""
    name = f'server_row_cache_{series}{{table="0"}} '
    lines = [name + value if line.startswith(name) else line for line in TEXT.splitlines()]
    number = next(at for at, line in enumerate(lines, 1) if line.startswith(name))
    bad = written(tmp_path, "\n".join(lines) + "\n")
    assert main(["metrics", str(bad), str(bad)]) == 2
    assert f"{bad}:{number}: server_row_cache_{series} is " in capsys.readouterr().err


MANY_LABELS = ",".join(f'a{n}="1"' for n in range(65))
BAD_TEXTS = {
    "duplicate series": (TEXT + f"{HITS} 9\n", "duplicate series server_row_cache_hits_total"),
    "with and without _total": (
        TEXT + 'server_row_cache_hits{table="0"} 9\n',
        "duplicate series server_row_cache_hits: it stands in line 4",
    ),
    "digits of another script": (TEXT.replace(" 9.0", " ９"), "is no sample"),
    "no series": ("up 1\n", "no series of a row cache; no similar name among its 1"),
    "another name": (
        exposition({"0": COUNTS}, prefix="engram_cache"),
        "similar names: engram_cache_capacity_rows, engram_cache_evictions_total",
    ),
    "comments alone": ("# HELP up Up.\n", "it has no samples at all"),
    "a created alone": ("a_row_cache_hits_created 1\n", "no series of a row cache"),
    "a web page": ("<html>\n", ":1: '<html>' is no sample"),
    "a cut line": (TEXT + 'http_requests_total{code="20', ":13: 'http_requests_total"),
    "a label twice": (TEXT + 'up{a="1",a="2"} 1\n', ":13: 'up"),
    "empty": ("", "is empty"),
    "gzip": (gzip.compress(TEXT.encode()), "is gzip data"),
    "binary": (TEXT.encode() + b"\0\1\2\n", ":13: a NUL byte"),
    "Latin-1": (TEXT.encode() + b'up{a="\xe9"} 1\n', ":13: bytes that are not UTF-8"),
    "a huge line": (TEXT + "x" * (scrape.MAX_LINE + 1), ":13: the line is longer than 65536"),
    "65 labels": (TEXT + f"up{{{MANY_LABELS}}} 1\n", "up has 65 labels"),
    "a start that is no time": (TEXT + "process_start_time_seconds NaN\n", "_seconds is NaN"),
}


@pytest.mark.parametrize("kind", BAD_TEXTS)
def test_a_file_that_is_no_scrape_is_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, naming the file, the line where there is one, and what was looked for."""
    content, message = BAD_TEXTS[kind]
    bad = written(tmp_path, content)
    assert main(["metrics", str(bad), str(bad)]) == 2
    told = capsys.readouterr()
    assert str(bad) in told.err
    assert message in told.err
    assert told.out == ""


def test_what_was_looked_for_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a series the message lists the five names, with the prefix that was asked for."""
    bad = written(tmp_path, "up 1\n")
    assert main(["metrics", str(bad), str(bad), "--prefix", "glm"]) == 2
    assert "glm or glm_row_cache_hits" in capsys.readouterr().err


def test_hostile_sizes_are_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many series, samples or bytes end the reading where the limit is."""
    many = "".join(f'a_row_cache_hits{{table="{n}"}} 1\n' for n in range(20))
    monkeypatch.setattr(scrape, "MAX_SERIES", 10)
    with pytest.raises(InputError, match=":11: more than 10 row-cache series"):
        scrape_file(str(written(tmp_path, many)))
    monkeypatch.setattr(scrape, "MAX_SAMPLES", 20)
    with pytest.raises(InputError, match=":21: more than 20 samples"):
        scrape_file(str(written(tmp_path, "up 1\n" * 30)))
    monkeypatch.setattr(scrape, "MAX_SCRAPE_BYTES", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        scrape_file(str(written(tmp_path, "# comment\n" * (1 << 17))))


@given(st.lists(st.text('ab_{}"\\=,.# 01eN\t', max_size=30), max_size=5), st.binary(max_size=20))
def test_any_bytes_are_read_or_refused(lines: list[str], tail: bytes) -> None:
    """No text makes the reader raise anything but a refusal that names its source."""
    body = TEXT.encode() + "\n".join(lines).encode() + tail
    try:
        scrape_body(body, "the scrape")
    except InputError as fault:
        assert str(fault).startswith("the scrape")  # noqa: PT017 - both ends are legal


@pytest.mark.parametrize("where", ["missing.prom", "."])
def test_paths_without_scrapes_are_refused(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is not there, and a folder without files."""
    assert main(["metrics", str(tmp_path / where)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_one_scrape_is_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A lone file, or a folder with one, is refused by name."""
    written(tmp_path, TEXT)
    assert main(["metrics", str(tmp_path)]) == 2
    assert "one scrape is no interval" in capsys.readouterr().err


def test_swapped_scrapes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With times in the text, AFTER before BEFORE is an error, not a counter reset."""
    late, early = (
        written(tmp_path, TEXT.replace(".0\n", f".0 {1_700_000_000_000 + ms}\n"), str(ms))
        for ms in (9_000, 0)
    )
    assert main(["metrics", str(late), str(early)]) == 2
    assert f"{early}: was taken 9 s before {late}" in capsys.readouterr().err


def test_a_folder_is_read_in_the_order_of_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """scrape-2 stands before scrape-10; hidden files are no scrapes; --interval gives the seconds."""
    for number in (10, 9, 2):
        written(tmp_path, exposition({"0": {**COUNTS, "hits": number}}), f"scrape-{number}")
    written(tmp_path, "no scrape", ".hidden")
    assert main(["metrics", str(tmp_path), "--json", "--interval", "0.5"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["hits"] for row in rows if row["table"] == "0"] == [7, 1]
    assert {row["seconds"] for row in rows} == {0.5}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ways", "0"],
        ["--ways", "four"],
        ["--interval", "0"],
        ["--interval", "1,2"],
        ["--interval", "nan"],
        ["--count", "3"],
        ["--save", "folder"],
    ],
)
def test_options_that_cannot_be_used_are_refused(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, naming the option; --count and --save belong to a URL."""
    good = str(written(tmp_path, TEXT))
    assert main(["metrics", good, good, *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


def test_the_missing_parser_is_named_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without prometheus-client: exit 2 and the pip command."""
    monkeypatch.setitem(sys.modules, "prometheus_client.parser", None)
    good = written(tmp_path, TEXT)
    assert main(["metrics", str(good), str(good)]) == 2
    assert "pip install 'cachegate[metrics]'" in capsys.readouterr().err


def test_damaged_scrapes_are_read_or_refused(tmp_path: Path) -> None:
    """A scrape cut anywhere gives a value or names the file."""
    for end in range(0, len(TEXT), 3):
        assert reads_or_refuses(lambda path: scrape_file(str(path)), written(tmp_path, TEXT[:end]))
