"""One transaction of the memory store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from hai_scheduler.adapters.memory.base import TxPart
from hai_scheduler.adapters.memory.bounds import BoundPart
from hai_scheduler.adapters.memory.database import DatabasePart
from hai_scheduler.adapters.memory.state import HeldLease, State
from hai_scheduler.adapters.memory.workspace import WorkspacePart
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark, Strike
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.ports.errors import Absent, LeaseLost, WriteConflict
from hai_scheduler.ports.values import HistoryEvent, Lease, NewTask, TaskFilter, UserRecord


class MemoryTx(WorkspacePart, DatabasePart, BoundPart, TxPart):
    """A transaction; see `hai_scheduler.ports.store.Tx`."""

    async def add_task(self, task: Task, spec: TaskSpec, *, idempotency_key: str | None = None) -> Task:
        """See `Tx.add_task`."""
        state = self._writable()
        if idempotency_key is not None:
            known = state.keys.get((task.user, idempotency_key))
            if known is not None:
                return await self.get_task(TaskId(known))
            state = replace(state, keys={**state.keys, (task.user, idempotency_key): state.last_task + 1})
        number = TaskId(state.last_task + 1)
        added = replace(task, id=number, version=1)
        self.state = replace(_with_task(state, added), last_task=number, specs=state.specs.put(number, _copy_of(spec)))
        return added

    async def add_tasks(self, new: Sequence[NewTask]) -> Sequence[Task]:
        """See `Tx.add_tasks`."""
        return [await self.add_task(each.task, each.spec, idempotency_key=each.idempotency_key) for each in new]

    async def keyed(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Task]:
        """See `Tx.keyed`."""
        state = self._seen()
        return {key: await self.get_task(TaskId(state.keys[key])) for key in keys if key in state.keys}

    async def get_task(self, task_id: TaskId) -> Task:
        """See `Tx.get_task`."""
        task = self._seen().tasks.get(task_id)
        if task is None:
            raise Absent(f"there is no task {task_id}")
        return task

    async def find_task(self, user: str, name: str) -> Task | None:
        """See `Tx.find_task`."""
        state = self._seen()
        for tasks in (state.open, state.tasks):
            for task in tasks.falling():
                if (task.user, task.name) == (user, name):
                    return task
        return None

    async def get_spec(self, task_id: TaskId) -> TaskSpec:
        """See `Tx.get_spec`."""
        spec = self._seen().specs.get(task_id)
        if spec is None:
            raise Absent(f"there is no task {task_id}")
        return _copy_of(spec)

    async def tasks_with_specs(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, tuple[Task, TaskSpec]]:
        """See `Tx.tasks_with_specs`."""
        known = self._seen().tasks
        wanted = [task_id for task_id in task_ids if known.get(task_id) is not None]
        return {task_id: (await self.get_task(task_id), await self.get_spec(task_id)) for task_id in wanted}

    async def save_task(self, task: Task) -> Task:
        """See `Tx.save_task`."""
        state = self._writable()
        stored = await self.get_task(task.id)
        if stored.version != task.version:
            raise WriteConflict(f"task {task.id} is at version {stored.version}, not {task.version}")
        saved = replace(task, version=task.version + 1)
        self.state = _with_task(state, saved)
        return saved

    async def unfinished_tasks(self) -> Sequence[Task]:
        """See `Tx.unfinished_tasks`."""
        return list(self._seen().open.rising())

    async def list_tasks(self, where: TaskFilter, *, before: TaskId | None, limit: int) -> Sequence[Task]:
        """See `Tx.list_tasks`."""
        tasks = self._seen().tasks.falling(before)
        return list(islice((task for task in tasks if _matches(task, where)), limit))

    async def count_tasks(self, user: str) -> int:
        """See `Tx.count_tasks`."""
        return sum(task.user == user for task in self._seen().open.rising())

    async def runs(self, task_id: TaskId) -> Sequence[Run]:
        """See `Tx.runs`."""
        known = self._seen().runs.get(task_id) or {}
        return [known[number] for number in sorted(known)]

    async def ended_before(self, when: datetime, *, limit: int) -> Sequence[Task]:
        """See `Tx.ended_before`."""
        over = [
            (task.ended_at, task.id, task)
            for task in self._seen().tasks.rising()
            if task.state.ended and task.ended_at is not None and task.ended_at < when
        ]
        return [task for _, _, task in sorted(over, key=lambda entry: entry[:2])[:limit]]

    async def delete_task(self, task_id: TaskId) -> None:
        """See `Tx.delete_task`. Raises Absent, and WriteConflict for a task that has not ended."""
        state = self._writable()
        if not (await self.get_task(task_id)).state.ended:
            raise WriteConflict(f"task {task_id} has not ended")
        self.state = replace(
            state,
            tasks=state.tasks.drop(task_id),
            specs=state.specs.drop(task_id),
            runs=state.runs.drop(task_id),
            keys={key: number for key, number in state.keys.items() if number != task_id},
        )

    async def add_event(self, event: HistoryEvent) -> HistoryEvent:
        """See `Tx.add_event`."""
        state = self._writable()
        # Through JSON, so that data that no database takes fail here too, and the caller's dict is not shared.
        added = replace(event, seq=state.last_event + 1, data=json.loads(json.dumps(dict(event.data), allow_nan=False)))
        self.state = replace(state, last_event=added.seq, events=state.events.put(added.seq, added))
        return added

    async def add_events(self, events: Iterable[HistoryEvent]) -> None:
        """See `Tx.add_events`."""
        for event in events:
            await self.add_event(event)

    async def events(
        self, *, after: int, limit: int, user: str | None = None, task_id: TaskId | None = None
    ) -> Sequence[HistoryEvent]:
        """See `Tx.events`."""
        found: Iterable[HistoryEvent] = self._seen().events.after(after)
        if user is not None:
            found = (event for event in found if event.user is None or event.user == user)
        if task_id is not None:
            found = (event for event in found if event.task_id == task_id)
        return list(islice(found, limit))

    async def last_event_seq(self) -> int:
        """See `Tx.last_event_seq`."""
        return self._seen().last_event

    async def quotas(self) -> Sequence[Quota]:
        """See `Tx.quotas`."""
        rows = self._seen().quotas
        return [rows[key] for key in sorted(rows)]

    async def put_quota(self, quota: Quota) -> None:
        """See `Tx.put_quota`."""
        state = self._writable()
        key = (quota.subject, quota.group, quota.priority)
        self.state = replace(state, quotas={**state.quotas, key: quota})

    async def delete_quota(self, quota: Quota) -> bool:
        """See `Tx.delete_quota`."""
        state = self._writable()
        key = (quota.subject, quota.group, quota.priority)
        self.state = replace(state, quotas={k: row for k, row in state.quotas.items() if k != key})
        return key in state.quotas

    async def uses(self) -> Sequence[Usage]:
        """See `Tx.uses`."""
        rows = self._seen().uses
        return [rows[key] for key in sorted(rows)]

    async def put_use(self, use: Usage) -> None:
        """See `Tx.put_use`."""
        state = self._writable()
        self.state = replace(state, uses={**state.uses, (use.user, use.group): use})

    async def delete_use(self, use: Usage) -> None:
        """See `Tx.delete_use`."""
        state = self._writable()
        self.state = replace(state, uses={k: row for k, row in state.uses.items() if k != (use.user, use.group)})

    async def strikes(self) -> Sequence[Strike]:
        """See `Tx.strikes`; those of the same moment in the order in which they were added."""
        state = self._seen()
        tasks = {strike.task_id: state.tasks.get(strike.task_id) for strike in state.strikes}
        whose = {task_id: None if task is None else task.user for task_id, task in tasks.items()}
        return [replace(s, user=whose[s.task_id]) for s in sorted(state.strikes, key=lambda strike: strike.at)]

    async def add_strike(self, strike: Strike) -> None:
        """See `Tx.add_strike`."""
        state = self._writable()
        self.state = replace(state, strikes=(*state.strikes, strike))

    async def forget_strikes(self, *, node: str | None = None, before: datetime | None = None) -> None:
        """See `Tx.forget_strikes`; without a condition, all of them."""
        state = self._writable()
        kept = tuple(
            strike
            for strike in state.strikes
            if (node is not None and strike.node != node) or (before is not None and strike.at >= before)
        )
        self.state = replace(state, strikes=kept)

    async def users(self) -> Sequence[UserRecord]:
        """See `Tx.users`; by name."""
        known = self._seen().users
        return [known[name] for name in sorted(known)]

    async def put_user(self, user: UserRecord) -> None:
        """See `Tx.put_user`."""
        state = self._writable()
        self.state = replace(state, users={**state.users, user.name: user})

    async def node_marks(self) -> Mapping[str, NodeMark]:
        """See `Tx.node_marks`."""
        return dict(self._seen().marks)

    async def put_node_mark(self, node: str, mark: NodeMark) -> None:
        """See `Tx.put_node_mark`."""
        state = self._writable()
        marks = {**state.marks, node: mark}
        self.state = replace(state, marks={n: m for n, m in marks.items() if m is not NodeMark.NONE})

    async def setting(self, name: str) -> str | None:
        """See `Tx.setting`."""
        return self._seen().settings.get(name)

    async def put_setting(self, name: str, value: str | None) -> None:
        """See `Tx.put_setting`."""
        state = self._writable()
        rest = {key: text for key, text in state.settings.items() if key != name}
        self.state = replace(state, settings=rest if value is None else {**rest, name: value})

    async def lease(self) -> Lease | None:
        """See `Tx.lease`."""
        held = self._seen().lease
        if held.holder is None or held.expires_at is None:
            return None
        return Lease(holder=held.holder, token=held.token, expires_at=held.expires_at)

    async def acquire_lease(self, holder: str, *, now: datetime, length: timedelta) -> Lease | None:
        """See `Tx.acquire_lease`."""
        state = self._writable()
        held = state.lease
        mine = held.holder == holder
        if held.holder is not None and not mine and held.expires_at is not None and held.expires_at > now:
            return None
        taken = HeldLease(holder=holder, token=held.token + (not mine), expires_at=now + length)
        self.state = replace(state, lease=taken)
        return Lease(holder=holder, token=taken.token, expires_at=now + length)

    async def check_lease(self, token: int) -> None:
        """See `Tx.check_lease`."""
        held = self._seen().lease
        if held.holder is None or held.token != token:
            raise LeaseLost("another scheduler holds the leader lease, or none does")

    async def release_lease(self, holder: str) -> None:
        """See `Tx.release_lease`."""
        state = self._writable()
        if state.lease.holder == holder:
            self.state = replace(state, lease=HeldLease(token=state.lease.token))


def _with_task(state: State, task: Task) -> State:
    runs = state.runs
    if task.run is not None:
        runs = runs.put(task.id, {**(runs.get(task.id) or {}), task.run.number: task.run})
    unfinished = state.open.drop(task.id) if task.state.ended else state.open.put(task.id, task)
    return replace(state, tasks=state.tasks.put(task.id, task), open=unfinished, runs=runs)


def _copy_of(spec: TaskSpec) -> TaskSpec:
    """Return a copy with its own dictionary of variables, which is all that a caller could change."""
    return replace(spec, env=dict(spec.env))


def _matches(task: Task, where: TaskFilter) -> bool:
    level = None if task.priority is None else task.priority.name
    return (
        (where.user is None or task.user == where.user)
        and (where.states is None or task.state in where.states)
        and (where.group is None or task.group == where.group)
        and (where.priority is None or (level or "AUTO") == where.priority.upper())
        and (where.name is None or where.name.lower() in task.name.lower())
    )
