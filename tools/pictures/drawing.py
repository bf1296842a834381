"""How a chart is drawn: nodes above, tasks below, over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from pictures.chart import Chart, Span

#: Told apart by people who see few colours (Okabe and Ito); one for each row.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
#: How much of its colour a bar keeps at each level.
STRENGTH = (1.0, 0.62, 0.34)
INK, PAPER, FAINT, ALARM = "#1b1f24", "#ffffff", "#8c959f", "#b3001b"
_WIDTH, _ROW, _REST = 9.0, 0.34, 1.75
_HATCHES = {"start": "/////", "save": "xxxx"}
#: Points of a letter of a label, of the room around it, and of the width of the axes.
_LETTER, _MARGIN, _SPAN = 4.9, 4.0, 545.0
_STYLE = {
    "svg.hashsalt": "hai", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "hatch.linewidth": 0.7, "axes.edgecolor": FAINT, "text.color": INK, "axes.labelcolor": INK,
    "xtick.color": INK, "ytick.color": INK,
}  # fmt: skip


def save(chart: Chart, path: Path) -> None:
    """Write the picture as SVG. Its colours are its own: it looks the same on light and dark pages."""
    about = {"Title": chart.title, "Description": f"chart {chart.digest}", "Date": None, "Creator": None}
    with rc_context(_STYLE):
        _figure(chart).savefig(path, metadata=about)


def _figure(chart: Chart) -> Figure:
    heights = len(chart.nodes), len(chart.rows)
    figure = Figure(figsize=(_WIDTH, _ROW * sum(heights) + _REST), facecolor=PAPER)
    figure.set_layout_engine("constrained", h_pad=0.09, w_pad=0.12)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    upper.set_title(chart.title, fontsize=11, fontweight="bold", loc="left")
    _Drawing(chart, upper, lower).draw()
    handles = list(_legend(chart))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4), frameon=False, fontsize=8)
    return figure


class _Drawing:
    def __init__(self, chart: Chart, upper: Axes, lower: Axes) -> None:
        self._chart, self._upper, self._lower = chart, upper, lower
        self._unit, self._scale, self._step = ("h", 3600.0, 2.0) if chart.until > 6 * 3600 else ("min", 60.0, 10.0)
        self._colours = dict(zip(chart.rows, COLOURS, strict=False))
        self._places = {name: place for place, name in enumerate(chart.nodes)}

    def draw(self) -> None:
        chart = self._chart
        for kept in chart.kept:
            for name in kept.nodes:
                self._keep(self._places[name], kept.begin, kept.end)
        for wait in chart.waits:
            y, times = self._row(wait.row), (self._x(wait.begin), self._x(wait.end))
            self._lower.plot(times, (y, y), color=FAINT, linewidth=1.4, linestyle=(0, (1.5, 1.5)), zorder=0.9)
        starving = [(self._x(wait.starving), self._row(wait.row)) for wait in chart.waits if wait.starving is not None]
        self._lower.plot(*_columns(starving), marker="*", color=ALARM, markersize=9, linestyle="")
        for span in chart.spans:
            for name in span.nodes:
                self._bar(self._upper, span, self._places[name])
            self._bar(self._lower, span, self._row(span.row))
        self._label()
        self._leaves()
        for at, text in self._promises():
            self._line(at, text, COLOURS[0])
        self._axes()

    def _points(self, span: Span) -> float:
        return (span.end - span.begin) / self._chart.until * _SPAN

    def _tiny(self, span: Span) -> bool:
        """Whether the span is too narrow to show what is in it."""
        return self._points(span) < 2

    def _x(self, seconds: float) -> float:
        return seconds / self._scale

    def _row(self, row: str) -> int:
        return self._chart.rows.index(row)

    def _colour(self, span: Span) -> str:
        strength = STRENGTH[span.level]
        return to_hex([1 - strength * (1 - part) for part in to_rgb(self._colours[span.row])])

    def _bar(self, axes: Axes, span: Span, y: int) -> None:
        colour, half = self._colour(span), 0.38
        hatch = None if self._tiny(span) else _HATCHES.get(span.kind)
        corner = (self._x(span.begin), y - half)
        face = colour if hatch is None else PAPER
        edge = PAPER if hatch is None else self._colours[span.row]
        bar = Rectangle(corner, self._x(span.end - span.begin), 2 * half, facecolor=face, edgecolor=edge,
                        hatch=hatch, linewidth=0.6)  # fmt: skip
        axes.add_patch(bar)

    def _label(self) -> None:
        """Name and level in every bar that has room for them; a gang's in its first node's."""
        for span in self._chart.spans:
            room = self._points(span) - _MARGIN
            texts = (f"{span.task} · level {span.level}", f"{span.task}·{span.level}", span.task)
            text = next((text for text in texts if len(text) * _LETTER <= room), None)
            middle = self._x((span.begin + span.end) / 2)
            if text is None or span.kind != "work":
                continue
            ink = PAPER if _dark(self._colour(span)) else INK
            for name in span.nodes:
                self._upper.text(middle, self._places[name], text, ha="center", va="center_baseline", color=ink,
                                 fontsize=8)  # fmt: skip

    def _keep(self, y: int, begin: float, end: float) -> None:
        corner = (self._x(begin), y - 0.46)
        frame = Rectangle(corner, self._x(end - begin), 0.92, facecolor="#ddf4ff", edgecolor=COLOURS[0],
                          linestyle=(0, (3, 2)), linewidth=0.9, zorder=0.5)  # fmt: skip
        self._upper.add_patch(frame)

    def _leaves(self) -> None:
        leaves = self._chart.leaves
        above = [(self._x(leave.notice), self._places[name] - 0.38) for leave in leaves for name in leave.nodes]
        below = [(self._x(leave.notice), self._row(leave.row) - 0.38) for leave in leaves]
        for axes, points in ((self._upper, above), (self._lower, below)):
            axes.plot(*_columns(points), marker="v", color=ALARM, markersize=5, linestyle="", zorder=5, clip_on=False)
        for leave in leaves if self._chart.deadlines else ():
            self._line(leave.notice, "notice", ALARM, side=-1)
            self._line(leave.deadline, "deadline", ALARM)

    def _line(self, at: float, text: str, colour: str, side: int = 1) -> None:
        """A line over both parts, named in the gap between them."""
        for axes in (self._upper, self._lower):
            axes.axvline(self._x(at), color=colour, linewidth=0.9, linestyle="--", zorder=0.8)
        self._lower.annotate(text, (self._x(at), 1.0), (4 * side, 3), xycoords=self._lower.get_xaxis_transform(),
                             textcoords="offset points", color=colour, fontsize=8,
                             ha="left" if side > 0 else "right")  # fmt: skip

    def _promises(self) -> Iterator[tuple[float, str]]:
        for at in sorted({kept.promised for kept in self._chart.kept}):
            kept = next(kept for kept in self._chart.kept if kept.promised == at)
            since = f"{self._x(kept.begin):g} {self._unit}"
            yield at, f"start of {kept.row.partition(',')[0]}, as planned at {since}"

    def _axes(self) -> None:
        for axes, names in ((self._upper, self._chart.nodes), (self._lower, self._chart.rows)):
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.45, -0.55)
            axes.tick_params(axis="y", length=0)
            axes.tick_params(axis="x", length=0)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.grid(axis="x", color="#d0d7de", linewidth=0.5, zorder=0)
            axes.set_axisbelow(True)
        self._lower.set_xlim(0, self._x(self._chart.until))
        count = int(self._x(self._chart.until) // self._step)
        self._lower.set_xticks([self._step * number for number in range(count + 1)])
        self._lower.set_xlabel({"h": "hours", "min": "minutes"}[self._unit])


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _dark(colour: str) -> bool:
    red, green, blue = to_rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55


def _legend(chart: Chart) -> Iterator[Patch | Line2D]:
    """What the signs mean, those that the picture has."""
    grey = "#57606a"
    shades = [to_hex([1 - strength * (1 - part) for part in to_rgb(grey)]) for strength in STRENGTH]
    for level in sorted({span.level for span in chart.spans}):
        yield Patch(facecolor=shades[level], label=f"runs at level {level}")
    kinds = {span.kind for span in chart.spans}
    if any(span.kind == "start" and span.end - span.begin > chart.until / 250 for span in chart.spans):
        yield Patch(facecolor=PAPER, edgecolor=grey, hatch=_HATCHES["start"], label="starts again")
    if "save" in kinds:
        yield Patch(facecolor=PAPER, edgecolor=grey, hatch=_HATCHES["save"], label="saves")
    yield Line2D([], [], color=FAINT, linewidth=1.4, linestyle=(0, (1.5, 1.5)), label="waits")
    if chart.leaves:
        yield Line2D([], [], color=ALARM, marker="v", markersize=5, linestyle="", label="is told to leave")
    if chart.kept:
        yield Patch(
            facecolor="#ddf4ff", edgecolor=COLOURS[0], linestyle=(0, (3, 2)), label="kept for the head of the queue"
        )
    if any(wait.starving is not None for wait in chart.waits):
        yield Line2D(
            [], [], color=ALARM, marker="*", markersize=9, linestyle="", label="has waited too long: counts as level 0"
        )
