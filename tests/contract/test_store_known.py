"""Stores read only the unfinished tasks that have changed, but always return all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from sqlalchemy import delete, event, insert, select, text

from contract.store_kit import Opener, add, on_disk, save
from hai_scheduler.adapters.sql import known as known_module
from hai_scheduler.adapters.sql.known import COMPARE_EVERY_S, patched
from hai_scheduler.adapters.sql.store import SqlStore
from hai_scheduler.adapters.sql.tables import TASKS
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.marks import LostPast
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.reasons import Reason
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.ports.values import UserRecord
from kit.builders import a_quota, a_run, a_spec, a_strike, a_task, a_use, an_event, at


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


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [5, 300])
def test_a_patched_list_is_as_one_that_is_made_from_scratch(seed: int, most: int) -> None:
    choose = random.Random(seed)
    there = {TaskId(n): a_task(n) for n in choose.sample(range(1, 400), 200)}
    changed = {
        TaskId(n): choose.choice([None, a_task(n, held=True)])
        for n in choose.sample(range(1, 500), choose.randint(0, most))
    }
    found = patched(tuple(there[n] for n in sorted(there)), changed)
    expected = {**there, **changed}
    assert list(found) == [task for n in sorted(expected) if (task := expected[n]) is not None]


class FactWalk:
    """Random changes of the small tables by several processes."""

    def __init__(self, seed: int, stores: Sequence[Store]) -> None:
        self.choose, self.stores = random.Random(seed), stores

    async def step(self) -> None:
        choose = self.choose
        with suppress(ZeroDivisionError):
            async with choose.choice(self.stores).write() as tx:
                for _ in range(choose.randint(1, 3)):
                    await self.change(tx)
                    if choose.random() < 0.3:
                        await facts(tx)
                if choose.random() < 0.2:
                    raise ZeroDivisionError

    async def change(self, tx: Tx) -> None:
        choose, name = self.choose, self.choose.choice(["alice", "bob"])
        quota, use = a_quota(f"user:{name}", limit=choose.randint(0, 9)), a_use(name, node_seconds=choose.random())
        changes = [
            lambda: tx.quotas.put(quota),
            lambda: tx.quotas.delete(quota),
            lambda: tx.uses.put(use),
            lambda: tx.uses.delete(use),
            lambda: tx.nodes.add_strike(a_strike(at=at(choose.randint(0, 99)))),
            lambda: tx.nodes.forget_strikes(before=at(choose.randint(0, 99))),
            lambda: tx.users.put(UserRecord(name=name, groups=frozenset({choose.choice("abc")}))),
            lambda: tx.nodes.put_mark(name, choose.choice(list(NodeMark))),
            lambda: tx.settings.put(name, choose.choice(["1", "2", None])),
            lambda: tx.events.add(an_event()),
            lambda: tx.events.add_all([an_event(), an_event()]),
            lambda: tx.database.count_steps(1, number=choose.randint(1, 9)),
            lambda: tx.tasks.add(a_task(), a_spec()),
        ]
        await choose.choice(changes)()


async def facts(tx: Tx) -> list[object]:
    return [
        list(await tx.quotas.all()),
        list(await tx.uses.all()),
        list(await tx.nodes.strikes()),
        list(await tx.users.all()),
        dict(await tx.nodes.marks()),
        [await tx.settings.get(name) for name in ("alice", "bob")],
        await tx.events.last_seq(),
        await tx.database.mark(),
    ]


@on_disk
@pytest.mark.parametrize("seed", range(4))
async def test_small_tables_are_read_as_they_are(opener: Opener, seed: int) -> None:
    walk, other = FactWalk(seed, [await opener(), await opener()]), await opener()
    assert isinstance(other, SqlStore)
    for _ in range(40):
        await walk.step()
        other.forget()
        async with walk.choose.choice(walk.stores).read() as tx, other.read() as fresh:
            assert await facts(tx) == await facts(fresh)


@on_disk
async def test_a_transaction_that_finds_nothing_new_asks_once(opener: Opener) -> None:
    store = await opener()
    assert isinstance(store, SqlStore)
    async with store.write() as tx:
        await tx.users.put(UserRecord(name="alice"))
        await tx.tasks.add(a_task(), a_spec())
    async with store.write() as tx:
        await facts(tx)
    async with store.read() as tx:
        known = await facts(tx), await tx.tasks.unfinished()
    asked: list[str] = []
    async with store.read() as tx:
        event.listen(store.engine.sync_engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        assert (await facts(tx), await tx.tasks.unfinished()) == known
    assert len(asked) == 1
