"""The REST calls for tasks: submit, look, change, ask why and when."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hai_client import own_python, wire
from hai_client.calls.base import Calls, TaskKey, task_path
from hai_client.codec import encode
from hai_client.errors import Invalid
from hai_client.http import Query
from hai_client.pythons import VENV
from hai_client.texts import check_texts
from hai_client.wire import schema

_PAGE = 200


class TaskCalls(Calls):
    """The calls of `Client` for tasks."""

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
        text: str | None = None,
        tag: str | None = None,
        starred: bool = False,
        sort: str | None = None,
        order: str | None = None,
        use: bool = False,
        limit: int | None = None,
        told: Callable[[str], None] | None = None,
    ) -> Iterator[schema.TaskSummary]:
        """Yield tasks, newest first or in another order; pages are fetched as needed.

        Args:
            user: The owner (default: the caller). Admins may name another user, or `*` for all.
            state: States with commas between them; `live` means all tasks that have not ended.
            group: Only tasks of this node group.
            priority: Only tasks that asked for this priority.
            name: Only tasks of this name.
            text: Only tasks with this text in their name, their user's name or a tag, or with this number.
            tag: Only tasks with this tag.
            starred: Only tasks that the caller has starred.
            sort: What they are in the order of: id, name, user, group, state, priority, nodes, ended or ran.
            order: `falling` (the default) or `rising`.
            use: Tell also what each task uses.
            limit: Yield at most this many tasks.
            told: Called with each sentence that the platform tells the caller beside the list.
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
                    "text": text,
                    "tag": tag,
                    "starred": "true" if starred else None,
                    "sort": sort,
                    "order": order,
                    "use": "true" if use else None,
                    "limit": _PAGE if left is None else min(left, _PAGE),
                    "cursor": cursor,
                },
            )
            if told is not None:
                for note in page.notes:
                    told(note)
            yield from page.items[:left]
            left = None if left is None else left - len(page.items)
            cursor = page.next_cursor
            if cursor is None:
                return

    def task(self, task: TaskKey) -> schema.Task:
        """Return a task with its runs."""
        return self._get(schema.Task, "GET", task_path(task))

    def stop(self, task: TaskKey) -> schema.Task:
        """End a task for good; a running task gets a notice first, and its grace to save."""
        return self._get(schema.Task, "POST", task_path(task, "stop"))

    def suspend(self, task: TaskKey) -> schema.Task:
        """End the task's turn now, with a notice, and hold the task until it is resumed."""
        return self._get(schema.Task, "POST", task_path(task, "suspend"))

    def resume(self, task: TaskKey) -> schema.Task:
        """Let a held or suspended task run again when its turn comes."""
        return self._get(schema.Task, "POST", task_path(task, "resume"))

    def hold(self, task: TaskKey) -> schema.Task:
        """Do not start a task (again) until it is resumed; a running task goes on."""
        return self._get(schema.Task, "POST", task_path(task, "hold"))

    def act(self, action: str, tasks: Sequence[TaskKey]) -> schema.TaskActionResults:
        """Do one action to many tasks, each with a result of its own.

        Args:
            action: `stop`, `suspend`, `resume` or `hold`.
            tasks: At most 200.
        """
        body = {"action": action, "tasks": [str(task) for task in tasks]}
        return self._get(schema.TaskActionResults, "POST", "/tasks/actions", body=body)

    def set_tags(self, task: TaskKey, tags: Sequence[str]) -> schema.Task:
        """Give a task these tags, in place of those that it has."""
        return self._get(schema.Task, "PUT", task_path(task, "tags"), body={"tags": list(tags)})

    def set_star(self, task: TaskKey, *, starred: bool = True) -> schema.Task:
        """Star a task, for the caller alone, or take the star away."""
        return self._get(schema.Task, "PUT" if starred else "DELETE", task_path(task, "star"), again=True)

    def set_priority(self, task: TaskKey, priority: str) -> schema.Task:
        """Change the priority that a task asks for: a level or AUTO."""
        return self._get(schema.Task, "PUT", task_path(task, "priority"), body={"priority": priority})

    def reorder(self, task: TaskKey, *, before: int | None = None, after: int | None = None) -> schema.Task:
        """Move a waiting task directly before, or after, another of the same user and priority.

        Raises:
            Invalid: Not exactly one of `before` and `after` is given.
        """
        if (before is None) == (after is None):
            raise Invalid("order: give exactly one of before and after, the id of another waiting task")
        return self._get(schema.Task, "PUT", task_path(task, "order"), body={"before": before, "after": after})

    def runs(self, task: TaskKey) -> tuple[schema.Run, ...]:
        """Return the runs of a task, in order."""
        return self._get(schema.RunList, "GET", task_path(task, "runs")).items

    def explain(self, task: TaskKey) -> wire.explain.Explanation:
        """Return why a task waits, or what it does."""
        return self._get(wire.explain.Explanation, "GET", task_path(task, "explain"))

    def decisions(
        self, task: TaskKey, *, after: int | None = None, limit: int | None = None
    ) -> tuple[wire.explain.Decision, ...]:
        """Return the scheduler's decisions on a task, in order, after the decision with number `after`."""
        query: Query = {"after": after, "limit": limit}
        return self._get(wire.explain.DecisionPage, "GET", task_path(task, "decisions"), query=query).items

    def forecast(self, task: TaskKey | schema.TaskRequest, *, horizon_s: float | None = None) -> wire.explain.Forecast:
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
        return self._get(wire.explain.Forecast, "POST", "/forecast", body=body, again=True)

    def task_events(
        self, task: TaskKey, *, after: int | None = None, limit: int | None = None
    ) -> tuple[schema.Event, ...]:
        """Return the history of a task, in order, after the event with number `after`."""
        query: Query = {"after": after, "limit": limit}
        return self._get(schema.EventPage, "GET", task_path(task, "events"), query=query).items


def _submission(request: schema.TaskRequest) -> dict[str, Any]:
    # What is left at its default is not said: a service that does not know the field yet takes the rest.
    said = {field.name for field in dataclasses.fields(request) if getattr(request, field.name) != _default_of(field)}
    body = {key: value for key, value in encode(request).items() if key in said}
    if request.environment is None and VENV not in request.env and (folder := own_python.of_this_kernel()):
        body["env"] = {**request.env, **own_python.variables(folder)}
    check_texts(body)
    return body


def _default_of(field: dataclasses.Field[Any]) -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()
