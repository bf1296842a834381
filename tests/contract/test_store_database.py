"""The origin and the mark of a store, in every store."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

import pytest

from contract.store_kit import Opener, add, get
from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.core.model.marks import LostPast, Mark
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.store.store import Store
from kit.builders import a_run, a_task, at


async def mark_of(store: Store) -> Mark:
    async with store.read() as tx:
        return await tx.database.mark()


async def restored(store: Store, epoch: int = 2, *, after_task: int = 0) -> None:
    async with store.write() as tx:
        await tx.database.begin_epoch(epoch, steps=7, after_task=after_task, past=LostPast(first_task=50, above=9))


class TestTheDatabase:
    async def test_a_new_one_has_a_name_and_is_in_its_first_epoch(self, store: Store) -> None:
        mark = await mark_of(store)
        assert mark == Mark(database=mark.database, epoch=1, steps=0, task=0, number=0)
        assert Origin.parse(str(mark.origin)) == Origin(mark.database, 1)
        async with store.read() as tx:
            assert await tx.database.lost_past() == LostPast()

    async def test_its_name_stays(self, opener: Opener) -> None:
        assert await mark_of(await opener()) == await mark_of(await opener())

    async def test_what_is_decided_is_counted(self, store: Store) -> None:
        async with store.write() as tx:
            await tx.database.count_steps(3, number=2)
            await tx.database.count_steps(1, number=1)
        mark = await mark_of(store)
        assert (mark.steps, mark.number) == (4, 2)

    async def test_a_count_that_is_rolled_back_has_not_been(self, store: Store) -> None:
        with contextlib.suppress(RuntimeError):
            async with store.write() as tx:
                await tx.database.count_steps(3, number=2)
                raise RuntimeError
        assert (await mark_of(store)).steps == 0

    async def test_the_mark_knows_every_id_that_was_given(self, store: Store) -> None:
        await add(store, a_task(name="a"), a_task(name="b", state=TaskState.STOPPED, ended_at=at(1)))
        assert (await mark_of(store)).task == 2
        async with store.write() as tx:
            await tx.tasks.delete(TaskId(2))
        assert (await mark_of(store)).task == 2

    async def test_nothing_is_written_in_a_read_view(self, store: Store) -> None:
        async with store.read() as tx:
            with pytest.raises(RuntimeError, match="read view"):
                await tx.database.count_steps(1, number=1)
            with pytest.raises(RuntimeError, match="read view"):
                await tx.database.begin_epoch(2, steps=0, after_task=0, past=LostPast())


class TestANewEpoch:
    @pytest.mark.parametrize("before", [0, 3])
    async def test_ids_go_on_where_it_says(self, store: Store, before: int) -> None:
        await add(store, *(a_task(name=f"t{n}") for n in range(before)))
        await restored(store, after_task=2000)
        mark = await mark_of(store)
        assert (mark.epoch, mark.steps, mark.task, mark.number) == (2, 7, 2000, 9)
        assert [task.id for task in await add(store, a_task(name="x"), a_task(name="y"))] == [2001, 2002]
        async with store.read() as tx:
            assert await tx.database.lost_past() == LostPast(first_task=50, above=9)

    async def test_ids_never_go_back(self, store: Store) -> None:
        await add(store, *(a_task(name=f"t{n}") for n in range(3)))
        await restored(store, after_task=1)
        assert [task.id for task in await add(store, a_task(name="x"))] == [4]

    async def test_an_id_that_was_given_is_never_given_again_though_its_task_is_the_last_and_forgotten(
        self, opener: Opener
    ) -> None:
        store = await opener()
        await restored(store, after_task=2000)
        (task,) = await add(store, a_task(state=TaskState.STOPPED, ended_at=at(1)))
        async with store.write() as tx:
            await tx.tasks.delete(task.id)
        assert [task.id for task in await add(await opener(), a_task())] == [2002]

    async def test_submissions_at_the_same_time_get_ids_of_their_own(self, opener: Opener) -> None:
        first, second = await opener(), await opener()
        await asyncio.gather(
            *(add(which, a_task(name=f"t{n}")) for n, which in enumerate([first, second] * 4)),
            restored(first, after_task=500),
        )
        async with first.read() as tx:
            tasks = await tx.tasks.unfinished()
        assert len({task.id for task in tasks}) == 8


class TestOrigins:
    async def test_every_run_of_the_tasks_is_named_with_its_origin(self, store: Store) -> None:
        one, two, three = await add(store, *(a_task(name=f"t{n}") for n in range(3)))
        await self.run(store, one, 1, None)
        await self.run(store, one, 2, Origin("a1b2", 1))
        await self.run(store, two, 1, Origin("a1b2", 2))
        await self.run(store, three, 1, Origin("a1b2", 2))
        async with store.read() as tx:
            found = await tx.runs.origins([one.id, two.id, TaskId(99)])
            assert await tx.runs.origins([]) == {}
        assert found == {
            RunId("1.1"): None,
            RunId("1.2"): Origin("a1b2", 1),
            RunId("2.1"): Origin("a1b2", 2),
        }

    async def test_thousands_of_tasks_can_be_asked_for(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        await self.run(store, task, 1, Origin("a1b2", 1))
        async with store.read() as tx:
            assert await tx.runs.origins([TaskId(n) for n in range(40_000)]) == {RunId("1.1"): Origin("a1b2", 1)}

    @staticmethod
    async def run(store: Store, task: Task, number: int, origin: Origin | None) -> None:
        task = await get(store, task.id)
        run = replace(a_run(int(task.id), number), origin=origin)
        async with store.write() as tx:
            await tx.tasks.save(replace(task, run=run))
