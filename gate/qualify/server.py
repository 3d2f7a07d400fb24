"""How is a running server asked and watched: one prompt at a time, its counters read before and after?

The prompts go to an OpenAI-style `/v1/completions` as token ids; the counters come from `/metrics`. Counters
are read until two readings in a row are equal: what still moves belongs to other traffic.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib import request
from urllib.error import HTTPError, URLError

from gate.metrics.scrape import Scrape, scrape_body
from gate.metrics.sources import fetch
from reference.errors import InputError, printable

MAX_ANSWER_BYTES = 64 << 20
READINGS = 50
"""How often the counters are read before they are said not to come to rest."""


class Reply(NamedTuple):
    """What the server says of one prompt.

    Args:
        seconds: from the request to the end of its answer, measured here.
        prompt_tokens: how many tokens it read; None if it does not say.
        cached_tokens: how many of them it took from a cache of prefixes; None if it does not say.
    """

    seconds: float
    prompt_tokens: int | None
    cached_tokens: int | None


@dataclass(slots=True)
class Server:
    """A server.

    Args:
        url: its base, such as http://127.0.0.1:8000.
        metrics_url: where its counters are.
        prefix: of the row cache's series; None finds the only one.
        timeout_s: for one answer.
        settle_s: between two readings of the counters.
        model: the name to ask for; empty asks the server which it has.
    """

    url: str
    metrics_url: str
    prefix: str | None = None
    timeout_s: float = 600.0
    settle_s: float = 0.2
    model: str = ""

    def complete(self, prompt: Sequence[int]) -> Reply:
        """Send one prompt and wait for its one token.

        Raises:
            InputError: no usable answer.
        """
        self.model = self.model or self._first_model()
        body = {"model": self.model, "prompt": list(prompt), "max_tokens": 1, "temperature": 0}
        start = time.perf_counter()
        answer = self._ask("/v1/completions", json.dumps(body).encode())
        seconds = time.perf_counter() - start
        usage = answer.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        details = usage.get("prompt_tokens_details")
        details = details if isinstance(details, dict) else {}
        return Reply(seconds, _count(usage, "prompt_tokens"), _count(details, "cached_tokens"))

    def counters(self, keep: Path) -> Scrape:
        """The counters once they are at rest; the exposition is kept in the file `keep`.

        Raises:
            InputError: no usable exposition, or the counters never rest.
        """
        last: Scrape | None = None
        for _ in range(READINGS):
            body = fetch(self.metrics_url, self.timeout_s)
            read = scrape_body(body, self.metrics_url, self.prefix)
            if last is not None and read.tables == last.tables:
                keep.write_bytes(body)
                return read
            last = read
            time.sleep(self.settle_s)
        raise InputError(
            f"the counters still move after {READINGS} readings",
            source=self.metrics_url,
            cure="qualify a server that nobody else uses",
        )

    def _first_model(self) -> str:
        models = self._ask("/v1/models").get("data")
        if isinstance(models, list) and models and isinstance(models[0], dict):
            return str(models[0].get("id", ""))
        raise InputError("names no model", source=self.url, cure="name one with --model")

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        asked = request.Request(
            self.url + path, data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with request.urlopen(asked, timeout=self.timeout_s) as answer:
                data = answer.read(MAX_ANSWER_BYTES + 1)
        except HTTPError as fault:
            with fault:
                told = printable(fault.read(200).decode(errors="replace"), 200)
            raise self._unusable(path, f"answers {fault.code}: {told}") from None
        except (URLError, OSError, HTTPException, ValueError) as fault:
            raise self._unusable(path, f"cannot be asked: {printable(str(fault))}") from None
        return self._object(path, data)

    def _object(self, path: str, data: bytes) -> dict[str, Any]:
        try:
            parsed = json.loads(data) if len(data) <= MAX_ANSWER_BYTES else None
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise self._unusable(path, "answers with something that is no JSON object")
        return parsed

    def _unusable(self, path: str, problem: str) -> InputError:
        return InputError(
            problem, source=self.url + path, expected="an OpenAI-style server that takes token ids"
        )


def _count(entries: dict[str, Any], name: str) -> int | None:
    value = entries.get(name)
    return value if type(value) is int and value >= 0 else None
