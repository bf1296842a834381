"""Endpoints on metrics of ranks."""

from __future__ import annotations

from hai_scheduler.api.convert import metrics as convert
from hai_scheduler.api.convert.ranks import rank_of
from hai_scheduler.api.server.problems import gone
from hai_scheduler.api.server.route import Ask
from hai_scheduler.api.wire.metrics import ClusterUseOut, MetricsTaken, RankMetricsIn, TaskSeriesOut
from hai_scheduler.api.wire.params import Nothing, SeriesQuery, UseQuery
from hai_scheduler.service.shared.errors import Conflict, Invalid


async def take(ask: Ask[Nothing, RankMetricsIn]) -> MetricsTaken:
    """Store metrics of a rank."""
    points = convert.points_of(ask.body.points)
    try:
        taken = await ask.services.rank_metrics.take(
            ask.run, rank_of(ask.path["rank"]), points, convert.report_of(ask.body.progress)
        )
    except Conflict as error:
        raise gone(error) from None
    return MetricsTaken(newest=taken.newest, after=taken.after)


async def now(ask: Ask[UseQuery, Nothing]) -> ClusterUseOut:
    """Return the tasks that hold nodes, with what they use."""
    return convert.cluster_use_out(await ask.services.cluster_use.look(ask.caller, mine=ask.query.mine))


async def read(ask: Ask[SeriesQuery, Nothing]) -> TaskSeriesOut:
    """Return the metrics of a task."""
    query = ask.query
    for name in ("since", "until"):
        when = getattr(query, name)
        if when is not None and when.tzinfo is None:
            raise Invalid(name, str(when), "needs a time zone: end it with Z")
    series = await ask.services.series.read(
        ask.caller,
        ask.path["task"],
        since=query.since,
        until=query.until,
        step=query.step,
        run=query.run,
        ranks=None if query.ranks is None else [int(word) for word in query.ranks.split(",")],
        names=None if query.names is None else query.names.split(","),
    )
    return convert.series_out(series)
