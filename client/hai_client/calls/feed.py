"""The REST calls for what is read while it is written: the logs of tasks, and the feed of events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.client import HTTPResponse

from hai_client import sse
from hai_client.calls.base import Calls, TaskKey, task_path
from hai_client.codec import decode
from hai_client.errors import Unavailable
from hai_client.http import Query
from hai_client.merged_logs import MergedLog
from hai_client.wire import schema

_LOG_PAGE = 2000


class FeedCalls(Calls):
    """The calls of `Client` for logs of tasks, and for events as they happen."""

    def log_page(
        self,
        task: TaskKey,
        *,
        rank: int = 0,
        run: int | None = None,
        cursor: str | None = None,
        tail: int | None = None,
        limit: int | None = None,
    ) -> schema.LogPage:
        """Return one page of a rank's log.

        Args:
            task: The task.
            rank: The number of the rank.
            run: Only lines of this run (default: all runs, one after the other).
            cursor: Read on after a page with this `next_cursor`.
            tail: Return only this many lines from the end.
            limit: Return at most this many lines.
        """
        query: Query = {"rank": rank, "run": run, "cursor": cursor, "tail": tail, "limit": limit}
        return self._get(schema.LogPage, "GET", task_path(task, "logs"), query=query)

    def logs(
        self, task: TaskKey, *, rank: int = 0, run: int | None = None, tail: int | None = None
    ) -> Iterator[schema.LogLine]:
        """Yield the lines of a rank's log that are written by now."""
        page = self.log_page(task, rank=rank, run=run, tail=tail, limit=None if tail else _LOG_PAGE)
        yield from page.lines
        if tail is not None:
            return
        cursor = None
        while not page.final and page.next_cursor != cursor:
            cursor = page.next_cursor
            page = self.log_page(task, rank=rank, run=run, cursor=cursor, limit=_LOG_PAGE)
            yield from page.lines

    def follow_logs(
        self,
        task: TaskKey,
        *,
        rank: int = 0,
        run: int | None = None,
        cursor: str | None = None,
        lost: Callable[[Unavailable], None] | None = None,
    ) -> Iterator[schema.LogLine]:
        """Yield the lines of a rank's log as they are written, until the log is complete.

        A restart of the service in between neither loses nor doubles a line. A line with `rewritten` is a state of one
        that is being written again, such as a progress bar: the next line takes its place.

        Args:
            task: The task.
            rank: The number of the rank.
            run: Only lines of this run.
            cursor: Begin after a page with this `next_cursor` (default: at the start).
            lost: Called with the error of each failed try to connect again.
        """
        path = task_path(task, "logs")

        def connect(last_id: str | None) -> HTTPResponse:
            query: Query = {"rank": rank, "run": run, "cursor": last_id, "follow": 1}
            return self._http.stream(path, query=query, headers=_resume(last_id))

        for message in sse.follow(connect, last_id=cursor, sleep=self._http.sleep, lost=lost):
            if message.event in ("line", "message"):
                yield decode(schema.LogLine, json.loads(message.data))

    def merged_logs(
        self,
        task: TaskKey,
        ranks: int,
        *,
        run: int | None = None,
        tail: int | None = None,
        follow: bool = False,
        lost: Callable[[Unavailable], None] | None = None,
    ) -> Iterator[schema.LogLine]:
        """Yield the lines of all ranks' logs as one log, in the order of their times.

        Args:
            task: The task.
            ranks: The number of ranks: the task's number of nodes.
            run: Only lines of this run.
            tail: Of the lines written by now, yield only this many from the end.
            follow: Whether to go on with lines as they are written, until the logs are complete.
            lost: Called with the error of each failed try to read on, while following.
        """

        def read(rank: int, cursor: str | None, last: int | None, limit: int | None) -> schema.LogPage:
            waited = 0.0
            while True:
                try:
                    return self.log_page(task, rank=rank, run=run, cursor=cursor, tail=last, limit=limit)
                except Unavailable as problem:
                    if not follow or waited >= sse.PATIENCE_S:
                        raise
                    if lost is not None:
                        lost(problem)
                self._http.sleep(sse.DELAYS_S[-1])
                waited += sse.DELAYS_S[-1]

        log = MergedLog(read, ranks, tail=tail)
        yield from log.follow(self._http.sleep) if follow else log.lines()

    def search_logs(self, task: TaskKey, text: str) -> schema.LogHits:
        """Find a text in the logs of all ranks and runs of a task."""
        return self._get(schema.LogHits, "GET", task_path(task, "logs/search"), query={"q": text})

    def events(
        self,
        *,
        after: int | None = None,
        user: str | None = None,
        lost: Callable[[Unavailable], None] | None = None,
    ) -> Iterator[schema.Event]:
        """Yield events of the caller's own tasks and of the cluster as they happen, without end.

        Args:
            after: Begin after the event with this number (default: with events from now on).
            user: Admins may give `*` for the tasks of all users.
            lost: Called with the error of each failed try to connect again.
        """

        def connect(last_id: str | None) -> HTTPResponse:
            return self._http.stream("/events", query={"user": user, "after": last_id}, headers=_resume(last_id))

        start = None if after is None else str(after)
        for message in sse.follow(connect, last_id=start, sleep=self._http.sleep, lost=lost):
            if message.event != "hello":
                yield decode(schema.Event, json.loads(message.data))


def _resume(last_id: str | None) -> dict[str, str]:
    return {} if last_id is None else {"Last-Event-ID": last_id}
