"""Converts points of metrics to models of the wire, and back."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hai_scheduler.api.convert.tasks import progress_out
from hai_scheduler.api.wire.metrics import (
    ClusterUseOut,
    HolderUseOut,
    PointIn,
    ProgressIn,
    RankMetricsIn,
    RankSeriesOut,
    RunSeriesOut,
    TaskSeriesOut,
    TaskUseOut,
)
from hai_scheduler.core.metrics.codes import BadChunk
from hai_scheduler.core.metrics.series import OWN, Point, Spread, unit_of
from hai_scheduler.core.metrics.series_piece import SeriesPiece, in_order, read_piece
from hai_scheduler.core.model.priority import level_name
from hai_scheduler.service.metrics.job_reports import JobReport
from hai_scheduler.service.metrics.now import HolderNow, HoldersNow
from hai_scheduler.service.metrics.reading import RunPoints, TaskPoints
from hai_scheduler.service.shared.errors import Invalid


def cluster_use_out(found: HoldersNow) -> ClusterUseOut:
    """The tasks that hold nodes, with what they use."""
    return ClusterUseOut(items=[_holder(one) for one in found.items], left_out=found.left_out)


def _holder(one: HolderNow) -> HolderUseOut:
    task = one.task
    shared = HolderUseOut(task_id=task.id, user=task.user, nodes=task.nodes, gpus=task.gpus, known=one.known)
    run = task.live_run
    if not one.known or run is None:
        return shared
    return shared.model_copy(
        update={
            "name": task.name,
            "state": task.state.value,
            "priority": level_name(run.priority),
            "running_since": run.running_at,
            "turn_left_s": None if one.turn_left is None else one.turn_left.total_seconds(),
            "deadline": None if run.notice is None else run.notice.deadline,
            "progress": progress_out(one.progress, one.left),
            "use": None if one.use is None else TaskUseOut.model_validate(one.use),
        }
    )


def piece_of(body: RankMetricsIn) -> SeriesPiece:
    """The points that a rank sends. Raises Invalid for what is no piece, no metric, or not in order."""
    if body.packed is None:
        return SeriesPiece.of(points_of(body.points))
    if body.points:
        raise Invalid("packed", None, "goes without `points`: send the points in one of the two forms")
    try:
        return read_piece(binascii.a2b_base64(body.packed, strict_mode=True))
    except (BadChunk, ValueError) as error:
        raise Invalid("packed", None, f"is no piece of metrics ({error}): send the points unpacked") from None


def points_of(points: Sequence[PointIn]) -> list[Point]:
    """Points as the core has them. Raises Invalid for a metric that does not exist, or values out of order."""
    return [Point(point.at, _values(number, point)) for number, point in enumerate(points)]


def report_of(progress: ProgressIn | None) -> JobReport | None:
    """The job's report of its progress, if there is one."""
    if progress is None:
        return None
    return JobReport(at=datetime.fromtimestamp(progress.at, UTC), step=progress.step, total=progress.total)


def _values(number: int, point: PointIn) -> dict[str, Spread]:
    for name, (least, mean, greatest) in point.values.items():
        if unit_of(name) is None:
            raise Invalid(_field(number, name), name, "is not a metric")
        for place, value in enumerate((least, mean, greatest)):
            if value < 0 and not name.startswith(OWN):
                raise Invalid(f"{_field(number, name)}[{place}]", value, "cannot be negative")
        if not in_order(Spread(least, mean, greatest)):
            raise Invalid(
                _field(number, name), [least, mean, greatest], "has to be the least, the mean and the greatest value"
            )
    return {name: Spread._make(values) for name, values in point.values.items()}


def _field(number: int, name: str) -> str:
    return f"points[{number}].values.{name}"


def series_out(series: TaskPoints) -> TaskSeriesOut:
    """The metrics of a task as columns."""
    names = {name for run in series.runs for points in run.ranks.values() for point in points for name in point.values}
    return TaskSeriesOut(
        step=series.step,
        units={name: unit_of(name) or "" for name in sorted(names)},
        runs=[_run_out(run) for run in series.runs],
    )


def _run_out(series: RunPoints) -> RunSeriesOut:
    run, nodes = series.run, series.run.nodes
    return RunSeriesOut.of(
        run,
        run=run.number,
        noticed_at=None if run.notice is None else run.notice.at,
        ranks=[_rank_out(rank, nodes[rank], points) for rank, points in series.ranks.items()],
    )


def _rank_out(rank: int, node: str, points: Sequence[Point]) -> RankSeriesOut:
    names = sorted({name for point in points for name in point.values})

    def columns(part: Callable[[Spread], float]) -> dict[str, list[float | None]]:
        return {
            name: [
                None if (spread := point.values.get(name)) is None else _short(part(spread), name) for point in points
            ]
            for name in names
        }

    return RankSeriesOut(
        rank=rank,
        node=node,
        at=[point.at for point in points],
        least=columns(lambda spread: spread.least),
        mean=columns(lambda spread: spread.mean),
        greatest=columns(lambda spread: spread.greatest),
    )


def _short(value: float, name: str) -> float:
    """A number with four digits, one of the job's own with six: the store knows no more."""
    return float(f"{value:.6g}" if name.startswith(OWN) else f"{value:.4g}")
