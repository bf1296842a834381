"""Cost and gain of turns: mean completion time against lost node time, over the numbers of rule P2.

Written as docs/pictures/frontier.json and drawn as docs/pictures/frontier.svg.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.figures import Report
from hai_scheduler.core.model.policy import Policy
from hai_scheduler.core.ordering.discipline import Discipline

#: One simulation: who orders the tasks, by which numbers, and its summary.
Simulated = tuple[Discipline, Policy, Mapping[str, Any]]

TOPIC = "frontier: mean completion against lost node time"
MIN_RUN = (5, 15, 30)
SLICE = (15, 30, 60, 120)
GROWTH = (1.0, 2.0, 4.0)
COLOURS = {5: "#0072b2", 15: "#d55e00", 30: "#009e73"}
MARKERS = {1.0: "o", 2.0: "s", 4.0: "^"}


def choices() -> Iterator[tuple[int, int, float]]:
    """Yield every choice of the numbers: min_run and slice in minutes, and slice_growth."""
    for growth in GROWTH:
        for least in MIN_RUN:
            for whole in SLICE:
                if whole >= least:
                    yield least, whole, growth


def draw(report: Report, root: Path, study: str, found: Sequence[Simulated]) -> None:
    """Store the points, draw them and say where the defaults lie."""
    points = [_point(*one) for one in found if one[0] is Discipline.HAI]
    others = {one[0].value: _point(*one) for one in found if one[0] is not Discipline.HAI}
    folder = root / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    data = {"study": study, "restart_cost_s": 60, "points": points, "beside": others}
    (folder / "frontier.json").write_text(json.dumps(data, indent=2) + "\n")
    _tell(report, points, others)
    if find_spec("matplotlib") is None:
        report.skip(TOPIC, "not drawn: the Python package matplotlib is not installed")
        return
    _plot(folder / "frontier.svg", study, points, others)


def _point(discipline: Discipline, policy: Policy, summary: Mapping[str, Any]) -> dict[str, Any]:
    held = summary["occupancy"] * summary["nodes"]
    numbers = {
        "min_run_min": policy.min_run / timedelta(minutes=1),
        "slice_min": policy.slice / timedelta(minutes=1),
        "slice_growth": policy.slice_growth,
        "default": policy == Policy(),
    }
    return {
        **(numbers if discipline is Discipline.HAI else {}),
        "mean_completion_h": round(summary["completion_s"]["all"]["mean"] / 3600, 3),
        "p90_wait_h": round(summary["queue_s"]["all"]["p90"] / 3600, 3),
        "lost_node_h": round(summary["lost_node_s"] / 3600, 1),
        "lost_share": round(summary["lost_node_s"] / (held * summary["makespan_s"]), 5),
        "suspensions": summary["suspensions"],
        "worst_user_over_median": summary["users_slowdown_max_over_median"],
    }


def _tell(report: Report, points: list[dict[str, Any]], others: Mapping[str, dict[str, Any]]) -> None:
    default = next(point for point in points if point["default"])
    best = min(points, key=lambda point: point["mean_completion_h"])
    for name, point in (("defaults", default), ("least completion", best), *others.items()):
        numbers = ""
        if "slice_min" in point:
            numbers = (
                f"min_run {point['min_run_min']:g}m, slice {point['slice_min']:g}m, growth {point['slice_growth']:g}; "
            )
        note = f"{numbers}lost {point['lost_node_h']:,.0f} node hours, {point['suspensions']:,} suspensions"
        report.add(TOPIC, f"{name}: mean completion", point["mean_completion_h"], "h", note)
    beaten = [
        point
        for point in points
        if point["mean_completion_h"] < 0.98 * default["mean_completion_h"]
        and point["lost_node_h"] <= default["lost_node_h"]
    ]
    note = "2 % faster at no more loss"
    report.add(TOPIC, "choices that beat the defaults in both", len(beaten), "", note)


def _plot(file: Path, study: str, points: list[dict[str, Any]], others: Mapping[str, dict[str, Any]]) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "hai", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        for least, colour in COLOURS.items():
            for growth, marker in MARKERS.items():
                of = [p for p in points if (p["min_run_min"], p["slice_growth"]) == (least, growth)]
                xs, ys = [p["lost_node_h"] for p in of], [p["mean_completion_h"] for p in of]
                label = f"min_run {least} min, slice_growth {growth:g}"
                axes.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=0.8, label=label)
        for point in points:
            if point["slice_growth"] == 1:
                where = (point["lost_node_h"], point["mean_completion_h"])
                axes.annotate(f"{point['slice_min']:g}", where, (4, 3), textcoords="offset points", fontsize=7)
        default = next(point for point in points if point["default"])
        centre = (default["lost_node_h"], default["mean_completion_h"])
        axes.plot(*centre, marker="o", markersize=13, markerfacecolor="none", markeredgecolor="black", linestyle="")
        axes.annotate("defaults", centre, (9, -11), textcoords="offset points")
        bound = others["srtf"]["mean_completion_h"]
        axes.axhline(bound, color="grey", linestyle="--", linewidth=0.8)
        axes.annotate("SRTF, which knows the durations", (0.99, bound), (0, 3), ha="right",
                      xycoords=axes.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
        fifo = others["fifo"]["mean_completion_h"]
        axes.set_title(f"{study}\nnumbers at points: slice in minutes; FIFO: {fifo:.1f} h", fontsize=9)
        axes.set_xlabel("node hours lost to restarts and unsaved work")
        axes.set_ylabel("mean completion, hours")
        axes.legend(fontsize=7)
        figure.savefig(file, metadata={"Date": None, "Creator": None})
