"""Transactions, submissions and restarts in every store (hai_scheduler/ports, Store and Tx)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from contract.store_kit import MINUTE, Opener, add, checked_out, full_task, get, on_disk, save
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.store import Store, Tx
from hai_scheduler.ports.values import UserRecord
from kit.builders import (
    T0,
    a_quota,
    a_run,
    a_spec,
    a_task,
    an_event,
    at,
)


class TestTransactions:
    async def test_an_exception_takes_everything_back(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 - a whole transaction
            async with store.write() as tx:
                await tx.save_task(replace(task, run=a_run(task.id), held=True))
                await tx.add_task(a_task(), a_spec(), idempotency_key="k")
                await tx.add_event(an_event())
                await tx.put_quota(a_quota())
                await tx.put_user(UserRecord(name="alice"))
                await tx.put_node_mark("node-1", NodeMark.CORDONED)
                await tx.put_setting("paused", "yes")
                await tx.acquire_lease("a", now=T0, length=MINUTE)
                raise ZeroDivisionError
        async with store.write() as tx:
            assert list(await tx.unfinished_tasks()) == [task]
            assert await tx.runs(task.id) == []
            assert await tx.last_event_seq() == 0
            assert await tx.quotas() == []
            assert await tx.users() == []
            assert await tx.node_marks() == {}
            assert await tx.setting("paused") is None
            lease = await tx.acquire_lease("b", now=T0, length=MINUTE)
            assert lease is not None

    async def test_a_transaction_sees_its_own_writes(self, store: Store) -> None:
        async with store.write() as tx:
            task = await tx.add_task(a_task(), a_spec())
            event = await tx.add_event(an_event())
            await tx.put_setting("paused", "yes")
            assert await tx.get_task(task.id) == task
            assert list(await tx.unfinished_tasks()) == [task]
            assert await tx.last_event_seq() == event.seq
            assert await tx.setting("paused") == "yes"

    async def test_a_view_does_not_change_while_others_write(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.read() as view:
            saved = await save(store, replace(task, held=True, run=a_run(task.id)))
            await add(store, a_task())
            async with store.write() as tx:
                await tx.add_event(an_event())
            assert await view.get_task(task.id) == task
            assert list(await view.unfinished_tasks()) == [task]
            assert await view.runs(task.id) == []
            assert await view.last_event_seq() == 0
        assert await get(store, task.id) == saved

    async def test_views_side_by_side_keep_to_their_own_time(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.read() as older:
            newest = await save(store, replace(task, held=True))
            async with store.read() as newer:
                assert list(await newer.unfinished_tasks()) == [newest]
                assert list(await older.unfinished_tasks()) == [task]
                assert list(await newer.unfinished_tasks()) == [newest]

    async def test_what_is_not_committed_is_seen_by_no_other_transaction(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.write() as tx:
            await tx.save_task(replace(task, held=True))
            assert await get(store, task.id) == task

    @pytest.mark.parametrize(
        "change",
        [
            lambda tx: tx.add_task(a_task(), a_spec()),
            lambda tx: tx.save_task(a_task(1, version=1)),
            lambda tx: tx.delete_task(TaskId(1)),
            lambda tx: tx.add_event(an_event()),
            lambda tx: tx.put_quota(a_quota()),
            lambda tx: tx.delete_quota(a_quota()),
            lambda tx: tx.put_user(UserRecord(name="alice")),
            lambda tx: tx.put_node_mark("node-1", NodeMark.CORDONED),
            lambda tx: tx.put_node_mark("node-1", NodeMark.NONE),
            lambda tx: tx.put_setting("paused", "yes"),
            lambda tx: tx.put_setting("paused", None),
            lambda tx: tx.acquire_lease("a", now=T0, length=MINUTE),
            lambda tx: tx.release_lease("a"),
        ],
    )
    async def test_to_write_in_a_view_is_an_error(
        self, store: Store, change: Callable[[Tx], Awaitable[object]]
    ) -> None:
        await add(store, a_task())
        async with store.read() as tx:
            with pytest.raises(RuntimeError, match="read view"):
                await change(tx)

    async def test_to_use_a_transaction_after_its_end_is_an_error(self, store: Store) -> None:
        async with store.write() as written:
            pass
        async with store.read() as read:
            pass
        for tx in (written, read):
            with pytest.raises(RuntimeError, match="is over"):
                await tx.users()

    async def test_writers_come_one_after_the_other_and_lose_nothing(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        async with stores[0].write() as tx:
            await tx.put_setting("n", "0")

        async def count(store: Store) -> None:
            async with store.write() as tx:
                number = int(await tx.setting("n") or 0)
                await asyncio.sleep(0)
                await tx.put_setting("n", str(number + 1))

        await asyncio.gather(*(count(store) for store in stores * 20))
        async with stores[1].read() as tx:
            assert await tx.setting("n") == "40"

    async def test_a_reader_does_not_wait_for_a_writer(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        async with one.write() as tx:
            await tx.put_setting("n", "1")
            async with asyncio.timeout(60), other.read() as view:
                assert await view.setting("n") is None

    @pytest.mark.parametrize("pauses", [*range(12), 15, 20, 30, 50, 80, 120, 200])
    async def test_a_cancelled_transaction_leaves_no_lock_and_no_connection(self, store: Store, pauses: int) -> None:
        (task,) = await add(store, a_task())

        async def work() -> None:
            async with store.write() as tx:
                await tx.save_task(replace(task, held=True))
                await tx.add_event(an_event())
            async with store.read() as tx:
                await tx.unfinished_tasks()

        working = asyncio.create_task(work())
        for _ in range(pauses):
            await asyncio.sleep(0)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        assert checked_out(store) == 0
        async with asyncio.timeout(60), store.write() as tx:
            now = await tx.get_task(task.id)
            # A transaction is written as a whole or not at all.
            assert (now.held, await tx.last_event_seq()) in [(False, 0), (True, 1)]
            await tx.save_task(now)

    async def test_a_writer_that_gives_up_waiting_for_its_turn_does_not_block_others(self, opener: Opener) -> None:
        one, other = await opener(), await opener()

        async def write(store: Store) -> None:
            async with store.write() as tx:
                await tx.put_setting("n", "never")

        async with one.write() as tx:
            waiting = [asyncio.create_task(write(store)) for store in (one, other)]
            for _ in range(50):
                await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await tx.put_setting("n", "first")
        await asyncio.gather(*waiting, return_exceptions=True)
        assert all(task.cancelled() for task in waiting)
        async with asyncio.timeout(60), other.write() as tx:
            assert await tx.setting("n") == "first"


class TestIdempotency:
    async def test_the_same_key_of_the_same_user_gives_the_earlier_task_as_it_is_now(self, store: Store) -> None:
        async with store.write() as tx:
            first = await tx.add_task(a_task(name="first"), a_spec("first"), idempotency_key="k")
        first = await save(store, replace(first, held=True))
        async with store.write() as tx:
            assert await tx.add_task(a_task(name="again"), a_spec("again"), idempotency_key="k") == first
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == [first]
            assert (await tx.get_spec(first.id)).command == ("first",)

    async def test_users_and_keys_stand_apart_and_no_key_means_a_new_task(self, store: Store) -> None:
        async with store.write() as tx:
            keys = [("alice", "k"), ("bob", "k"), ("alice", "l"), ("alice", None), ("alice", None)]
            added = [await tx.add_task(a_task(user=u), a_spec(), idempotency_key=k) for u, k in keys]
        assert len({task.id for task in added}) == 5

    async def test_of_many_at_once_one_is_stored(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]

        async def submit(store: Store) -> Task:
            async with store.write() as tx:
                return await tx.add_task(a_task(), a_spec(), idempotency_key="k")

        tasks = await asyncio.gather(*(submit(store) for store in stores * 5))
        assert len({task.id for task in tasks}) == 1
        async with stores[0].read() as tx:
            assert len(await tx.unfinished_tasks()) == 1

    async def test_a_key_whose_submission_was_rolled_back_is_free(self, store: Store) -> None:
        with suppress(ZeroDivisionError):
            async with store.write() as tx:
                await tx.add_task(a_task(name="lost"), a_spec(), idempotency_key="k")
                raise ZeroDivisionError
        async with store.write() as tx:
            assert (await tx.add_task(a_task(name="kept"), a_spec(), idempotency_key="k")).name == "kept"

    async def test_a_forgotten_task_frees_its_key(self, store: Store) -> None:
        over = a_task(state=TaskState.STOPPED)
        async with store.write() as tx:
            first = await tx.add_task(over, a_spec(), idempotency_key="k")
            await tx.delete_task(first.id)
            assert (await tx.add_task(over, a_spec(), idempotency_key="k")).id > first.id


@on_disk
class TestRestart:
    async def test_everything_committed_is_there_after_closing_and_opening_again(self, opener: Opener) -> None:
        store = await opener()
        (bare,) = await add(store, a_task())
        task = await save(store, replace(full_task(), id=bare.id, version=bare.version))
        async with store.write() as tx:
            keyed = await tx.add_task(a_task(), a_spec("keyed"), idempotency_key="k")
            event = await tx.add_event(an_event(task_id=task.id, data={"a": 1}))
            await tx.put_quota(a_quota())
            await tx.put_user(UserRecord(name="alice", groups=frozenset({"nlp"})))
            await tx.put_node_mark("node-1", NodeMark.DRAINING)
            await tx.put_setting("paused", "yes")
            lease = await tx.acquire_lease("a", now=T0, length=MINUTE)
            assert lease is not None
        await store.close()

        store = await opener()
        async with store.write() as tx:
            assert await tx.get_task(task.id) == task
            assert await tx.runs(task.id) == [task.run]
            assert list(await tx.unfinished_tasks()) == [task, keyed]
            assert await tx.add_task(a_task(), a_spec(), idempotency_key="k") == keyed
            assert await tx.get_spec(keyed.id) == a_spec("keyed")
            assert await tx.events(after=0, limit=9) == [event]
            assert list(await tx.quotas()) == [a_quota()]
            assert list(await tx.users()) == [UserRecord(name="alice", groups=frozenset({"nlp"}))]
            assert await tx.node_marks() == {"node-1": NodeMark.DRAINING}
            assert await tx.setting("paused") == "yes"
            await tx.check_lease(lease.token)
            assert await tx.acquire_lease("b", now=at(1), length=MINUTE) is None
            assert (await tx.add_event(an_event())).seq > event.seq
            assert (await tx.add_task(a_task(), a_spec())).id > keyed.id

    async def test_one_store_sees_what_another_on_the_same_state_has_written(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        (task,) = await add(one, a_task())
        for number in range(3):
            async with other.read() as tx:
                assert list(await tx.unfinished_tasks()) == [task]
            task = await save(one, replace(task, job_state=f"step {number}"))
