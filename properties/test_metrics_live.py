"""Is a live server scraped as it answers, saved, judged, and never trusted?"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fixtures.expositions import exposition
from gate.cli import main
from gate.metrics import sources as scrape_sources
from gate.metrics.intervals import TOTAL
from reference.row_cache import RowCache, RowCacheConfig

pytest.importorskip("prometheus_client", reason="needs the optional extra 'metrics'")
from fixtures.row_server import RowCacheCollector, serving

COUNTS = {"hits": 9, "misses": 5, "evictions": 1, "resident_rows": 3, "capacity_rows": 8}
BODY = exposition({"0": COUNTS}).encode()
QUICKLY = ("--interval", "0.01", "--json")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's proxy does not know this loopback."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def between_scrapes(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
    """Do something with the server before each scrape but the first, in place of waiting."""

    def arrange(act: Callable[[int], None]) -> None:
        calls = iter(range(1_000))

        def sleep(_: float) -> None:
            if number := next(calls):
                act(number)

        monkeypatch.setattr(scrape_sources.time, "sleep", sleep)

    return arrange


def a_cache() -> RowCache:
    """Two tables of 16 and 24 sets, small enough to refuse rows soon."""
    return RowCache(RowCacheConfig(sets=(16, 24), ways=4, sketch_width=512))


def gather_some(cache: RowCache, seed: int) -> None:
    """Lookups of both tables, skewed, over three times the slots."""
    random = Random(seed)
    for table in (0, 1):
        cache.gather([int(random.random() ** 2 * 300) for _ in range(400)], table)


def told(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> list[dict[str, Any]]:
    """The rows of `cachegate metrics … --json`, which ends with this exit code."""
    assert main(["metrics", *arguments]) == code
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


# A real endpoint with a real cache behind it


def test_a_live_servers_refusals_are_inferred(
    capsys: pytest.CaptureFixture[str], between_scrapes: Callable[[Callable[[int], None]], None]
) -> None:
    """The endpoint exposes no refusals; those inferred are the cache's own, by table and interval."""
    cache, seen = a_cache(), []

    def act(number: int) -> None:
        earlier = [cache.table_counters(table).refusals for table in (0, 1)]
        gather_some(cache, number)
        now = [cache.table_counters(table).refusals for table in (0, 1)]
        seen.append([after - before for before, after in zip(earlier, now, strict=True)])

    between_scrapes(act)
    with serving(RowCacheCollector(cache)) as url:
        rows = told(capsys, url, "--count", "6", *QUICKLY)
    for interval, refused in enumerate(seen, 1):
        mine = {r["table"]: r["refusals"] for r in rows if r["interval"] == interval}
        assert mine == {"0": refused[0], "1": refused[1], TOTAL: sum(refused)}
    assert len(seen) == 5
    assert cache.counters.refusals > 0
    assert {law["verdict"] for row in rows for law in row["laws"]} == {"pass", "skip"}


def test_saved_scrapes_give_the_same_report(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    between_scrapes: Callable[[Callable[[int], None]], None],
) -> None:
    """The folder of --save read back: same figures, same verdicts, same seconds to the microsecond."""
    cache = a_cache()
    between_scrapes(lambda number: gather_some(cache, number))
    with serving(RowCacheCollector(cache)) as url:
        live = told(capsys, url, "--count", "4", "--save", str(tmp_path / "new" / "kept"), *QUICKLY)
    assert len(list((tmp_path / "new" / "kept").iterdir())) == 4
    again = told(capsys, str(tmp_path / "new" / "kept"), "--json")
    for row in (*live, *again):
        row["seconds"] = pytest.approx(row["seconds"], abs=2e-6)
        del row["before"], row["after"], row["lookups_per_s"]
    assert again == live


def test_a_reset_of_a_live_server_is_named(
    capsys: pytest.CaptureFixture[str], between_scrapes: Callable[[Callable[[int], None]], None]
) -> None:
    """The interval with the reset is unknown; those before and after it are judged."""
    cache = a_cache()
    collector = RowCacheCollector(cache)

    def act(number: int) -> None:
        if number == 2:
            collector.reset()
        gather_some(cache, number if number != 2 else 1)

    gather_some(cache, 0)
    gather_some(cache, 5)
    between_scrapes(act)
    with serving(collector) as url:
        rows = told(capsys, url, "--count", "4", *QUICKLY)
    conservation = {
        row["interval"]: law["verdict"]
        for row in rows
        for law in row["laws"]
        if law["law"] == "conservation"
    }
    assert conservation == {1: "pass", 2: "unknown", 3: "pass"}
    reset = next(row for row in rows if row["interval"] == 2)
    assert reset["laws"][0]["detail"].startswith("counter reset: hits of 0 fell from ")


def test_an_interrupt_keeps_what_was_scraped(
    capsys: pytest.CaptureFixture[str], between_scrapes: Callable[[Callable[[int], None]], None]
) -> None:
    """Ctrl-C in the wait for the fourth scrape: two intervals are judged; before the second, none is."""
    cache = a_cache()

    def stop_at(last: int) -> Callable[[int], None]:
        def act(number: int) -> None:
            if number == last:
                raise KeyboardInterrupt
            gather_some(cache, number)

        return act

    with serving(RowCacheCollector(cache)) as url:
        between_scrapes(stop_at(3))
        assert main(["metrics", url, "--count", "9", *QUICKLY]) == 0
        printed = capsys.readouterr()
        assert {row["interval"] for row in json.loads(printed.out)} == {1, 2}
        assert "interrupted after 3 scrapes" in printed.err
        between_scrapes(stop_at(1))
        assert main(["metrics", url, "--count", "9", *QUICKLY]) == 130


# Servers that are none


