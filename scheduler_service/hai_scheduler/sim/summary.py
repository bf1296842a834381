"""The figures of a simulation (docs/simulator.md says what each means)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.sim.records import RunRecord, TaskRecord
from hai_scheduler.sim.simulate import SimulationOutcome

#: Shortest work in seconds that counts in a slowdown, so that very short tasks do not dominate the mean.
SHORTEST_S = 10.0
#: Sizes of tasks for which figures are given, each with a test whether a task belongs to it.
SIZES: dict[str, Callable[[TaskRecord], bool]] = {
    "all": lambda _task: True,
    "below_node": lambda task: task.share < 1,
    "one_node": lambda task: task.share >= 1 and task.nodes == 1,
    "two_to_four": lambda task: task.share >= 1 and 2 <= task.nodes <= 4,
    "five_and_more": lambda task: task.share >= 1 and task.nodes >= 5,
}
_PERCENTILES = (50, 90, 99)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the nearest-rank percentile: the smallest value that at least `percent` per cent do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def slowdown(task: TaskRecord) -> float:
    """Return the time of a task from submission to end divided by its work; at least 1."""
    return max(1.0, _s(task.submitted_at, task.ended_at) / max(task.work.total_seconds(), SHORTEST_S))


def jain(values: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all values are equal, 1/n if all but one are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def summarize(outcome: SimulationOutcome) -> dict[str, Any]:
    """Return the summary of a simulation as values for JSON. Equal simulations differ only in `plan_ms`."""
    records, setting = outcome.records, outcome.setting
    tasks, window = records.tasks, _Window(outcome)
    work = sum(task.share * task.work.total_seconds() for task in tasks)
    submission_s = _s(outcome.begin, outcome.last_submission)
    lost = sum(run.share * (_s(run.started_at, run.ended_at) - _kept(run)) for run in records.runs)
    users = _users(tasks)
    held: defaultdict[TaskId, float] = defaultdict(float)
    for run in records.runs:
        held[run.task_id] += _s(run.started_at, run.ended_at)
    each = [task.suspensions for task in tasks] + [task.suspensions for task in outcome.unfinished]
    plans = sorted(records.plan_seconds)
    return {
        "tasks": len(tasks),
        "unfinished": len(outcome.unfinished),
        "nodes": len(setting.nodes),
        "load": _rounded(work / (len(setting.nodes) * submission_s) if submission_s else None),
        "policy": setting.discipline.value,
        "makespan_s": _rounded(_s(outcome.begin, outcome.end), 3),
        "occupancy": _rounded(window.occupancy()),
        "useful": _rounded(window.useful()),
        "busy_occupancy": _rounded(window.busy_occupancy()),
        "busy_useful": _rounded(window.busy_useful()),
        "completion_s": _by_size(tasks, lambda task: _s(task.submitted_at, task.ended_at)),
        "queue_s": _by_size(tasks, lambda task: _s(task.submitted_at, task.ended_at) - task.work.total_seconds()),
        "wait_s": _by_size(tasks, lambda task: _s(task.submitted_at, task.ended_at) - held[task.task_id]),
        "suspensions": sum(each),
        "suspensions_per_task_max": max(each, default=0),
        "lost_node_s": _rounded(lost, 3),
        "failures": records.failures,
        "users": len(users),
        "users_slowdown_jain": _rounded(jain(users)) if users else None,
        "users_slowdown_max_over_median": _rounded(max(users) / median(users)) if users else None,
        "plan_ms": {
            "p50": _rounded(percentile(plans, 50) * 1000, 3),
            "p99": _rounded(percentile(plans, 99) * 1000, 3),
            "max": _rounded(plans[-1] * 1000, 3),
        },
        "ticks": len(plans),
    }


class _Window:
    """Node time from the first to the last submission or, if all jobs were submitted at once, to the end."""

    def __init__(self, outcome: SimulationOutcome) -> None:
        self._zero = outcome.begin
        self._runs = outcome.records.runs
        last = outcome.last_submission if outcome.last_submission > outcome.begin else outcome.end
        end = self._at(last)
        self._all = Intervals([(0.0, end)])
        steps = [*outcome.records.ready, (max(last, outcome.records.ready[-1][0]), 0)]
        self._ready = [(self._at(a[0]), self._at(b[0]), a[1]) for a, b in pairwise(steps)]
        moments = outcome.records.moments
        ends = [*(moment.at for moment in moments[1:]), last]
        self._busy = Intervals(
            (self._at(moment.at), min(self._at(until), end))
            for moment, until in zip(moments, ends, strict=True)
            if moment.waiting
        )

    def _at(self, time: datetime) -> float:
        return _s(self._zero, time)

    def occupancy(self) -> float | None:
        """Return the share of available node time that runs held."""
        return self._share(self._all, ((run.started_at, run.ended_at, run.share) for run in self._runs))

    def useful(self) -> float | None:
        """Return the share of available node time that went into work that counts."""
        return self._share(self._all, _work(self._runs))

    def busy_occupancy(self) -> float | None:
        """Return the share of available node time that runs held while tasks waited."""
        return self._share(self._busy, ((run.started_at, run.ended_at, run.share) for run in self._runs))

    def busy_useful(self) -> float | None:
        """Return the share of available node time that went into work that counts while tasks waited."""
        return self._share(self._busy, _work(self._runs))

    def _share(self, spans: Intervals, parts: Iterable[tuple[datetime, datetime, float]]) -> float | None:
        available = sum(count * spans.within(begin, end) for begin, end, count in self._ready)
        used = sum(share * spans.within(self._at(begin), self._at(end)) for begin, end, share in parts)
        return used / available if available else None


def _work(runs: Iterable[RunRecord]) -> Iterable[tuple[datetime, datetime, float]]:
    """Return begin, end and nodes of each run's work that counts."""
    return ((run.up, run.kept_until, run.share) for run in runs if run.up is not None and run.kept_until is not None)


