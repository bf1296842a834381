"""Several tasks stored at once, and tasks found by their keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract.store_kit import Opener, add, get, save
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.values import NewTask
from hai_scheduler.store.store import Store
from kit.builders import a_run, a_spec, a_task, at


def new(name: str, *, user: str = "alice", key: str | None = None) -> NewTask:
    return NewTask(task=a_task(name=name, user=user), spec=a_spec(name), idempotency_key=key)


async def store_all(store: Store, *news: NewTask) -> list[Task]:
    async with store.write() as tx:
        return list(await tx.tasks.add_all(news))


async def test_each_gets_an_id_in_their_order_and_its_own_spec(store: Store) -> None:
    (before,) = await add(store, a_task(name="before"))
    tasks = await store_all(store, *(new(f"t{n}") for n in range(20)))
    assert [task.name for task in tasks] == [f"t{n}" for n in range(20)]
    assert [task.id for task in tasks] == sorted({task.id for task in tasks})
    assert before.id < tasks[0].id
    async with store.read() as tx:
        assert list(await tx.tasks.unfinished()) == [before, *tasks]
        for task in tasks:
            assert await tx.tasks.get(task.id) == task
            assert (await tx.tasks.get_spec(task.id)).command == (task.name,)


async def test_one_that_has_run_keeps_its_run(store: Store) -> None:
    (task,) = await store_all(store, NewTask(task=a_task(run=a_run(1)), spec=a_spec()))
    assert (await get(store, task.id)).run == a_run(1)


async def test_none_is_nothing(store: Store) -> None:
    assert await store_all(store) == []
    async with store.read() as tx:
        assert await tx.tasks.keyed([]) == {}


async def test_what_comes_at_once_is_seen_by_those_who_have_read_before(opener: Opener) -> None:
    one, other = await opener(), await opener()
    await add(one, a_task(name="before"))
    async with other.read() as tx:
        assert len(await tx.tasks.unfinished()) == 1
    tasks = await store_all(one, new("a"), new("b"), new("c"))
    saved = await save(other, replace(tasks[1], held=True))
    await store_all(one, new("d"))
    for store in (one, other):
        async with store.read() as tx:
            assert [task.name for task in await tx.tasks.unfinished()] == ["before", "a", "b", "c", "d"]
            assert (await tx.tasks.unfinished())[2] == saved


async def test_one_that_cannot_be_stored_takes_all_back(store: Store) -> None:
    async def store_two() -> None:
        async with store.write() as tx:
            await tx.tasks.add_all([new("a"), new("b")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store_two()
    async with store.read() as tx:
        assert list(await tx.tasks.unfinished()) == []


async def test_keys_are_found_by_user_as_the_tasks_are_now(store: Store) -> None:
    mine, hers, _ = await store_all(store, new("a", key="k"), new("b", user="bob", key="k"), new("c"))
    mine = await save(store, replace(mine, state=TaskState.STOPPED, ended_at=at(1)))
    async with store.read() as tx:
        found = await tx.tasks.keyed([("alice", "k"), ("bob", "k"), ("bob", "l"), ("carol", "k")])
        assert found == {("alice", "k"): mine, ("bob", "k"): hers}


async def test_a_transaction_finds_the_keys_that_it_has_written(store: Store) -> None:
    async with store.write() as tx:
        (task,) = await tx.tasks.add_all([new("a", key="k")])
        assert await tx.tasks.keyed([("alice", "k")]) == {("alice", "k"): task}
        assert await tx.tasks.add(a_task(), a_spec(), idempotency_key="k") == task
