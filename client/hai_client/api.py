"""`Client`: the REST interface of the platform as typed methods."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from http.client import HTTPResponse
from typing import Any, Union

from hai_client import own_python, settings, sse
from hai_client.calls import quoted
from hai_client.codec import decode, encode
from hai_client.errors import Invalid, NotLoggedIn, Unavailable
from hai_client.http import Query, Transport
from hai_client.merged_logs import MergedLog
from hai_client.orphan_api import OrphanCalls
from hai_client.rank.pythons import VENV
from hai_client.storage_api import StorageCalls
from hai_client.wire import schema
from hai_client.wire.explain import Decision, DecisionPage, Explanation, Forecast
from hai_client.wire.policy import Policy

#: A task's number, its name, or `user/name` for an admin.
TaskKey = Union[int, str]

_PAGE = 200
_LOG_PAGE = 2000


class Client(StorageCalls, OrphanCalls):
    """A connection to a platform, with one user's rights.

    Tasks may be named by id or by name; a name is the caller's latest task of that name. Every method raises
    the errors of `hai_client.errors`: `NotLoggedIn`, `Forbidden`, `NotFound`, `Invalid`, `Conflict`,
    `QuotaExceeded`, `Unavailable`. While the platform restarts, a call is repeated for half a minute at most, if it
    never reached the service, is a submission, or can be repeated safely. `Transport` sets how long. A call that the
    platform refuses because the caller sends too many requests at once (429) is repeated for two minutes.

    Args:
        url: The Hub's address; else `HAI_URL`, else the file that `hai login` wrote.
        token: A token of the Hub; else `HAI_TOKEN`, else `JUPYTERHUB_API_TOKEN` inside a server of the Hub,
            else the token in the file.
        transport: Used instead of a transport made from the address and token.
    """

    def __init__(self, url: str | None = None, token: str | None = None, *, transport: Transport | None = None) -> None:
        if transport is None:
            found = settings.load(url=url, token=token)
            if found.token is None:
                raise NotLoggedIn(f"token: none for {found.url}; run `hai login --url {found.url}` or set HAI_TOKEN")
            transport = Transport(found.api_url, found.token)
        super().__init__(transport)

    @classmethod
    def of(cls, found: settings.Settings, *, waiting: Callable[[Unavailable, float], None] | None = None) -> Client:
        """Return a client for settings that were loaded before; without a token only `health` works.

        Args:
            found: The settings.
            waiting: Called before each wait for a platform that restarts, with the reason and the seconds waited so
                far.
        """
        return cls(transport=Transport(found.api_url, found.token, waiting=waiting))

    def __repr__(self) -> str:
        return f"Client({self._http.base!r})"

    # --- tasks

    def submit(self, request: schema.TaskRequest, *, idempotency_key: str | None = None) -> schema.Task:
        """Submit a task.

        Args:
            request: The task to run. From a notebook it runs with the kernel's Python, if that is in an environment
                of its own. `environment` wins over that, and so does a variable HAI_VENV that is empty or names
                another folder.
            idempotency_key: Two submissions with the same key make one task. Without a key a random one is used, so
                that a submission whose answer was lost is never doubled.

        Raises:
            QuotaExceeded: The task asks for more than its owner may ever hold.
        """
        body = _submission(request)
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return self._get(schema.Task, "POST", "/tasks", body=body, headers=headers, again=True)

    def parse_experiment(self, text: str) -> schema.TaskRequest:
        """Read an experiment file (YAML, version 2) into a request, without submitting it."""
        return self._get(
            schema.TaskRequest,
            "POST",
            "/tasks/parse",
            body=text.encode(),
            headers={"Content-Type": "application/yaml"},
            again=True,
        )

    def tasks(
        self,
        *,
        user: str | None = None,
        state: str | None = None,
        group: str | None = None,
        priority: str | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> Iterator[schema.TaskSummary]:
        """Yield tasks, newest first; pages are fetched as needed.

        Args:
            user: The owner (default: the caller). Admins may name another user, or `*` for all.
            state: States with commas between them; `live` means all tasks that have not ended.
            group: Only tasks of this node group.
            priority: Only tasks that asked for this priority.
            name: Only tasks of this name.
            limit: Yield at most this many tasks.
        """
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            page = self._get(
                schema.TaskPage,
                "GET",
                "/tasks",
                query={
                    "user": user,
                    "state": state,
                    "group": group,
                    "priority": priority,
                    "name": name,
                    "limit": _PAGE if left is None else min(left, _PAGE),
                    "cursor": cursor,
                },
            )
            yield from page.items[:left]
            left = None if left is None else left - len(page.items)
            cursor = page.next_cursor
            if cursor is None:
                return

    def task(self, task: TaskKey) -> schema.Task:
        """Return a task with its runs."""
        return self._get(schema.Task, "GET", _path(task))

    def stop(self, task: TaskKey) -> schema.Task:
        """End a task for good; a running task gets a notice first, and its grace to save."""
        return self._get(schema.Task, "POST", _path(task, "stop"))

    def suspend(self, task: TaskKey) -> schema.Task:
        """End the task's turn now, with a notice, and hold the task until it is resumed."""
        return self._get(schema.Task, "POST", _path(task, "suspend"))

    def resume(self, task: TaskKey) -> schema.Task:
        """Let a held or suspended task run again when its turn comes."""
        return self._get(schema.Task, "POST", _path(task, "resume"))

    def hold(self, task: TaskKey) -> schema.Task:
        """Do not start a task (again) until it is resumed; a running task goes on."""
        return self._get(schema.Task, "POST", _path(task, "hold"))

    def set_priority(self, task: TaskKey, priority: str) -> schema.Task:
        """Change the priority that a task asks for: a level or AUTO."""
        return self._get(schema.Task, "PUT", _path(task, "priority"), body={"priority": priority})

    def reorder(self, task: TaskKey, *, before: int | None = None, after: int | None = None) -> schema.Task:
        """Move a waiting task directly before, or after, another of the same user and priority.

        Raises:
            Invalid: Not exactly one of `before` and `after` is given.
        """
        if (before is None) == (after is None):
            raise Invalid("order: give exactly one of before and after, the id of another waiting task")
        return self._get(schema.Task, "PUT", _path(task, "order"), body={"before": before, "after": after})

    def runs(self, task: TaskKey) -> tuple[schema.Run, ...]:
        """Return the runs of a task, in order."""
        return self._get(schema.RunList, "GET", _path(task, "runs")).items

    def explain(self, task: TaskKey) -> Explanation:
        """Return why a task waits, or what it does."""
        return self._get(Explanation, "GET", _path(task, "explain"))

    def decisions(self, task: TaskKey, *, after: int | None = None, limit: int | None = None) -> tuple[Decision, ...]:
        """Return the scheduler's decisions on a task, in order, after the decision with number `after`."""
        query: Query = {"after": after, "limit": limit}
        return self._get(DecisionPage, "GET", _path(task, "decisions"), query=query).items

    def forecast(self, task: TaskKey | schema.TaskRequest, *, horizon_s: float | None = None) -> Forecast:
        """Return when a task would start, under the assumptions that the answer names.

        Args:
            task: A task that waits; or a request, which is checked like a submission and not submitted.
            horizon_s: How far ahead to look, seconds (default: seven days).
        """
        body: dict[str, Any] = {"horizon_s": horizon_s}
        if isinstance(task, schema.TaskRequest):
            body["submit"] = _submission(task)
        else:
            body["task"] = str(task)
        return self._get(Forecast, "POST", "/forecast", body=body, again=True)

    def task_events(
        self, task: TaskKey, *, after: int | None = None, limit: int | None = None
    ) -> tuple[schema.Event, ...]:
        """Return the history of a task, in order, after the event with number `after`."""
        query: Query = {"after": after, "limit": limit}
        return self._get(schema.EventPage, "GET", _path(task, "events"), query=query).items

    # --- logs

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
        return self._get(schema.LogPage, "GET", _path(task, "logs"), query=query)

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

        A restart of the service in between neither loses nor doubles a line.

        Args:
            task: The task.
            rank: The number of the rank.
            run: Only lines of this run.
            cursor: Begin after a page with this `next_cursor` (default: at the start).
            lost: Called with the error of each failed try to connect again.
        """
        path = _path(task, "logs")

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
        return self._get(schema.LogHits, "GET", _path(task, "logs/search"), query={"q": text})

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

    # --- nodes, quota, cluster

    def nodes(self) -> tuple[schema.Node, ...]:
        """Return all nodes, sorted by name."""
        return self._get(schema.NodeList, "GET", "/nodes").items

    def cordon(self, node: str) -> schema.Node:
        """Give a node no new runs. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/cordon", again=True)

    def uncordon(self, node: str) -> schema.Node:
        """Lift a cordon or a drain. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/uncordon", again=True)

    def drain(self, node: str) -> schema.Node:
        """Give a node no new runs, and have its runs leave with a notice. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/drain", again=True)

    def quotas(self) -> tuple[schema.Quota, ...]:
        """Return the rows of quota that apply to the caller; for admins, all rows."""
        return self._get(schema.QuotaList, "GET", "/quotas").items

    def set_quota(
        self,
        subject: str,
        priority: str,
        limit: int | None,
        *,
        group: str = "training",
        ceiling: int | None = None,
        expires_at: datetime | None = None,
    ) -> schema.Quota:
        """Write a complete row of quota; it replaces an earlier row for the same thing. For admins.

        Args:
            subject: `user:NAME`, `group:NAME` (each member), `public`, or `total:NAME` (all members together).
            priority: The priority level.
            limit: Nodes that may be held at once; None: no limit.
            group: The node group.
            ceiling: How far the users of this row may raise their own row, nodes (Q3); None: not at all.
            expires_at: When the row ends; None: never.
        """
        body = {
            "subject": subject,
            "group": group,
            "priority": priority,
            "limit": limit,
            "ceiling": ceiling,
            "expires_at": expires_at,
        }
        return self._get(schema.Quota, "PUT", "/quotas", body=encode(body))

    def set_own_quota(self, priority: str, limit: int, *, group: str = "training") -> schema.OwnQuota:
        """Raise or lower the caller's own quota, up to the ceiling that an admin has set.

        Raises:
            Forbidden: There is no ceiling for the caller, or the ceiling is lower than `limit`.
        """
        body = {"group": group, "priority": priority, "limit": limit}
        return self._get(schema.OwnQuota, "PUT", "/me/quota", body=body)

    def delete_quota(self, subject: str, priority: str, *, group: str = "training") -> None:
        """Remove a row of quota. For admins."""
        self._http.call("DELETE", "/quotas", body={"subject": subject, "group": group, "priority": priority})

    def me(self) -> schema.Me:
        """Return the caller: name, rights and quota."""
        return self._get(schema.Me, "GET", "/me")

    def policy(self) -> Policy:
        """Return the scheduling policy: the numbers that rules use."""
        return self._get(Policy, "GET", "/policy")

    def set_policy(self, values: Mapping[str, Any], *, unset: Iterable[str] = (), group: str | None = None) -> Policy:
        """Change numbers of the scheduling policy; either the whole change is made, or nothing. For admins.

        Args:
            values: New values by name; lengths of time are texts such as `15m`, or seconds.
            unset: Names of numbers to set back to the configuration's value, or to the default.
            group: The node group; None: all node groups.
        """
        body = {"group": group, "set": dict(values), "unset": list(unset)}
        return self._get(Policy, "PUT", "/policy", body=body)

    def cluster(self) -> schema.Cluster:
        """Return an overview of the cluster."""
        return self._get(schema.Cluster, "GET", "/cluster")

    def pause(self) -> schema.Cluster:
        """Have every run leave with a notice, and start nothing until `unpause`. For admins."""
        return self._get(schema.Cluster, "POST", "/cluster/pause", again=True)

    def unpause(self) -> schema.Cluster:
        """End a pause. For admins."""
        return self._get(schema.Cluster, "POST", "/cluster/resume", again=True)

    def health(self) -> schema.Health:
        """Return the health of the service. Needs no token."""
        return self._get(schema.Health, "GET", "/health")


def _submission(request: schema.TaskRequest) -> dict[str, Any]:
    body = {key: value for key, value in encode(request).items() if value is not None}
    if request.environment is None and VENV not in request.env and (folder := own_python.of_this_kernel()):
        body["env"] = {**request.env, **own_python.variables(folder)}
    return body


def _resume(last_id: str | None) -> dict[str, str]:
    return {} if last_id is None else {"Last-Event-ID": last_id}


def _path(task: TaskKey, verb: str | None = None) -> str:
    path = f"/tasks/{quoted(str(task), 'task')}"
    return f"{path}/{verb}" if verb else path
