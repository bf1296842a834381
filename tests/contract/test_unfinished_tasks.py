"""Stores read only the unfinished tasks that have changed, but always return all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from sqlalchemy import delete, insert, select, text

from contract.store_kit import Opener, add, on_disk, save
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.marks import LostPast
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Store
from hai_scheduler.store import known as known_module
from hai_scheduler.store.known import COMPARE_EVERY_S
from hai_scheduler.store.store import SqlStore
from hai_scheduler.store.tables import TASKS
from kit.builders import a_run, a_spec, a_task, at


async def unfinished(store: Store) -> list[Task]:
    async with store.read() as tx:
        return list(await tx.tasks.unfinished())


class Walk:
    """Random writes by several processes, and the state that all of them should read."""

    def __init__(self, seed: int, stores: Sequence[Store]) -> None:
        self.choose, self.stores = random.Random(seed), stores
        self.tasks: dict[TaskId, Task] = {}
        self.ended: list[TaskId] = []

    async def step(self) -> None:
        store = self.choose.choice(self.stores)
        steps = [self.add, self.save, self.save, self.end, self.forget, self.fail, self.look_back]
        await self.choose.choice(steps)(store)

    async def add(self, store: Store) -> None:
        for task in await add(store, *(a_task(name=f"t{n}") for n in range(self.choose.randint(1, 3)))):
            self.tasks[task.id] = task

    async def save(self, store: Store) -> None:
        some = self.choose.sample(sorted(self.tasks), min(len(self.tasks), self.choose.randint(1, 3)))
        async with store.write() as tx:
            if self.choose.random() < 0.5:
                assert list(await tx.tasks.unfinished()) == self.now()
            for number in some:
                task = replace(self.tasks[number], held=not self.tasks[number].held, run=a_run(number))
                self.tasks[number] = await tx.tasks.save(task)
            if self.choose.random() < 0.5:
                assert list(await tx.tasks.unfinished()) == self.now()

    async def end(self, store: Store) -> None:
        if self.tasks:
            task = self.tasks.pop(self.choose.choice(sorted(self.tasks)))
            await save(store, replace(task, state=TaskState.STOPPED, ended_at=at(1), reason=Reason.USER_STOPPED))
            self.ended.append(task.id)

    async def forget(self, store: Store) -> None:
        """Delete a task; the newest write of all may be the write of that task."""
        if self.ended:
            async with store.write() as tx:
                await tx.tasks.delete(self.ended.pop())

    async def fail(self, store: Store) -> None:
        with suppress(ZeroDivisionError):
            async with store.write() as tx:
                lost = await tx.tasks.add(a_task(name="lost"), a_spec())
                for task in self.now()[:2]:
                    await tx.tasks.save(replace(task, job_state="lost"))
                assert (await tx.tasks.unfinished())[-1] == lost
                raise ZeroDivisionError

    async def look_back(self, store: Store) -> None:
        before = self.now()
        async with store.read() as view:
            await self.save(self.choose.choice(self.stores))
            assert await unfinished(store) == self.now()
            assert list(await view.tasks.unfinished()) == before

    def now(self) -> list[Task]:
        return [self.tasks[number] for number in sorted(self.tasks)]


@pytest.mark.parametrize("seed", range(6))
async def test_all_processes_read_what_any_process_has_committed(opener: Opener, seed: int) -> None:
    walk = Walk(seed, [await opener(), await opener()])
    for _ in range(60):
        await walk.step()
        assert await unfinished(walk.choose.choice(walk.stores)) == walk.now()


@on_disk
async def test_what_has_not_changed_is_neither_read_nor_made_again(opener: Opener) -> None:
    store = await opener()
    one, two = await add(store, a_task(), a_task())
    async with store.read() as tx:
        first = await tx.tasks.unfinished()
    async with store.read() as tx:
        assert await tx.tasks.unfinished() is first
    two = await save(store, replace(two, held=True))
    async with store.read() as tx:
        then = await tx.tasks.unfinished()
    assert list(then) == [one, two]
    assert then[0] is first[0]


async def rows_of(store: Store) -> list[dict[str, object]]:
    """The rows of the table of tasks, as a backup has them."""
    assert isinstance(store, SqlStore)
    async with store.engine.connect() as connection:
        return [dict(row) for row in (await connection.execute(select(TASKS))).mappings()]


async def put_back(store: Store, rows: list[dict[str, object]]) -> None:
    """Restore the rows under a running service, by hand, so that the restore gets no number."""
    assert isinstance(store, SqlStore)
    async with store.engine.begin() as connection:
        await connection.execute(delete(TASKS))
        await connection.execute(insert(TASKS), rows)


@on_disk
@pytest.mark.parametrize("writes", range(8))
async def test_a_database_that_went_back_is_read_again(opener: Opener, writes: int) -> None:
    store, other = await opener(), await opener()
    tasks = await add(store, *(a_task() for _ in range(6)))
    rows = await rows_of(store)
    for task in tasks[:4]:
        await save(store, replace(task, job_state="lost"))
    assert len(await unfinished(store)) == 6
    await put_back(store, rows)
    expected = list(tasks)
    for number in range(writes):
        place = (5 - number) % 6
        expected[place] = await save(other, replace(expected[place], job_state="of the other history"))
    assert await unfinished(store) == expected


@on_disk
async def test_in_a_new_epoch_everything_is_read_again(opener: Opener) -> None:
    store = await opener()
    (task,) = await add(store, a_task())
    assert await unfinished(store) == [task]
    async with store.write() as tx:
        await tx.database.begin_epoch(2, steps=0, after_task=1000, past=LostPast(first_task=1001, above=1))
    (later,) = await add(store, a_task())
    assert await unfinished(store) == [task, later]


async def by_hand(store: Store) -> None:
    """Write without a number, as an older version does."""
    assert isinstance(store, SqlStore)
    async with store.engine.begin() as connection:
        await connection.execute(text("UPDATE hai_tasks SET held = (1 = 1), version = version + 1"))


@on_disk
async def test_a_write_without_a_number_is_found_in_half_a_minute(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opener()
    await add(store, a_task())
    await unfinished(store)
    await by_hand(store)
    now = time.monotonic()
    monkeypatch.setattr(known_module.time, "monotonic", lambda: now + COMPARE_EVERY_S)
    (task,) = await unfinished(store)
    assert task.held


@on_disk
async def test_after_an_error_of_the_database_everything_is_read_again(opener: Opener) -> None:
    store = await opener()
    assert isinstance(store, SqlStore)
    await add(store, a_task())
    await unfinished(store)
    await by_hand(store)
    with pytest.raises((Temporary, Exception), match="no_such_table"):
        async with store.engine.connect() as connection:
            await connection.execute(text("SELECT * FROM no_such_table"))
    (task,) = await unfinished(store)
    assert task.held
