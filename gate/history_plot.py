"""How do a table's re-measured cells read as a picture? A panel a column, a line a cell with its tolerance."""

from __future__ import annotations

from gate.golden.past import Step, past
from gate.golden.table import Table
from gate.plotting import MARKERS, STYLES, new_figure, save_figure
from reference.errors import InputError

PANEL_INCHES = (7.0, 2.6)
MOST_IN_LEGEND = 12

Series = dict[str, list[Step]]


def plot_history(table: Table, file_name: str) -> None:
    """Draw every numeric cell that was ever re-measured.

    Raises:
        InputError: there is none, the file name has another ending, or matplotlib is not installed.
    """
    columns = _by_column(table)
    if not columns:
        raise InputError(f"no number of {table.id} was ever re-measured", source="--plot")
    width, height = PANEL_INCHES
    figure, panels = new_figure(file_name, len(columns), 1, (width, height * len(columns)))
    known = {column.name: column for column in table.columns}
    days = [table.source.date, *(each.date for each in table.history)]
    for (name, series), panel in zip(columns.items(), panels[:, 0], strict=True):
        column = known[name]
        for number, (row, steps) in enumerate(series.items()):
            panel.errorbar(
                [0, *(step.number for step in steps)],
                [float(steps[0].before), *(float(step.after) for step in steps)],
                yerr=float(column.tolerance),
                drawstyle="steps-post",
                linestyle=STYLES[number % len(STYLES)],
                marker=MARKERS[number % len(MARKERS)],
                capsize=3,
                color="black",
                label=row,
            )
        panel.set_ylabel(f"{name} ({column.unit})")
        panel.set_xticks(range(len(days)), map(str, days), rotation=30, ha="right")
        if len(series) <= MOST_IN_LEGEND:
            panel.legend(fontsize="small")
    figure.suptitle(table.title)
    save_figure(figure, file_name)


def _by_column(table: Table) -> dict[str, Series]:
    """The histories of the numbers that are still there, by column and row."""
    known = {column.name for column in table.columns}
    columns: dict[str, Series] = {}
    for name, steps in past(table).items():
        row, _, column = name.rpartition("/")
        cells = [cell for step in steps for cell in (step.before, step.after)]
        if column in known and not any(isinstance(cell, str) for cell in cells):
            columns.setdefault(column, {})[row] = steps
    return columns
