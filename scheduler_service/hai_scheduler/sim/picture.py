"""Pictures of simulations, drawn with matplotlib (install the extra `sim`)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from hai_scheduler.sim.curves import Curves


def draw(curves: Sequence[Curves], title: str) -> Figure:
    """Draw a picture: occupancy above, waiting tasks below, one line for each policy."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for curve in curves:
        upper.plot(curve.hours, curve.occupancy, label=curve.name, linewidth=1)
        lower.plot(curve.hours, curve.waiting, label=curve.name, linewidth=1)
    upper.set_title(title)
    upper.set_ylabel("occupancy")
    upper.set_ylim(0, 1.05)
    upper.legend(loc="lower right")
    lower.set_ylabel("tasks that wait")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("hours since the first submission")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture in the format of the file's suffix (`curves.SUFFIXES`). Raises OSError."""
    with mpl.rc_context({"svg.hashsalt": "hai"}):
        figure.savefig(path, dpi=150, metadata={} if path.suffix == ".png" else {_DATES[path.suffix]: None})


def as_svg(figure: Figure) -> str:
    """Return the picture as an `svg` element for a page."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "hai"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


_DATES = {".svg": "Date", ".pdf": "CreationDate"}
