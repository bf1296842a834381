"""Query parameters of the interface, one model for each endpoint."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hai_scheduler.api.wire import shapes
from hai_scheduler.api.wire.base import MAX_NUMBER, Input, Moment, PriorityChoice

Position = Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class Nothing(Input):
    """No parameters, or no body."""


class TaskQuery(Input):
    """Which tasks to list."""

    #: For admins: a user's name; `*`: all users (default: the caller's own tasks).
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    #: States, separated by commas; `live` stands for all states of tasks that have not ended.
    state: Annotated[Annotated[str, Field(max_length=200)] | None, Field(json_schema_extra=shapes.STATES)] = None
    group: Annotated[str, Field(max_length=128)] | None = None
    #: The level that was asked for.
    priority: PriorityChoice | None = None
    #: A part of the name; upper and lower case are not distinguished.
    name: Annotated[str, Field(max_length=128)] | None = None
    #: A part of the name, of the user's name or of a tag, or the number of a task.
    text: Annotated[str, Field(max_length=128)] | None = None
    tag: Annotated[str, Field(max_length=128)] | None = None
    #: Only tasks that the caller has starred.
    starred: bool = False
    #: What they are in the order of; tasks that are equal in it are in the order of their ids. `ran` is the running
    #: time of runs that have ended; unfinished tasks are first by `ended`, and AUTO is below LOW by `priority`.
    sort: Literal["id", "name", "user", "group", "state", "priority", "nodes", "ended", "ran"] = "id"
    #: From the greatest to the smallest, or the other way around.
    order: Literal["falling", "rising"] = "falling"
    #: Tell also how many tasks match, on all pages.
    total: bool = False
    #: Tell also what each task uses, or its latest run used.
    use: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    #: `next_cursor` of the page before.
    cursor: Annotated[Annotated[str, Field(max_length=2000)] | None, Field(json_schema_extra=shapes.TASK_CURSOR)] = None


class TaskEventQuery(Input):
    """Which part of a task's history."""

    #: Only events with a greater number.
    after: Position = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 200


class LogQuery(Input):
    """Which part of a log."""

    rank: Annotated[int, Field(ge=0, le=100_000)] = 0
    #: Number of one run (default: all runs, one after the other).
    run: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    #: Lines after this position; not together with `tail`.
    cursor: Annotated[Annotated[str, Field(max_length=40)] | None, Field(json_schema_extra=shapes.LOG_CURSOR)] = None
    #: The lines that end at this position, the last `limit` of them; with neither `cursor` nor `tail`.
    before: Annotated[Annotated[str, Field(max_length=40)] | None, Field(json_schema_extra=shapes.LOG_CURSOR)] = None
    #: Only this many lines at the end.
    tail: Annotated[int, Field(ge=0, le=10_000)] | None = None
    #: The most lines of an answer.
    limit: Annotated[int, Field(ge=1, le=10_000)] = 1000
    #: Answer as a stream of server-sent events, as `Accept: text/event-stream` does.
    follow: bool = False


class ExtentsQuery(Input):
    """Whose log."""

    rank: Annotated[int, Field(ge=0, le=100_000)] = 0


class DownloadQuery(Input):
    """Which log, and how."""

    rank: Annotated[int, Field(ge=0, le=100_000)] = 0
    #: Number of one run (default: all runs, one after the other).
    run: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    #: Begin each line with its time, in UTC.
    times: bool = False


class SeriesQuery(Input):
    """Which part of the metrics of a task."""

    #: Only points that end after this time (default: from the first run on).
    since: Moment | None = None
    #: Only points that end by this time (default: to the newest).
    until: Moment | None = None
    #: The length of the spans in seconds (default: as suits the time between `since` and `until`).
    step: Annotated[int, Field(ge=10, le=86_400)] | None = None
    #: Number of one run (default: all runs).
    run: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    #: Ranks, separated by commas (default: the first 16).
    ranks: Annotated[str, Field(max_length=1000, pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*$")] | None = None
    #: Names of metrics, separated by commas (default: all); `job_*`: all numbers of the job's own.
    names: Annotated[str, Field(max_length=4000, pattern=r"^[A-Za-z0-9_./*-]+(,[A-Za-z0-9_./*-]+)*$")] | None = None
    #: Answer with the newest points as they come, as server-sent events, as `Accept: text/event-stream` does; the step
    #: is 10 then, and only points of the last ten minutes are sent, of the last minute unless `since` is earlier.
    follow: bool = False


class UseQuery(Input):
    """Whose use of the cluster."""

    #: Only the caller's own tasks.
    mine: bool = False
    #: The most tasks of the answer; `left_out` counts the others.
    limit: Annotated[int, Field(ge=1, le=500)] = 500


class SearchQuery(Input):
    """What to look for in a log."""

    #: The text; upper and lower case are not distinguished.
    q: Annotated[str, Field(min_length=1, max_length=1000)]


class FeedQuery(Input):
    """Where a stream of events begins, and whose events it has."""

    #: Only events with a greater number (default: events from now on). `Last-Event-ID` wins over it.
    after: Position | None = None
    #: For admins: a user's name; `*`: all users (default: the caller's own events).
    user: Annotated[str, Field(min_length=1, max_length=255)] | None = None


class GangQuery(Input):
    """A rank's question for the addresses of all ranks."""

    rank: Annotated[int, Field(ge=0, le=100_000)]
    #: How long to wait until every rank is up, in seconds.
    wait: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 0


class LogPieceQuery(Input):
    """The place of a piece in a rank's log."""

    #: Bytes since the first line.
    offset: Position
    #: True: the bytes before the piece that the service does not have are lost for good.
    skip: bool = False


class NoticeQuery(Input):
    """A rank's question for a notice."""

    rank: Annotated[int, Field(ge=0, le=100_000)]
    #: The revision of the notice that the rank knows.
    seen: Position = 0
    #: How long to wait for a newer one, in seconds.
    wait: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 0
    #: The number of the newest recording that the rank knows, 0 for none; left out: it cannot record.
    recording: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
