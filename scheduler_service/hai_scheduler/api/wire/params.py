"""Query parameters of the interface, one model an endpoint."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import MAX_NUMBER, Input, PriorityChoice

Position = Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class Nothing(Input):
    """No parameters, or no body."""


class TaskQuery(Input):
    """Which tasks to list."""

    #: Admins: whose tasks; `*` is everybody's. Default: one's own.
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    #: States, separated by commas; `live` stands for all that have not ended.
    state: Annotated[Annotated[str, Field(max_length=200)] | None, Field(json_schema_extra=shapes.STATES)] = None
    group: Annotated[str, Field(max_length=128)] | None = None
    #: The level asked for.
    priority: PriorityChoice | None = None
    #: A part of the name, letter case ignored.
    name: Annotated[str, Field(max_length=128)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    #: `next_cursor` of the page before.
    cursor: Annotated[Annotated[str, Field(max_length=40)] | None, Field(json_schema_extra=shapes.TASK_CURSOR)] = None


class TaskEventQuery(Input):
    """Which part of a task's history."""

    #: Events with a greater number.
    after: Position = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 200


class LogQuery(Input):
    """Which part of a log."""

    rank: Annotated[int, Field(ge=0, le=100_000)] = 0
    #: One run alone; default: all runs as one story.
    run: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    #: Go on behind this; not together with `tail`.
    cursor: Annotated[Annotated[str, Field(max_length=40)] | None, Field(json_schema_extra=shapes.LOG_CURSOR)] = None
    #: The last lines only.
    tail: Annotated[int, Field(ge=0, le=10_000)] | None = None
    #: At most so many lines in an answer.
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000
    #: Answer as a stream of server-sent events, as `Accept: text/event-stream` does.
    follow: bool = False


class SearchQuery(Input):
    """What to look for in a log."""

    #: Text; letter case is ignored.
    q: Annotated[str, Field(min_length=1, max_length=1000)]


class FeedQuery(Input):
    """Where a stream of events begins, and whose it is."""

    #: Events with a greater number; default: what comes from now on. `Last-Event-ID` wins.
    after: Position | None = None
    #: Admins: whose events; `*` is everybody's. Default: one's own.
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None


class GangQuery(Input):
    """A rank's question where the others are."""

    rank: Annotated[int, Field(ge=0, le=100_000)]
    #: How long to wait until every rank is up, in seconds.
    wait: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 0


class LogPieceQuery(Input):
    """Where a piece of a rank's log belongs."""

    #: Bytes since the first line.
    offset: Position
    #: Whether what the service has not got before it is lost for good.
    skip: bool = False


class NoticeQuery(Input):
    """A rank's question whether it must leave."""

    rank: Annotated[int, Field(ge=0, le=100_000)]
    #: The revision that the rank knows.
    seen: Position = 0
    #: How long to wait for a newer one, in seconds.
    wait: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 0
