"""How is a picture drawn and saved, so that it reads in black and white and is the same each time?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reference.errors import InputError

FORMATS = (".svg", ".png")
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "x", "d", "+")


def new_figure(file_name: str, rows: int, columns: int, figsize: tuple[float, float]) -> Any:
    """A figure and its panels, shape (rows, columns), for save_figure.

    Raises:
        InputError: the file name has another ending, or matplotlib is not installed.
    """
    if Path(file_name).suffix not in FORMATS:
        raise InputError(f"cannot draw {file_name}", source="--plot", expected=" or ".join(FORMATS))
    try:
        import matplotlib  # noqa: PLC0415 - optional
    except ImportError:
        raise InputError(
            "drawing needs matplotlib", source="--plot", cure="pip install 'cachegate[plot]'"
        ) from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "cachegate"
    from matplotlib import pyplot  # noqa: PLC0415

    return pyplot.subplots(rows, columns, figsize=figsize, squeeze=False, layout="constrained")


def save_figure(figure: Any, file_name: str) -> None:
    """Write it out, the same bytes for the same picture.

    Raises:
        InputError: the file cannot be written.
    """
    from matplotlib import pyplot  # noqa: PLC0415 - there: new_figure imported it

    try:
        figure.savefig(file_name, metadata={"Date": None} if file_name.endswith(".svg") else None)
    except OSError as fault:
        raise InputError(f"cannot write {file_name}: {fault.strerror}", source="--plot") from None
    pyplot.close(figure)
