"""The picture of `cachegate rows`: hit rate by request, and fill beside the fill to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from gate.plotting import MARKERS, STYLES, as_text, new_figure, save_figure
from gate.rows.emulation import RowsRow


def plot_rows(rows: Sequence[RowsRow], file_name: str) -> None:
    """Draw to `file_name` (.svg or .png); over several seeds, their mean.

    Raises:
        InputError: the file name has another ending, or matplotlib is not installed.
    """
    figure, ((hits, fill),) = new_figure(file_name, 1, 2, figsize=(10, 4))
    first = rows[0]
    requests = [r.request for r in rows if (r.policy, r.seed) == (first.policy, first.seed)]
    for number, policy in enumerate(dict.fromkeys(row.policy for row in rows)):
        mine = [row for row in rows if row.policy == policy]
        look = {
            "color": "black",
            "linestyle": STYLES[number % len(STYLES)],
            "marker": MARKERS[number % len(MARKERS)],
        }
        hits.plot(*_points(mine, len(requests), "hit_pct"), label=policy, **look)
        fill.plot(*_points(mine, len(requests), "fill_pct"), label=policy, **look)
        expected = look | {"color": "0.6", "marker": None}
        fill.plot(*_points(mine, len(requests), "expected_fill_pct"), **expected)
    for panel, title in ((hits, "hit rate, %"), (fill, "slots filled, %; grey: expected")):
        panel.set_ylim(0, 100)
        # A request that is a file is known by its name's end.
        panel.set_xticks(range(len(requests)), [as_text(request[-16:]) for request in requests])
        panel.set_xlabel("request")
        panel.set_ylabel(title)
    hits.legend(loc="lower right", fontsize="small")
    save_figure(figure, file_name)


def _points(rows: Sequence[RowsRow], requests: int, field: str) -> tuple[list[int], list[float]]:
    """Number of each request, and the mean of a field over its rows that have one.

    The requests recur in their order, seed by seed; one file may be several of them.
    """
    numbers, means = [], []
    for number in range(requests):
        values = [getattr(row, field) for row in rows[number::requests]]
        if None not in values:
            numbers.append(number)
            means.append(mean(values))
    return numbers, means