def _kept(run: RunRecord) -> float:
    """Return how many seconds of the run's work count."""
    return 0.0 if run.up is None or run.kept_until is None else _s(run.up, run.kept_until)


def _users(tasks: Iterable[TaskRecord]) -> list[float]:
    """Return the mean slowdown of each user."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for task in tasks:
        found[task.user].append(slowdown(task))
    return [fmean(values) for _, values in sorted(found.items())]


def _by_size(tasks: Sequence[TaskRecord], figure: Callable[[TaskRecord], float]) -> dict[str, dict[str, Any]]:
    return {size: _figures(sorted(figure(task) for task in tasks if of(task))) for size, of in SIZES.items()}


def _figures(ordered: Sequence[float]) -> dict[str, Any]:
    found: dict[str, Any] = {"count": len(ordered), "mean": _rounded(fmean(ordered), 3) if ordered else None}
    for percent in _PERCENTILES:
        found[f"p{percent}"] = _rounded(percentile(ordered, percent), 3) if ordered else None
    return found


def _s(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


class Intervals:
    """Intervals that do not overlap, in order; times are seconds."""

    def __init__(self, intervals: Iterable[tuple[float, float]]) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []
        #: The length of all intervals before each one.
        self._before: list[float] = []
        total = 0.0
        for begin, end in intervals:
            if end > begin:
                self._begins.append(begin)
                self._ends.append(end)
                self._before.append(total)
                total += end - begin
        #: The length of all intervals.
        self.total = total

    def until(self, time: float) -> float:
        """Return how many seconds of the intervals lie before a time."""
        place = bisect_right(self._begins, time) - 1
        if place < 0:
            return 0.0
        return self._before[place] + min(time, self._ends[place]) - self._begins[place]

    def within(self, begin: float, end: float) -> float:
        """Return how many seconds of the intervals lie between two times."""
        return max(0.0, self.until(end) - self.until(begin)) if end > begin else 0.0
