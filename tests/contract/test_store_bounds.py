"""How much every store keeps of each user."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.sizes import size_of
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.store import Store
from hai_scheduler.ports.stored.storage import UserStorage
from kit.builders import a_spec, a_task, an_event, at


def spec_of(size: int):
    """A task spec that takes `size` bytes."""
    empty = a_spec("x", cwd="/", env={"BIG": ""})
    return replace(empty, env={"BIG": "ü" * ((size - size_of(empty)) // 2) + "x" * ((size - size_of(empty)) % 2)})


async def keep(store: Store, *tasks: tuple[Task, int]) -> list[Task]:
    async with store.write() as tx:
        return [await tx.tasks.add(task, spec_of(size)) for task, size in tasks]


def over(end: int, **fields: object) -> Task:
    return a_task(state=TaskState.STOPPED, ended_at=at(end), **fields)


class TestBounds:
    async def test_what_is_kept_of_a_user_is_counted_in_bytes_of_utf8(self, store: Store) -> None:
        await keep(store, (a_task(), 1000), (a_task(), 201), (over(1), 5000), (over(2), 301), (over(3, user="bob"), 77))
        async with store.read() as tx:
            assert await tx.storage.of_user("alice") == UserStorage(
                unfinished_bytes=1201, ended_bytes=5301, ended_tasks=2
            )
            assert await tx.storage.of_user("bob") == UserStorage(ended_bytes=77, ended_tasks=1)
            assert await tx.storage.of_user("nobody") == UserStorage()

    async def test_a_task_keeps_its_size_when_it_changes_and_takes_it_along_when_it_goes(self, store: Store) -> None:
        (task,) = await keep(store, (a_task(), 1000))
        async with store.write() as tx:
            task = await tx.tasks.save(replace(task, state=TaskState.STOPPED, ended_at=at(1)))
        async with store.read() as tx:
            assert await tx.storage.of_user("alice") == UserStorage(ended_bytes=1000, ended_tasks=1)
        async with store.write() as tx:
            await tx.tasks.delete(task.id)
            assert await tx.storage.of_user("alice") == UserStorage()

    @pytest.mark.parametrize(
        ("tasks", "size", "found"),
        [(1, 10_000, ["alice"]), (2, 999, ["alice", "bob"]), (2, 1000, ["alice"]), (2, 1201, []), (0, 9999, ["alice"])],
    )
    async def test_users_beyond_their_limits_are_found(
        self, store: Store, tasks: int, size: int, found: list[str]
    ) -> None:
        unfinished = [(a_task(user="bob"), 500), (a_task(user="bob"), 500)]
        await keep(store, (over(1), 600), (over(2), 601), *unfinished)
        async with store.read() as tx:
            assert await tx.storage.users_beyond(ended_tasks=tasks, size=size) == found

    async def test_ended_tasks_of_a_user_are_given_with_their_sizes_the_oldest_end_first(self, store: Store) -> None:
        late, early, *_ = await keep(store, (over(9), 300), (over(4), 200), (over(1, user="bob"), 100), (a_task(), 100))
        async with store.read() as tx:
            assert await tx.storage.ended_of("alice", limit=10) == [(early.id, 200), (late.id, 300)]
            assert await tx.storage.ended_of("alice", limit=1) == [(early.id, 200)]

    async def test_history_is_trimmed_to_the_first_line_and_the_latest(self, store: Store) -> None:
        long, short = await keep(store, (a_task(), 100), (a_task(), 100))
        async with store.write() as tx:
            for number in range(20):
                await tx.events.add(an_event(task_id=long.id, data={"n": number}))
                if number < 5:
                    await tx.events.add(an_event(task_id=short.id))
                await tx.events.add(an_event(kind="node.mark", user=None))
        async with store.write() as tx:
            assert await tx.events.trim(5) == 15
            assert await tx.events.trim(5) == 0
        async with store.read() as tx:
            lines = await tx.events.page(after=0, limit=100, task_id=long.id)
            assert [event.data["n"] for event in lines] == [0, 16, 17, 18, 19]
            assert len(await tx.events.page(after=0, limit=100, task_id=short.id)) == 5
            assert len(await tx.events.page(after=0, limit=100)) == 30
            assert await tx.events.last_seq() == 45

    async def test_the_history_of_a_task_can_be_forgotten(self, store: Store) -> None:
        gone, stays = await keep(store, (over(1), 100), (over(1), 100))
        async with store.write() as tx:
            for task in (gone, stays, gone):
                await tx.events.add(an_event(task_id=task.id))
            await tx.events.delete_of_task(gone.id)
        async with store.read() as tx:
            assert [event.task_id for event in await tx.events.page(after=0, limit=10)] == [stays.id]

    async def test_a_reader_changes_nothing(self, store: Store) -> None:
        async with store.read() as tx:
            with pytest.raises(RuntimeError):
                await tx.events.delete_of_task(TaskId(1))
