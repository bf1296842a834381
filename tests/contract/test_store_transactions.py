"""Transactions, submissions and restarts in every store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from contract.store_kit import MINUTE, Opener, add, checked_out, full_task, get, save
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import NodeMark
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx
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
                await tx.tasks.save(replace(task, run=a_run(task.id), held=True))
                await tx.tasks.add(a_task(), a_spec(), idempotency_key="k")
                await tx.events.add(an_event())
                await tx.quotas.put(a_quota())
                await tx.users.put(UserRecord(name="alice"))
                await tx.nodes.put_mark("node-1", NodeMark.CORDONED)
                await tx.settings.put("paused", "yes")
                await tx.lease.acquire("a", now=T0, length=MINUTE)
                raise ZeroDivisionError
        async with store.write() as tx:
            assert list(await tx.tasks.unfinished()) == [task]
            assert await tx.runs.of_task(task.id) == []
            assert await tx.events.last_seq() == 0
            assert await tx.quotas.all() == []
            assert await tx.users.all() == []
            assert await tx.nodes.marks() == {}
            assert await tx.settings.get("paused") is None
            lease = await tx.lease.acquire("b", now=T0, length=MINUTE)
            assert lease is not None

    async def test_a_transaction_sees_its_own_writes(self, store: Store) -> None:
        async with store.write() as tx:
            task = await tx.tasks.add(a_task(), a_spec())
            event = await tx.events.add(an_event())
            await tx.settings.put("paused", "yes")
            assert await tx.tasks.get(task.id) == task
            assert list(await tx.tasks.unfinished()) == [task]
            assert await tx.events.last_seq() == event.seq
            assert await tx.settings.get("paused") == "yes"

    async def test_a_view_does_not_change_while_others_write(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.read() as view:
            saved = await save(store, replace(task, held=True, run=a_run(task.id)))
            await add(store, a_task())
            async with store.write() as tx:
                await tx.events.add(an_event())
            assert await view.tasks.get(task.id) == task
            assert list(await view.tasks.unfinished()) == [task]
            assert await view.runs.of_task(task.id) == []
            assert await view.events.last_seq() == 0
        assert await get(store, task.id) == saved

    async def test_views_side_by_side_keep_to_their_own_time(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.read() as older:
            newest = await save(store, replace(task, held=True))
            async with store.read() as newer:
                assert list(await newer.tasks.unfinished()) == [newest]
                assert list(await older.tasks.unfinished()) == [task]
                assert list(await newer.tasks.unfinished()) == [newest]

    async def test_what_is_not_committed_is_seen_by_no_other_transaction(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        async with store.write() as tx:
            await tx.tasks.save(replace(task, held=True))
            assert await get(store, task.id) == task

    @pytest.mark.parametrize(
        "change",
        [
            lambda tx: tx.tasks.add(a_task(), a_spec()),
            lambda tx: tx.tasks.save(a_task(1, version=1)),
            lambda tx: tx.tasks.delete(TaskId(1)),
            lambda tx: tx.events.add(an_event()),
            lambda tx: tx.quotas.put(a_quota()),
            lambda tx: tx.quotas.delete(a_quota()),
            lambda tx: tx.users.put(UserRecord(name="alice")),
            lambda tx: tx.nodes.put_mark("node-1", NodeMark.CORDONED),
            lambda tx: tx.nodes.put_mark("node-1", NodeMark.NONE),
            lambda tx: tx.settings.put("paused", "yes"),
            lambda tx: tx.settings.put("paused", None),
            lambda tx: tx.lease.acquire("a", now=T0, length=MINUTE),
            lambda tx: tx.lease.release("a"),
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
                await tx.users.all()

    async def test_writers_come_one_after_the_other_and_lose_nothing(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        async with stores[0].write() as tx:
            await tx.settings.put("n", "0")

        async def count(store: Store) -> None:
            async with store.write() as tx:
                number = int(await tx.settings.get("n") or 0)
                await asyncio.sleep(0)
                await tx.settings.put("n", str(number + 1))

        await asyncio.gather(*(count(store) for store in stores * 20))
        async with stores[1].read() as tx:
            assert await tx.settings.get("n") == "40"

    async def test_a_reader_does_not_wait_for_a_writer(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        async with one.write() as tx:
            await tx.settings.put("n", "1")
            async with asyncio.timeout(60), other.read() as view:
                assert await view.settings.get("n") is None

    @pytest.mark.parametrize("pauses", [*range(12), 15, 20, 30, 50, 80, 120, 200])
    async def test_a_cancelled_transaction_leaves_no_lock_and_no_connection(self, store: Store, pauses: int) -> None:
        (task,) = await add(store, a_task())

        async def work() -> None:
            async with store.write() as tx:
                await tx.tasks.save(replace(task, held=True))
                await tx.events.add(an_event())
            async with store.read() as tx:
                await tx.tasks.unfinished()

        working = asyncio.create_task(work())
        for _ in range(pauses):
            await asyncio.sleep(0)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        assert checked_out(store) == 0
        async with asyncio.timeout(60), store.write() as tx:
            now = await tx.tasks.get(task.id)
            # A transaction is written as a whole or not at all.
            assert (now.held, await tx.events.last_seq()) in [(False, 0), (True, 1)]
            await tx.tasks.save(now)

    async def test_a_writer_that_gives_up_waiting_for_its_turn_does_not_block_others(self, opener: Opener) -> None:
        one, other = await opener(), await opener()

        async def write(store: Store) -> None:
            async with store.write() as tx:
                await tx.settings.put("n", "never")

        async with one.write() as tx:
            waiting = [asyncio.create_task(write(store)) for store in (one, other)]
            for _ in range(50):
                await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await tx.settings.put("n", "first")
        await asyncio.gather(*waiting, return_exceptions=True)
        assert all(task.cancelled() for task in waiting)
        async with asyncio.timeout(60), other.write() as tx:
            assert await tx.settings.get("n") == "first"


class TestIdempotency:
    async def test_the_same_key_of_the_same_user_gives_the_earlier_task_as_it_is_now(self, store: Store) -> None:
        async with store.write() as tx:
            first = await tx.tasks.add(a_task(name="first"), a_spec("first"), idempotency_key="k")
        first = await save(store, replace(first, held=True))
        async with store.write() as tx:
            assert await tx.tasks.add(a_task(name="again"), a_spec("again"), idempotency_key="k") == first
        async with store.read() as tx:
            assert list(await tx.tasks.unfinished()) == [first]
            assert (await tx.tasks.get_spec(first.id)).command == ("first",)

    async def test_users_and_keys_stand_apart_and_no_key_means_a_new_task(self, store: Store) -> None:
        async with store.write() as tx:
            keys = [("alice", "k"), ("bob", "k"), ("alice", "l"), ("alice", None), ("alice", None)]
            added = [await tx.tasks.add(a_task(user=u), a_spec(), idempotency_key=k) for u, k in keys]
        assert len({task.id for task in added}) == 5

    async def test_of_many_at_once_one_is_stored(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]

        async def submit(store: Store) -> Task:
            async with store.write() as tx:
                return await tx.tasks.add(a_task(), a_spec(), idempotency_key="k")

        tasks = await asyncio.gather(*(submit(store) for store in stores * 5))
        assert len({task.id for task in tasks}) == 1
        async with stores[0].read() as tx:
            assert len(await tx.tasks.unfinished()) == 1

    async def test_a_key_whose_submission_was_rolled_back_is_free(self, store: Store) -> None:
        with suppress(ZeroDivisionError):
            async with store.write() as tx:
                await tx.tasks.add(a_task(name="lost"), a_spec(), idempotency_key="k")
                raise ZeroDivisionError
        async with store.write() as tx:
            assert (await tx.tasks.add(a_task(name="kept"), a_spec(), idempotency_key="k")).name == "kept"

    async def test_a_forgotten_task_frees_its_key(self, store: Store) -> None:
        over = a_task(state=TaskState.STOPPED)
        async with store.write() as tx:
            first = await tx.tasks.add(over, a_spec(), idempotency_key="k")
            await tx.tasks.delete(first.id)
            assert (await tx.tasks.add(over, a_spec(), idempotency_key="k")).id > first.id


class TestRestart:
    async def test_everything_committed_is_there_after_closing_and_opening_again(self, opener: Opener) -> None:
        store = await opener()
        (bare,) = await add(store, a_task())
        task = await save(store, replace(full_task(), id=bare.id, version=bare.version))
        async with store.write() as tx:
            keyed = await tx.tasks.add(a_task(), a_spec("keyed"), idempotency_key="k")
            event = await tx.events.add(an_event(task_id=task.id, data={"a": 1}))
            await tx.quotas.put(a_quota())
            await tx.users.put(UserRecord(name="alice", groups=frozenset({"nlp"})))
            await tx.nodes.put_mark("node-1", NodeMark.DRAINING)
            await tx.settings.put("paused", "yes")
            lease = await tx.lease.acquire("a", now=T0, length=MINUTE)
            assert lease is not None
        await store.close()

        store = await opener()
        async with store.write() as tx:
            assert await tx.tasks.get(task.id) == task
            assert await tx.runs.of_task(task.id) == [task.run]
            assert list(await tx.tasks.unfinished()) == [task, keyed]
            assert await tx.tasks.add(a_task(), a_spec(), idempotency_key="k") == keyed
            assert await tx.tasks.get_spec(keyed.id) == a_spec("keyed")
            assert await tx.events.page(after=0, limit=9) == [event]
            assert list(await tx.quotas.all()) == [a_quota()]
            assert list(await tx.users.all()) == [UserRecord(name="alice", groups=frozenset({"nlp"}))]
            assert await tx.nodes.marks() == {"node-1": NodeMark.DRAINING}
            assert await tx.settings.get("paused") == "yes"
            await tx.lease.check(lease.token)
            assert await tx.lease.acquire("b", now=at(1), length=MINUTE) is None
            assert (await tx.events.add(an_event())).seq > event.seq
            assert (await tx.tasks.add(a_task(), a_spec())).id > keyed.id

    async def test_one_store_sees_what_another_on_the_same_state_has_written(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        (task,) = await add(one, a_task())
        for number in range(3):
            async with other.read() as tx:
                assert list(await tx.tasks.unfinished()) == [task]
            task = await save(one, replace(task, job_state=f"step {number}"))
