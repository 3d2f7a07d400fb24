"""How is a picture drawn and saved, so that it reads in black and white and is the same each time?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from reference.errors import InputError, printable, visible

FORMATS = (".svg", ".png")
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "x", "d", "+")


def check_picture_name(file_name: str) -> None:
    """Raises InputError unless the ending names a form; asked before the work that a picture is to show."""
    if Path(file_name).suffix not in FORMATS:
        raise InputError(
            f"cannot draw {printable(file_name)}", source="--plot", expected=" or ".join(FORMATS)
        )


def as_text(name: str) -> str:
    """A name as it can stand in a picture: nothing in it is a formula, and every sign has a shape."""
    return visible(name).replace("$", r"\$")


def new_figure(file_name: str, rows: int, columns: int, figsize: tuple[float, float]) -> Any:
    """A figure and its panels, shape (rows, columns), for save_figure.

    Raises:
        InputError: the file name has another ending, or matplotlib is not installed.
    """
    check_picture_name(file_name)
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

    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn with boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        try:
            figure.savefig(
                file_name, metadata={"Date": None} if file_name.endswith(".svg") else None
            )
        except OSError as fault:
            problem = f"cannot write {printable(file_name)}: {fault.strerror}"
            raise InputError(problem, source="--plot") from None
    pyplot.close(figure)
