"""What did a server count at each of the five requests? Sends them one by one and reads its counters between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fixtures.text import Request
from gate.metrics.intervals import intervals
from gate.metrics.rows import MetricsRow, row_of
from gate.metrics.scrape import Scrape
from gate.qualify.server import Reply, Server
from gate.show import Progress
from reference.errors import InputError


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and what came of it.

    Args:
        request: what was sent.
        reply: what the server answered.
        total: its counters from before to after, all tables together.
        tables: the same for each table the server tells apart.
    """

    request: Request
    reply: Reply
    total: MetricsRow
    tables: Sequence[MetricsRow]


def ask_all(
    server: Server, requests: Sequence[Request], folder: Path, ways: int, *, warm: bool
) -> list[Asked]:
    """Send the requests in order.

    Args:
        server: a server nobody else uses.
        requests: what to send.
        folder: keeps the expositions: `0-start.prom`, `1-A.prom` and so on.
        ways: slots of a set, for the fill that chance would give.
        warm: whether the cache may hold rows already.

    Raises:
        InputError: the server cannot be asked or scraped, or its cache is not empty.
    """
    before = server.counters(folder / "0-start.prom")
    _check_cold(before, warm)
    asked = []
    progress = Progress("requests", len(requests))
    for number, request in enumerate(requests, 1):
        reply = server.complete(request.tokens)
        after = server.counters(folder / f"{number}-{request.name}.prom")
        rows = [row_of(number, interval) for interval in intervals(before, after, ways)]
        *tables, total = rows
        asked.append(Asked(request, reply, total, tables))
        before = after
        progress.step()
    progress.close()
    return asked


def _check_cold(scrape: Scrape, warm: bool) -> None:
    resident = sum(counts.get("resident_rows", 0) for counts in scrape.tables.values())
    if resident and not warm:
        raise InputError(
            f"the cache holds {resident} rows before the first request",
            source=scrape.source,
            expected="a server that was just started",
            cure="restart it, or measure with --warm; then no layout can be judged",
        )


def capacities(asked: Sequence[Asked]) -> list[int]:
    """Slots of each table that the server tells apart, or of all together, at the end.

    Raises:
        InputError: the server does not say.
    """
    last = asked[-1]
    found = [row.capacity_rows for row in last.tables or [last.total]]
    sizes = [capacity for capacity in found if capacity is not None]
    if len(sizes) != len(found):
        raise InputError("the server does not tell its capacity", source=last.total.after)
    return sizes
