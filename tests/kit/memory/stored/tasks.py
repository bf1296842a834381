"""Tasks in a transaction of the memory store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.pins import Pin, used_pin
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.ports.errors import Absent, WriteConflict
from hai_scheduler.ports.values import NewTask, TaskFilter, TaskKeyValue, TaskSort, sort_value
from kit.memory.draft import MemoryPart
from kit.memory.state import State


class MemoryTasks(MemoryPart):
    """See `ports.stored.tasks.StoredTasks`."""

    async def add(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """See `StoredTasks.add`."""
        state = self._draft.writable()
        if idempotency_key is not None:
            known = state.keys.get((task.user, idempotency_key))
            if known is not None:
                return await self.get(TaskId(known))
            state = replace(state, keys={**state.keys, (task.user, idempotency_key): state.last_task + 1})
        number = TaskId(state.last_task + 1)
        added = replace(task, id=number, version=1)
        self._draft.state = replace(
            _with_task(state, added), last_task=number, specs=state.specs.put(number, _copy_of(spec))
        )
        return added

    async def add_all(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """See `StoredTasks.add_all`."""
        return [await self.add(each.task, each.spec, idempotency_key=each.idempotency_key) for each in new]

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """See `StoredTasks.keyed`."""
        state = self._draft.seen()
        return {key: await self.get(TaskId(state.keys[key])) for key in keys if key in state.keys}

    async def get(self, task_id: TaskId) -> Task:
        """See `StoredTasks.get`."""
        task = self._draft.seen().tasks.get(task_id)
        if task is None:
            raise Absent(f"there is no task {task_id}")
        return task

    async def find(self, user: str, name: str) -> Task | None:
        """See `StoredTasks.find`."""
        state = self._draft.seen()
        for tasks in (state.open, state.tasks):
            for task in tasks.falling():
                if (task.user, task.name) == (user, name):
                    return task
        return None

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """See `StoredTasks.get_spec`."""
        spec = self._draft.seen().specs.get(task_id)
        if spec is None:
            raise Absent(f"there is no task {task_id}")
        return _copy_of(spec)

    async def with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """See `StoredTasks.with_specs`."""
        known = self._draft.seen().tasks
        wanted = [task_id for task_id in task_ids if known.get(task_id) is not None]
        return {task_id: (await self.get(task_id), await self.get_spec(task_id)) for task_id in wanted}

    async def save(self, task: Task) -> Task:
        """See `StoredTasks.save`."""
        state = self._draft.writable()
        stored = await self.get(task.id)
        if stored.version != task.version:
            raise WriteConflict(f"task {task.id} is at version {stored.version}, not {task.version}")
        saved = replace(task, version=task.version + 1)
        self._draft.state = _with_task(state, saved)
        return saved

    async def unfinished(self) -> Sequence[Task]:
        """See `StoredTasks.unfinished`."""
        return list(self._draft.seen().open.rising())

    async def pinned(self) -> Mapping[TaskId, tuple[str, Pin]]:
        """See `StoredTasks.pinned`."""
        found = {}
        for task in await self.unfinished():
            spec, run = await self.get_spec(task.id), task.run
            pin = used_pin(spec.haienv, run.haienv if run else None, live=task.live_run is not None)
            if pin is not None:
                found[task.id] = task.user, pin
        return found

    async def snapshots(self) -> Mapping[str, frozenset[str]]:
        """See `StoredTasks.snapshots`."""
        found: dict[str, set[str]] = {}
        for task in await self.unfinished():
            snapshot = (await self.get_spec(task.id)).snapshot
            if snapshot is not None:
                found.setdefault(task.user, set()).add(snapshot.digest)
        return {user: frozenset(digests) for user, digests in found.items()}

    async def page(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """See `StoredTasks.page`."""
        state = self._draft.seen()
        return list(islice((task for task in state.tasks.falling(before) if _matches(state, task, where)), limit))

    async def sorted_page(
        self, where: TaskFilter, sort: TaskSort, *, after: tuple[TaskKeyValue, TaskId] | None, limit: int
    ) -> Sequence[Task]:
        """See `StoredTasks.sorted_page`."""
        state = self._draft.seen()
        places = [((sort_value(task, sort.key), task.id), task) for task in state.tasks.rising()]
        found = sorted((each for each in places if _matches(state, each[1], where)), key=lambda each: each[0])
        if sort.falling:
            found.reverse()
        later = [task for place, task in found if after is None or (place < after if sort.falling else place > after)]
        return later[:limit]

    async def count(self, where: TaskFilter) -> int:
        """See `StoredTasks.count`."""
        state = self._draft.seen()
        return sum(_matches(state, task, where) for task in state.tasks.rising())

    async def count_unfinished(self, user: str) -> int:
        """See `StoredTasks.count_unfinished`."""
        return sum(task.user == user for task in self._draft.seen().open.rising())

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """See `StoredTasks.ended_before`."""
        over = [
            (task.ended_at, task.id, task)
            for task in self._draft.seen().tasks.rising()
            if task.state.ended and task.ended_at is not None and task.ended_at < when
        ]
        return [task for _, _, task in sorted(over, key=lambda entry: entry[:2])[:limit]]

    async def delete(self, task_id: TaskId) -> None:
        """See `StoredTasks.delete`. Raises Absent, and WriteConflict for a task that has not ended."""
        state = self._draft.writable()
        if not (await self.get(task_id)).state.ended:
            raise WriteConflict(f"task {task_id} has not ended")
        self._draft.state = replace(
            state,
            tasks=state.tasks.drop(task_id),
            specs=state.specs.drop(task_id),
            runs=state.runs.drop(task_id),
            progress=state.progress.drop(task_id),
            stars=frozenset(star for star in state.stars if star[1] != task_id),
            keys={key: number for key, number in state.keys.items() if number != task_id},
            recordings={number: one for number, one in state.recordings.items() if one.task_id != task_id},
            traces={key: data for key, data in state.traces.items() if state.recordings[key[0]].task_id != task_id},
        )


def _with_task(state: State, task: Task) -> State:
    runs = state.runs
    if task.run is not None:
        runs = runs.put(task.id, {**(runs.get(task.id) or {}), task.run.number: task.run})
    unfinished = state.open.drop(task.id) if task.state.ended else state.open.put(task.id, task)
    return replace(state, tasks=state.tasks.put(task.id, task), open=unfinished, runs=runs)


def _copy_of(spec: TaskSpec) -> TaskSpec:
    """Return a copy with its own dictionary of variables, which is all that a caller could change."""
    return replace(spec, env=dict(spec.env))


def _matches(state: State, task: Task, where: TaskFilter) -> bool:
    spec = state.specs.get(task.id)
    tags = () if spec is None else spec.tags
    level = None if task.priority is None else task.priority.name
    return (
        (where.user is None or task.user == where.user)
        and (where.states is None or task.state in where.states)
        and (where.group is None or task.group == where.group)
        and (where.priority is None or (level or "AUTO") == where.priority.upper())
        and (where.name is None or where.name.lower() in task.name.lower())
        and (where.text is None or _has_text(task, tags, where.text))
        and (where.tag is None or where.tag in tags)
        and (where.submitted_since is None or task.submitted_at >= where.submitted_since)
        and (where.ended_since is None or (task.ended_at is not None and task.ended_at >= where.ended_since))
        and (where.starred_by is None or (where.starred_by, task.id) in state.stars)
    )


def _has_text(task: Task, tags: Sequence[str], text: str) -> bool:
    parts = (task.name, task.user, *tags)
    return str(task.id) == text or any(text.lower() in part.lower() for part in parts)