class Scripted(BaseHTTPRequestHandler):
    """Answers with the server's script: one entry a request, the last one again and again."""

    server: ScriptedServer

    def do_GET(self) -> None:
        """Send status, headers and body as the script has them."""
        script = self.server.script
        status, headers, body = script.pop(0) if len(script) > 1 else script[0]
        self.server.asked.append((self.path, dict(self.headers)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for part in body if isinstance(body, list) else [body]:
            if isinstance(part, float):
                self.server.stopped.wait(part)
            else:
                try:
                    self.wfile.write(part)
                except OSError:
                    return

    def log_message(self, *_: Any) -> None:
        """Quietly."""


class ScriptedServer(ThreadingHTTPServer):
    """A server with a script; `asked` are the requests it got."""

    script: list[tuple[int, dict[str, str], Any]]
    asked: list[tuple[str, dict[str, str]]]
    stopped: threading.Event


@contextmanager
def scripted(*script: tuple[int, dict[str, str], Any]) -> Iterator[tuple[str, ScriptedServer]]:
    """(URL without a path, server) on loopback."""
    server = ScriptedServer(("127.0.0.1", 0), Scripted)
    server.script, server.asked, server.stopped = list(script), [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_default_path_and_the_plain_format_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A URL without a path means /metrics; neither OpenMetrics nor compression is offered."""
    with scripted((200, {}, BODY)) as (url, server):
        told(capsys, url, *QUICKLY)
    path, headers = server.asked[0]
    assert path == "/metrics"
    assert headers["Accept"] == "text/plain; version=0.0.4"
    assert headers["Accept-Encoding"] == "identity"


def test_a_redirect_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    """A path that moved is found, and each scrape asks anew."""
    moved = (302, {"Location": "/elsewhere"}, b"")
    with scripted(moved, (200, {}, BODY), moved, (200, {}, BODY)) as (url, server):
        told(capsys, url, *QUICKLY)
    assert [path for path, _ in server.asked] == ["/metrics", "/elsewhere"] * 2


BAD_ANSWERS: dict[str, tuple[tuple[int, dict[str, str], Any], str]] = {
    "an error": ((503, {}, b""), "the server answers 503"),
    "a redirect to a file": (
        (302, {"Location": "file:///dev/zero"}, b""),
        "the server answers 302",
    ),
    "a redirect to ftp": ((302, {"Location": "ftp://127.0.0.1/a"}, b""), "cannot be scraped"),
    "compressed": ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), "gzip-compressed"),
    "gzip unsaid": ((200, {}, b"\x1f\x8b\x08\0\0"), "is gzip data"),
    "cut short": ((200, {"Content-Length": str(len(BODY) + 7)}, BODY), "ends 7 bytes short"),
    "a bad chunk": ((200, {"Transfer-Encoding": "chunked"}, b"zz\r\n"), "cannot be scraped"),
    "too large": ((200, {}, [BODY] * 100), "larger than 0 MiB"),
    "silent": ((200, {}, [30.0]), "timed out"),
    "a trickle": ((200, {}, [b"#", 0.1] * 300), "did not end in time"),
    "no exposition": ((200, {}, b"<html>\n"), "'<html>' is no sample"),
    "nothing": ((200, {}, b""), "is empty"),
}


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_an_answer_that_is_no_scrape_is_refused(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, naming the URL and what is wrong with the answer; memory and time are bounded."""
    answer, message = BAD_ANSWERS[kind]
    monkeypatch.setattr(scrape_sources, "MAX_SCRAPE_BYTES", 20 * len(BODY))
    with scripted(answer) as (url, _):
        assert main(["metrics", url, "--timeout", "0.5", *QUICKLY]) == 2
    err = capsys.readouterr().err
    assert url in err
    assert message in err


def test_a_server_that_goes_away_leaves_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Two good scrapes, then an error: the interval is printed, and the exit code is 2."""
    good = (200, {}, BODY)
    with scripted(good, good, (500, {}, b"")) as (url, _):
        assert main(["metrics", url, "--count", "5", *QUICKLY]) == 2
    printed = capsys.readouterr()
    assert {row["interval"] for row in json.loads(printed.out)} == {1}
    assert "the server answers 500" in printed.err


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/hosts",
        "ftp://127.0.0.1/metrics",
        "http://",
        "http://127.0.0.1:99999/",
        "http://[::1/",
        "http://127.0.0.1/a b",
        "http://user:word@127.0.0.1/metrics",
        "http://127.0.0.1:1/metrics",
    ],
)
def test_a_url_that_cannot_be_scraped_is_refused(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only http and https with a host; a password is not repeated; nobody at the port is an error."""
    assert main(["metrics", url]) == 2
    err = capsys.readouterr().err
    assert err.startswith("cachegate: ")
    assert "word" not in err


def test_a_url_stands_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server beside a file is refused."""
    assert main(["metrics", str(tmp_path), "http://127.0.0.1/"]) == 2
    assert "one URL alone" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--save under a file: exit 2, naming the option."""
    (tmp_path / "file").write_text("")
    with scripted((200, {}, BODY)) as (url, _):
        assert main(["metrics", url, "--save", str(tmp_path / "file" / "sub"), *QUICKLY]) == 2
    assert "--save: cannot save in" in capsys.readouterr().err


def test_scrapes_keep_their_pace(capsys: pytest.CaptureFixture[str]) -> None:
    """Three scrapes 0.2 s apart take no less than that; the first may start a little late."""
    with scripted((200, {}, BODY)) as (url, _):
        rows = told(capsys, url, "--count", "3", "--interval", "0.2", "--json")
    assert sum(row["seconds"] for row in rows if row["table"] == TOTAL) > 0.3
