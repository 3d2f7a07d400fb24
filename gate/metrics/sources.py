"""Where do scrapes come from? Files, folders of them, or a server that is asked again and again.

A live scrape can be saved; its file name holds the time, so a folder of saved scrapes is a series
in the order of its names and knows the seconds between them.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit

from gate.metrics.scrape import MAX_SCRAPE_BYTES, Scrape, scrape_body, scrape_file
from gate.show import Progress
from reference.errors import InputError, printable

DEFAULT_PATH = "/metrics"
ACCEPT = {"Accept": "text/plain; version=0.0.4", "Accept-Encoding": "identity"}
CHUNK_BYTES = 1 << 16
SAVED_AS = "scrape-%Y%m%dT%H%M%S.%fZ.prom"
SAVED_NAME = re.compile(r"scrape-\d{8}T\d{6}\.\d{6}Z\.prom")


@dataclass(frozen=True, slots=True)
class Live:
    """How a server is asked.

    Args:
        url: http or https; without a path it is asked for `/metrics`.
        interval_seconds: from the start of one scrape to the start of the next.
        count: how many scrapes.
        timeout_seconds: for one scrape.
        save: folder that gets each body as it came; None keeps none.
    """

    url: str
    interval_seconds: float
    count: int
    timeout_seconds: float
    save: str | None = None


def is_url(where: str) -> bool:
    """Is it a URL rather than a path?"""
    return "://" in where


# Files


def recorded(paths: list[str], prefix: str | None) -> Iterator[Scrape]:
    """The scrapes of some files and folders, in the order given, a folder's by name.

    Raises:
        InputError: a path is missing, a folder has no files, or a file is no scrape (gate/metrics/scrape.py).
    """
    for path in paths:
        for file in _files(path):
            scrape = scrape_file(file, prefix)
            if scrape.at_seconds is None:
                scrape.at_seconds = _time_of_name(file)
            prefix = scrape.prefix
            yield scrape


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):  # noqa: PTH112 - unlike Path.is_dir, False where the name is too long
        return [path]
    try:
        with os.scandir(path) as entries:
            names = [e.name for e in entries if e.is_file() and not e.name.startswith(".")]
    except OSError as fault:
        raise InputError(f"cannot be read: {fault.strerror}", source=path) from None
    if not names:
        raise InputError("the folder holds no files", source=path, expected="one scrape a file")
    return [str(Path(path) / name) for name in sorted(names, key=_natural)]


def _natural(name: str) -> list[tuple[int, str]]:
    """So that `scrape-2` stands before `scrape-10`: digits by length first."""
    return [(len(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name) if part]


def _time_of_name(file: str) -> float | None:
    if not SAVED_NAME.fullmatch(Path(file).name):
        return None
    try:
        return datetime.strptime(Path(file).name, SAVED_AS).replace(tzinfo=UTC).timestamp()
    except ValueError:  # month 13
        return None


# A server


def scraped(live: Live, prefix: str | None) -> Iterator[Scrape]:
    """One scrape after another, at the interval; a scrape that takes longer delays the next.

    Raises:
        InputError: the URL, the answer or the folder to save in cannot be used.
    """
    url = _checked(live.url)
    progress = Progress("scrapes", live.count)
    wall, start = time.time(), time.monotonic()
    try:
        for number in range(live.count):
            due = start + number * live.interval_seconds
            time.sleep(max(0.0, due - time.monotonic()))
            # The wall clock may be set between two scrapes; the monotonic one gives the seconds.
            at_seconds = wall + time.monotonic() - start
            body = fetch(url, live.timeout_seconds)
            if live.save is not None:
                _save(body, Path(live.save), at_seconds)
            scrape = scrape_body(body, live.url, prefix)
            scrape.at_seconds = at_seconds
            prefix = scrape.prefix
            progress.step()
            yield scrape
    finally:
        progress.close()


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError(f"'{printable(url)}' cannot be scraped", expected="http://HOST:PORT/PATH")
    if parts.username is not None:
        # urllib would take the name for a part of the host.
        raise InputError(f"{parts.hostname}: a URL with a user name is not supported")
    return urlunsplit(parts._replace(path=parts.path or DEFAULT_PATH, fragment=""))


def fetch(url: str, timeout_seconds: float) -> bytes:
    """The body of one answer.

    Args:
        url: http or https; redirects are followed to these two alone.
        timeout_seconds: for each wait on the server, and for the body as a whole.

    Raises:
        InputError: no answer in time, an HTTP error, a body over 64 MiB, cut short or compressed.
    """
    try:
        asked = request.Request(url, headers=ACCEPT)
        with _opener().open(asked, timeout=timeout_seconds) as answer:
            return _body(answer, url, time.monotonic() + timeout_seconds)
    except HTTPError as fault:
        fault.close()
        problem = f"the server answers {fault.code} {printable(str(fault.reason))}"
    except URLError as fault:
        problem = f"cannot be scraped: {printable(str(fault.reason))}"
    except (OSError, HTTPException, ValueError) as fault:
        problem = f"cannot be scraped: {printable(str(fault) or type(fault).__name__)}"
    raise InputError(problem, source=url, expected="a Prometheus endpoint")


def _opener() -> request.OpenerDirector:
    """The default opener, less file, ftp and data URLs: no redirect leads there either."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.UnknownHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _body(answer: HTTPResponse, url: str, deadline: float) -> bytes:
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        problem = f"the body is {printable(encoding)}-compressed, which was not asked for"
        raise InputError(problem, source=url, expected="a plain text exposition")
    body = bytearray()
    while chunk := answer.read1(CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_SCRAPE_BYTES:
            raise InputError(f"the body is larger than {MAX_SCRAPE_BYTES >> 20} MiB", source=url)
        if time.monotonic() > deadline:
            raise InputError(
                f"the body did not end in time: {len(body)} bytes so far",
                source=url,
                cure="allow more with --timeout",
            )
    if answer.length:
        raise InputError(f"the body ends {answer.length} bytes short", source=url)
    return bytes(body)


def _save(body: bytes, folder: Path, at_seconds: float) -> None:
    """Write a scrape under a name that holds its time, whole or not at all."""
    target = folder / datetime.fromtimestamp(at_seconds, UTC).strftime(SAVED_AS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as fault:
        problem = f"cannot save in {folder}: {fault.strerror}"
        raise InputError(problem, source="--save") from None
