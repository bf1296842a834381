"""Endpoints on metrics of ranks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime

from hai_scheduler.api.convert import metrics as convert
from hai_scheduler.api.server.encoded import Encoded
from hai_scheduler.api.server.problems import gone
from hai_scheduler.api.server.route import Ask, Batch, Stream, StreamMessage
from hai_scheduler.api.wire.metrics import ClusterUseOut, MetricsTaken, RankMetricsIn, TaskSeriesOut
from hai_scheduler.api.wire.params import Nothing, SeriesQuery, UseQuery
from hai_scheduler.core.metrics.packing import FORM
from hai_scheduler.ports.reading import in_reader
from hai_scheduler.service.shared.errors import Conflict, Invalid


async def take(ask: Ask[Nothing, RankMetricsIn]) -> MetricsTaken:
    """Store metrics of a rank."""
    piece = await in_reader(lambda: convert.piece_of(ask.body))
    try:
        taken = await ask.platform.metrics.intake.take(
            ask.run, ask.number("rank"), piece, convert.report_of(ask.body.progress)
        )
    except Conflict as error:
        raise gone(error) from None
    return MetricsTaken(newest=taken.newest, after=taken.after, packed_form=FORM)


async def now(ask: Ask[UseQuery, Nothing]) -> ClusterUseOut:
    """Return the tasks that hold nodes, with what they use."""
    found = await ask.platform.metrics.newest_use.look(ask.caller, mine=ask.query.mine, limit=ask.query.limit)
    return convert.cluster_use_out(found)


async def read(ask: Ask[SeriesQuery, Nothing]) -> TaskSeriesOut | Encoded | Stream:
    """Return the metrics of a task or, if the request asks for it, a stream of its newest points."""
    query = ask.query
    for name in ("since", "until"):
        when = getattr(query, name)
        if when is not None and when.tzinfo is None:
            raise Invalid(name, str(when), "needs a time zone: end it with Z")
    if query.follow or "text/event-stream" in ask.headers.get("Accept", ""):
        for name in ("until", "step", "run"):
            if getattr(query, name) is not None:
                raise Invalid(name, str(getattr(query, name)), "does not go with a stream: leave it out")
        return Stream(_follow(ask, _since(ask)))
    series = await ask.platform.metrics.series.read(
        ask.caller,
        ask.path["task"],
        since=query.since,
        until=query.until,
        step=query.step,
        run=query.run,
        ranks=_ranks(query),
        names=_names(query),
    )
    # A day of eight GPUs is 640 kB of numbers, and a sixth of that compressed.
    return Encoded(await in_reader(lambda: convert.series_out(series).model_dump_json().encode()))


async def _follow(ask: Ask[SeriesQuery, Nothing], since: datetime | None) -> AsyncGenerator[Batch, None]:
    found = ask.platform.metrics.newest_points.follow(
        ask.caller, ask.path["task"], since=since, ranks=_ranks(ask.query), names=_names(ask.query)
    )
    async with aclosing(found):
        async for new in found:
            if new is None:
                yield []
            else:
                data = convert.series_out(new.points).model_dump_json()
                yield [StreamMessage("points", data, str(new.resume))]
    yield [StreamMessage("end", "{}")]


def _since(ask: Ask[SeriesQuery, Nothing]) -> datetime | None:
    last = ask.headers.get("Last-Event-ID")
    if not last:
        return ask.query.since
    if not (last.isascii() and last.isdigit() and len(last) <= 11):
        raise Invalid("Last-Event-ID", last, "is not the id of a message of this stream: leave it out to start now")
    return datetime.fromtimestamp(int(last), UTC)


def _ranks(query: SeriesQuery) -> list[int] | None:
    return None if query.ranks is None else [int(word) for word in query.ranks.split(",")]


def _names(query: SeriesQuery) -> list[str] | None:
    return None if query.names is None else query.names.split(",")
