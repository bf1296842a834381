"""Which generations of environments unfinished tasks need, on every store."""

from __future__ import annotations

from dataclasses import replace

from contract.store_kit import save
from hai_scheduler.core.model.pins import Pin
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.store.store import Store
from kit.builders import a_pin, a_run, a_spec, a_task, at


async def stored(store: Store, pin: Pin | None, **fields: object) -> Task:
    async with store.write() as tx:
        return await tx.tasks.add(a_task(**fields), a_spec(haienv=pin))


async def needed(store: Store) -> dict[int, tuple[str, Pin]]:
    async with store.read() as tx:
        return dict(await tx.tasks.pinned())


def runs(task: Task, **fields: object) -> Run:
    return a_run(task.id, **fields)


async def test_a_task_needs_its_generation_until_it_has_ended(store: Store) -> None:
    pin = a_pin(variables={"A": "1"})
    task = await stored(store, pin, user="ann")
    await stored(store, None)
    assert await needed(store) == {task.id: ("ann", pin)}
    task = await save(store, replace(task, state=TaskState.RUNNING, run=runs(task)))
    assert await needed(store) == {task.id: ("ann", pin)}
    over = runs(task, ended_at=at(5))
    task = await save(store, replace(task, state=TaskState.SUSPENDED, run=over))
    assert await needed(store) == {task.id: ("ann", pin)}
    await save(store, replace(task, state=TaskState.SUCCEEDED, ended_at=at(9)))
    assert await needed(store) == {}


async def test_a_task_of_the_newest_needs_what_its_live_run_was_started_with(store: Store) -> None:
    newest = a_pin(latest=True)
    task = await stored(store, newest, user="ann")
    assert await needed(store) == {}
    started = a_pin(generation=5, latest=True)
    task = await save(store, replace(task, state=TaskState.RUNNING, run=replace(runs(task), haienv=started)))
    assert await needed(store) == {task.id: ("ann", started)}
    over = replace(runs(task, ended_at=at(5)), haienv=started)
    await save(store, replace(task, state=TaskState.SUSPENDED, run=over))
    assert await needed(store) == {}
