"""Summaries side by side, as rows for a terminal or a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.sentences.words import duration

Summary = Mapping[str, Any]


class Row(NamedTuple):
    """One figure of several simulations, as a row of a table."""

    title: str
    cells: tuple[str, ...]


_SIZE_TITLES = {
    "below_node": "below a node",
    "one_node": "1 node",
    "two_to_four": "2 to 4 nodes",
    "five_and_more": "5 nodes and more",
}


def rows_of(summaries: Sequence[Summary]) -> list[Row]:
    """Return the rows of a table with one column for each summary."""
    shown = list(_FIGURES)
    for key, name in (("completion_s", "completion"), ("queue_s", "waiting")):
        shown += [(f"{name}, {figure}", _length(key, "all", figure)) for figure in ("mean", "p50", "p90", "p99")]
        sizes = [size for size in _SIZE_TITLES if any(summary[key][size]["count"] for summary in summaries)]
        shown += [(f"{name}, mean, {_SIZE_TITLES[size]}", _length(key, size, "mean")) for size in sizes]
    return [Row(title, tuple(show(summary) for summary in summaries)) for title, show in (*shown, *_COSTS)]


def _length(key: str, size: str, figure: str) -> Callable[[Summary], str]:
    return lambda summary: _time(summary[key][size][figure])


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else duration(ENGLISH, timedelta(seconds=seconds))


def _share(name: str) -> Callable[[Summary], str]:
    return lambda summary: "-" if summary[name] is None else f"{summary[name] * 100:.1f} %"


def _plain(name: str) -> Callable[[Summary], str]:
    return lambda summary: "-" if summary[name] is None else f"{summary[name]:g}"


_FIGURES: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("tasks", _plain("tasks")),
    ("load", _share("load")),
    ("occupancy", _share("occupancy")),
    ("useful", _share("useful")),
    ("occupancy while tasks wait", _share("busy_occupancy")),
    ("useful while tasks wait", _share("busy_useful")),
    ("makespan", lambda summary: _time(summary["makespan_s"])),
)
_COSTS: tuple[tuple[str, Callable[[Summary], str]], ...] = (
    ("suspensions", _plain("suspensions")),
    ("suspensions of one task, most", _plain("suspensions_per_task_max")),
    ("node hours lost", lambda summary: f"{summary['lost_node_s'] / 3600:.1f}"),
    ("fairness of users (Jain)", _plain("users_slowdown_jain")),
    ("worst user / median user", _plain("users_slowdown_max_over_median")),
    ("never started", _plain("unfinished")),
    ("plans", _plain("ticks")),
    ("time of a plan, p99", lambda summary: f"{summary['plan_ms']['p99']:g} ms"),
)
