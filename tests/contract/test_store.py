"""What every store promises (hai_scheduler/ports.py, Store and Tx), on every adapter."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from builders import (
    T0,
    a_checkpoint,
    a_notice,
    a_quota,
    a_rank,
    a_run,
    a_spec,
    a_task,
    an_event,
    at,
)
from databases import empty_postgres, postgres_url, sqlite_url
from hai_scheduler.adapters.memory.store import MemoryStore
from hai_scheduler.adapters.sql.store import SqlStore, open_store
from hai_scheduler.core.model import NodeMark, Priority, Profile, RankState, Run, Task, TaskId, TaskSpec, TaskState
from hai_scheduler.core.reasons import Reason
from hai_scheduler.ports import Conflict, LeaseLost, NotFound, Store, TaskFilter, Tx, UserRecord

MINUTE = timedelta(minutes=1)
ANY = TaskFilter()

# Every store that a test opens, on the same state.
Opener = Callable[[], Awaitable[Store]]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables: to copy it is faster than to migrate."""
    path = tmp_path_factory.mktemp("template") / "hai.sqlite"

    async def make() -> None:
        await (await open_store(sqlite_url(path))).close()

    asyncio.run(make())
    return path


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def opener(request: pytest.FixtureRequest, tmp_path: Path, template: Path) -> AsyncIterator[Opener]:
    """Opens one and the same state, as often as it is called; no connection may be left checked out at the end."""
    if request.param == "memory":
        memory = MemoryStore()

        async def the_same() -> Store:
            return memory

        yield the_same
        return
    if request.param == "sqlite":
        shutil.copy(template, tmp_path / "hai.sqlite")
        url = sqlite_url(tmp_path / "hai.sqlite")
    else:
        url = postgres_url()
        await (await open_store(url)).close()
        await empty_postgres(url)
    opened: list[SqlStore] = []

    async def open_again() -> Store:
        opened.append(await open_store(url))
        return opened[-1]

    yield open_again
    for store in opened:
        left = checked_out(store)
        await store.close()
        assert left == 0


#: For what only a store on disk can show.
on_disk = pytest.mark.parametrize("opener", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
async def store(opener: Opener) -> Store:
    return await opener()


def checked_out(store: Store) -> int:
    """Connections that somebody holds."""
    return store.engine.pool.checkedout() if isinstance(store, SqlStore) else 0  # type: ignore[attr-defined]


async def add(store: Store, *tasks: Task) -> list[Task]:
    async with store.write() as tx:
        return [await tx.add_task(task, a_spec()) for task in tasks]


async def save(store: Store, task: Task) -> Task:
    async with store.write() as tx:
        return await tx.save_task(task)


async def get(store: Store, number: TaskId) -> Task:
    async with store.read() as tx:
        return await tx.get_task(number)


def names(tasks: Iterable[Task]) -> list[str]:
    return [task.name for task in tasks]


def full_run(number: int = 2) -> Run:
    """A run of task 1 whose every field differs from its default."""
    ranks = (
        a_rank(0, state=RankState.EXITED, exit_code=143, notified_at=at(5), done=True),
        a_rank(1, state=RankState.LOST, message="its node no longer knows of it"),
    )
    return a_run(
        1,
        number,
        ranks=ranks,
        priority=Priority.HIGH,
        started_at=at(1),
        running_at=at(2),
        ended_at=at(9),
        notice=a_notice(Reason.PREEMPTED, at=at(4), beneficiary=TaskId(7), revision=3),
        killed_at=at(8),
        done=True,
        checkpoint=a_checkpoint(12, at=at(6), path="c/12"),
        reason=Reason.PREEMPTED,
        clean=False,
        lost=timedelta(seconds=3.25),
    )


def full_task() -> Task:
    """A task whose every field differs from its default."""
    return a_task(
        name="t.rain_1",
        user="bob",
        group="big",
        priority=Priority.VERY_HIGH,
        nodes=2,
        submitted_at=T0 + timedelta(microseconds=1),
        place=at(1),
        profile=Profile.SLURM,
        grace=timedelta(seconds=7.5),
        time_limit=timedelta(hours=3),
        state=TaskState.SUSPENDED,
        held=True,
        custom_rank=0.1,
        run=full_run(),
        served=timedelta(seconds=8),
        suspensions=4,
        avoid=frozenset({"node-9", "node-8"}),
        promise=frozenset({"node-3"}),
        failed_starts=2,
        checkpoint=a_checkpoint(12, at=at(6), path="c/12"),
        job_state="epoch 3 – ä",
        reason=Reason.PREEMPTED,
        ended_at=at(10),
    )


class TestTasks:
    async def test_a_new_task_gets_an_id_and_a_version_and_is_read_back_as_returned(self, store: Store) -> None:
        (added,) = await add(store, a_task(99))
        assert added == replace(a_task(99), id=added.id, version=added.version)
        assert added.version > 0
        assert await get(store, added.id) == added

    async def test_ids_grow_and_are_never_given_twice(self, store: Store) -> None:
        first, second = await add(store, a_task(state=TaskState.STOPPED), a_task(state=TaskState.STOPPED))
        async with store.write() as tx:
            await tx.delete_task(second.id)
        (third,) = await add(store, a_task())
        assert first.id < second.id < third.id

    async def test_every_field_of_a_task_and_its_run_comes_back(self, store: Store) -> None:
        (bare,) = await add(store, a_task())
        task = replace(full_task(), id=bare.id, version=bare.version)
        plain = a_task(id=bare.id)
        same = [name for name in task.__dataclass_fields__ if getattr(task, name) == getattr(plain, name)]
        assert same == ["id"], "give these a value in full_task()"
        assert task.run is not None
        live = a_run(1)
        same = [name for name in live.__dataclass_fields__ if getattr(task.run, name) == getattr(live, name)]
        assert same == [], "give these a value in full_run()"
        saved = await save(store, task)
        assert saved == replace(task, version=saved.version)
        assert await get(store, bare.id) == saved

    async def test_fields_can_be_emptied_again(self, store: Store) -> None:
        (bare,) = await add(store, a_task())
        full = await save(store, replace(full_task(), id=bare.id, version=bare.version))
        empty = await save(store, replace(a_task(id=bare.id), version=full.version))
        assert await get(store, bare.id) == empty
        assert empty.run is None

    async def test_auto_priority_is_kept(self, store: Store) -> None:
        (task,) = await add(store, a_task(priority=None))
        assert (await get(store, task.id)).priority is None

    async def test_a_job_state_with_characters_that_databases_refuse_does_not_stand_in_the_way(
        self, store: Store
    ) -> None:
        (task,) = await add(store, a_task())
        odd = "a\0b\ud800c\U0001f600"
        await save(store, replace(task, job_state=odd, checkpoint=a_checkpoint(2**80, path="p\0\udfff")))
        read = await get(store, task.id)
        assert read.job_state is not None
        assert read.job_state.replace("\ufffd", "").translate({0: None, 0xD800: None}) == "abc\U0001f600"
        assert read.checkpoint == a_checkpoint(2**80, path="p\0\udfff")

    async def test_a_spec_comes_back_and_nobody_shares_its_dict(self, store: Store) -> None:
        spec = TaskSpec(
            command=("python", "a b.py", "--x=ä"),
            cwd="/home/alice/ü",
            env={"A": "1", "LONG": "x" * 10_000},
            checkpoint_dir="/ckpt",
            tags=("nlp", "a,b"),
        )
        async with store.write() as tx:
            task = await tx.add_task(a_task(), spec)
            given = await tx.get_spec(task.id)
            given.env["B"] = "2"
        spec.env["C"] = "3"
        async with store.read() as tx:
            assert (await tx.get_spec(task.id)).env.keys() == {"A", "LONG"}
            spec.env.pop("C")
            assert await tx.get_spec(task.id) == spec

    async def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        nowhere = TaskId(12345)
        async with store.write() as tx:
            with pytest.raises(NotFound):
                await tx.get_task(nowhere)
            with pytest.raises(NotFound):
                await tx.get_spec(nowhere)
            with pytest.raises(NotFound):
                await tx.save_task(a_task(nowhere))
            with pytest.raises(NotFound):
                await tx.delete_task(nowhere)
            assert await tx.runs(nowhere) == []
            assert await tx.find_task("alice", "nothing") is None

    async def test_runs_are_kept_by_number_and_the_task_shows_the_latest(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        first = a_run(task.id, 1, ended_at=at(5))
        task = await save(store, replace(task, run=a_run(task.id, 1)))
        task = await save(store, replace(task, run=first))
        task = await save(store, replace(task, run=a_run(task.id, 2, started_at=at(9))))
        async with store.read() as tx:
            assert await tx.runs(task.id) == [first, task.run]
            assert (await tx.get_task(task.id)).run == task.run
            assert (await tx.unfinished_tasks())[0].run == task.run

    async def test_unfinished_tasks_are_all_that_have_not_ended_by_id(self, store: Store) -> None:
        tasks = await add(store, *(a_task(name=state.value, state=state) for state in TaskState))
        async with store.read() as tx:
            unfinished = await tx.unfinished_tasks()
            assert names(unfinished) == [state.value for state in TaskState if not state.ended]
            assert list(unfinished) == [task for task in tasks if not task.state.ended]
            assert await tx.count_tasks("alice") == len(unfinished)
            assert await tx.count_tasks("bob") == 0

    async def test_unfinished_tasks_follow_every_change(self, store: Store) -> None:
        one, two, three = await add(store, a_task(name="1"), a_task(name="2"), a_task(name="3"))
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == [one, two, three]
        two = await save(store, replace(two, held=True))
        await save(store, replace(one, state=TaskState.STOPPED, ended_at=at(1), reason=Reason.USER_STOPPED))
        (four,) = await add(store, a_task(name="4"))
        async with store.write() as tx:
            assert list(await tx.unfinished_tasks()) == [two, three, four]
            three = await tx.save_task(replace(three, served=MINUTE))
            assert list(await tx.unfinished_tasks()) == [two, three, four]
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == [two, three, four]

    async def test_what_was_rolled_back_is_never_seen_in_unfinished_tasks(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        with suppress(ZeroDivisionError):
            async with store.write() as tx:
                await tx.save_task(replace(task, job_state="rolled back"))
                assert (await tx.unfinished_tasks())[0].job_state == "rolled back"
                raise ZeroDivisionError
        kept = await save(store, replace(task, job_state="kept"))
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == [kept]

    async def test_a_name_means_the_unfinished_task_before_any_ended_one_and_the_latest_before_others(
        self, store: Store
    ) -> None:
        over = {"state": TaskState.SUCCEEDED}
        await add(store, a_task(name="a"), a_task(name="a", **over), a_task(name="b", **over))
        await add(store, a_task(name="b", **over), a_task(name="c"), a_task(name="c"), a_task(name="c", user="bob"))
        async with store.read() as tx:
            found = {name: await tx.find_task("alice", name) for name in "abcd"}
            assert {name: task and task.id for name, task in found.items()} == {"a": 1, "b": 4, "c": 6, "d": None}
            theirs = await tx.find_task("bob", "c")
            assert theirs is not None
            assert theirs.id == 7

    async def test_tasks_are_listed_newest_first_in_pages(self, store: Store) -> None:
        await add(store, *(a_task(name=f"t{n}") for n in range(1, 8)))
        pages: list[list[str]] = []
        before = None
        async with store.read() as tx:
            while page := await tx.list_tasks(ANY, before=before, limit=3):
                pages.append(names(page))
                before = page[-1].id
        assert pages == [["t7", "t6", "t5"], ["t4", "t3", "t2"], ["t1"]]

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            (TaskFilter(), "5 4 3 2 1"),
            (TaskFilter(user="bob"), "5 2"),
            (TaskFilter(states=frozenset({TaskState.QUEUED, TaskState.FAILED})), "5 4 3 1"),
            (TaskFilter(states=frozenset()), ""),
            (TaskFilter(group="big"), "3"),
            (TaskFilter(priority="HIGH"), "2"),
            (TaskFilter(priority="AUTO"), "4"),
            (TaskFilter(priority="NO_SUCH_LEVEL"), ""),
            (TaskFilter(name="BERT"), "2 1"),
            (TaskFilter(name="_"), "3"),
            (TaskFilter(name="%"), ""),
            (TaskFilter(name="bert", user="bob", states=frozenset({TaskState.RUNNING})), "2"),
        ],
        ids=str,
    )
    async def test_a_filter_keeps_what_fits_all_of_it(self, store: Store, where: TaskFilter, found: str) -> None:
        await add(
            store,
            a_task(name="bert-large"),
            a_task(name="my-BERT", user="bob", state=TaskState.RUNNING, priority=Priority.HIGH),
            a_task(name="gpt_2", group="big"),
            a_task(name="auto", priority=None),
            a_task(name="gone", user="bob", state=TaskState.FAILED),
        )
        async with store.read() as tx:
            assert " ".join(str(task.id) for task in await tx.list_tasks(where, before=None, limit=10)) == found

    async def test_ended_tasks_are_given_oldest_end_first(self, store: Store) -> None:
        ends = {"late": 30, "early": 10, "middle": 20, "too late": 40}
        over = (a_task(name=name, state=TaskState.FAILED, ended_at=at(end)) for name, end in ends.items())
        await add(store, *over, a_task(name="waits"))
        async with store.read() as tx:
            assert names(await tx.ended_before(at(40), limit=10)) == ["early", "middle", "late"]
            assert names(await tx.ended_before(at(40), limit=2)) == ["early", "middle"]

    async def test_a_forgotten_task_takes_spec_and_runs_along_but_not_its_events(self, store: Store) -> None:
        gone, other = await add(store, a_task(state=TaskState.RUNNING), a_task(state=TaskState.RUNNING))
        over = replace(gone, state=TaskState.STOPPED, ended_at=at(1))
        async with store.write() as tx:
            await tx.save_task(over)
            await tx.add_event(an_event(task_id=gone.id))
            await tx.delete_task(gone.id)
        async with store.read() as tx:
            with pytest.raises(NotFound):
                await tx.get_task(gone.id)
            with pytest.raises(NotFound):
                await tx.get_spec(gone.id)
            assert await tx.runs(gone.id) == []
            assert len(await tx.events(after=0, limit=10, task_id=gone.id)) == 1
            assert await tx.get_task(other.id) == other
            assert len(await tx.runs(other.id)) == 1

    async def test_a_task_that_has_not_ended_is_not_forgotten(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        with pytest.raises(Conflict):
            async with store.write() as tx:
                await tx.delete_task(task.id)
        assert await get(store, task.id) == task

    async def test_a_thousand_tasks_come_back(self, store: Store) -> None:
        states = [TaskState.QUEUED, TaskState.RUNNING, TaskState.SUSPENDED]
        added = await add(store, *(a_task(name=f"t{n}", state=states[n % 3], nodes=2) for n in range(1000)))
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == added
        async with store.write() as tx:
            changed = [await tx.save_task(replace(task, held=True)) for task in added]
        async with store.read() as tx:
            assert list(await tx.unfinished_tasks()) == changed


class TestVersions:
    async def test_a_save_gives_the_next_version(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        saved = await save(store, replace(task, held=True))
        assert saved.version > task.version
        assert (await save(store, saved)).version > saved.version

    async def test_a_save_with_an_older_version_is_a_conflict_and_changes_nothing(self, store: Store) -> None:
        (task,) = await add(store, a_task())
        newer = await save(store, replace(task, held=True))
        with pytest.raises(Conflict):
            await save(store, replace(task, run=a_run(task.id), job_state="lost"))
        async with store.read() as tx:
            assert await tx.get_task(task.id) == newer
            assert await tx.runs(task.id) == []

    async def test_a_conflict_takes_everything_else_in_the_transaction_back(self, store: Store) -> None:
        one, two = await add(store, a_task(), a_task())
        await save(store, replace(two, held=True))
        with pytest.raises(Conflict):  # noqa: PT012 - a whole transaction
            async with store.write() as tx:
                await tx.save_task(replace(one, held=True))
                await tx.save_task(two)
        assert await get(store, one.id) == one


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

    async def test_what_is_not_committed_is_seen_by_nobody_else(self, store: Store) -> None:
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
            async with asyncio.timeout(10), other.read() as view:
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
        async with asyncio.timeout(10), store.write() as tx:
            now = await tx.get_task(task.id)
            # All of it or nothing.
            assert (now.held, await tx.last_event_seq()) in [(False, 0), (True, 1)]
            await tx.save_task(now)

    async def test_one_who_gives_up_waiting_for_his_turn_stands_in_nobodys_way(self, opener: Opener) -> None:
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
        async with asyncio.timeout(10), other.write() as tx:
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


class TestEvents:
    async def test_events_come_back_whole_in_order_and_in_pages(self, store: Store) -> None:
        data = {"from": "queued", "n": 1, "x": 0.5, "list": [1, None, {"deep": "ä\0"}], "yes": True}
        async with store.write() as tx:
            added = [await tx.add_event(an_event(f"k{n}", task_id=TaskId(n), data=data)) for n in range(5)]
        async with store.read() as tx:
            assert await tx.events(after=0, limit=3) == added[:3]
            assert await tx.events(after=added[2].seq, limit=3) == added[3:]
            assert await tx.events(after=added[4].seq, limit=3) == []
            assert await tx.last_event_seq() == added[4].seq
        assert [event.seq for event in added] == sorted({event.seq for event in added})

    async def test_a_user_sees_his_own_and_the_clusters(self, store: Store) -> None:
        async with store.write() as tx:
            for kind, user in {"mine": "alice", "theirs": "bob", "ours": None}.items():
                await tx.add_event(an_event(kind, user=user, task_id=TaskId(1)))
            await tx.add_event(an_event("other task", task_id=TaskId(2)))
        async with store.read() as tx:
            seen = await tx.events(after=0, limit=9, user="alice")
            assert [event.kind for event in seen] == ["mine", "ours", "other task"]
            seen = await tx.events(after=0, limit=9, user="alice", task_id=TaskId(1))
            assert [event.kind for event in seen] == ["mine", "ours"]

    async def test_nobody_shares_an_events_data(self, store: Store) -> None:
        data = {"list": [1]}
        async with store.write() as tx:
            await tx.add_event(an_event(data=data))
        data["list"].append(2)
        async with store.read() as tx:
            assert (await tx.events(after=0, limit=1))[0].data == {"list": [1]}

    async def test_data_that_is_not_json_is_refused(self, store: Store) -> None:
        for odd in (T0, float("nan"), {1, 2}):
            with pytest.raises(Exception, match="JSON"):
                async with store.write() as tx:
                    await tx.add_event(an_event(data={"odd": odd}))

    async def test_whoever_follows_the_feed_misses_nothing_while_many_write(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        total = 60

        async def write(store: Store, number: int) -> None:
            async with store.write() as tx:
                await tx.add_event(an_event(f"e{number}"))
                await asyncio.sleep(0)

        async def follow(store: Store) -> list[int]:
            seen: list[int] = []
            while len(seen) < total:
                async with store.read() as tx:
                    seen += [event.seq for event in await tx.events(after=seen[-1] if seen else 0, limit=7)]
                await asyncio.sleep(0)
            return seen

        async with asyncio.timeout(30):
            following = [asyncio.create_task(follow(store)) for store in stores]
            await asyncio.gather(*(write(stores[n % 2], n) for n in range(total)))
            first, second = await asyncio.gather(*following)
        assert first == second == sorted(set(first))


class TestFacts:
    async def test_quotas_are_rows_by_subject_group_and_priority(self, store: Store) -> None:
        rows = [
            a_quota("group:z", limit=None),
            a_quota("public", group="big", limit=0),
            a_quota("public", priority=Priority.LOW),
            a_quota("public", priority=Priority.HIGH),
            a_quota("user:Zoe"),
            a_quota("user:alice", limit=9),
        ]
        async with store.write() as tx:
            for row in reversed(rows):
                await tx.put_quota(row)
            await tx.put_quota(a_quota("user:alice", limit=9))
        async with store.write() as tx:
            assert list(await tx.quotas()) == rows
            assert await tx.delete_quota(a_quota("public", priority=Priority.LOW, limit=12345))
            assert not await tx.delete_quota(a_quota("public", priority=Priority.LOW))
            assert list(await tx.quotas()) == [row for row in rows if row != rows[2]]

    async def test_a_user_is_as_last_written(self, store: Store) -> None:
        async with store.write() as tx:
            await tx.put_user(UserRecord(name="bob", groups=frozenset({"old"})))
            await tx.put_user(UserRecord(name="alice"))
            await tx.put_user(UserRecord(name="bob", groups=frozenset({"nlp", "vision"})))
        async with store.read() as tx:
            bob = UserRecord(name="bob", groups=frozenset({"nlp", "vision"}))
            assert list(await tx.users()) == [UserRecord(name="alice"), bob]

    async def test_a_node_is_marked_until_the_mark_is_taken_away(self, store: Store) -> None:
        async with store.write() as tx:
            await tx.put_node_mark("node-1", NodeMark.CORDONED)
            await tx.put_node_mark("node-2", NodeMark.CORDONED)
            await tx.put_node_mark("node-2", NodeMark.DRAINING)
            await tx.put_node_mark("node-1", NodeMark.NONE)
            await tx.put_node_mark("node-3", NodeMark.NONE)
        async with store.read() as tx:
            assert await tx.node_marks() == {"node-2": NodeMark.DRAINING}

    async def test_a_setting_is_written_replaced_and_removed(self, store: Store) -> None:
        async with store.write() as tx:
            assert await tx.setting("paused") is None
            for value in ("a", "", "b"):
                await tx.put_setting("paused", value)
                assert await tx.setting("paused") == value
            await tx.put_setting("paused", None)
            await tx.put_setting("paused", None)
            assert await tx.setting("paused") is None


class TestLease:
    async def acquire(self, store: Store, holder: str, now: datetime = T0) -> int | None:
        async with store.write() as tx:
            lease = await tx.acquire_lease(holder, now=now, length=MINUTE)
        assert lease is None or (lease.holder, lease.expires_at) == (holder, now + MINUTE)
        return None if lease is None else lease.token

    async def test_one_holds_it_until_it_expires(self, store: Store) -> None:
        assert await self.acquire(store, "a") is not None
        assert await self.acquire(store, "b", at(59.999)) is None
        assert await self.acquire(store, "b", at(60)) is not None

    async def test_the_holder_extends_it_under_the_same_token(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert await self.acquire(store, "a", at(30)) == token
        assert await self.acquire(store, "b", at(60)) is None
        assert await self.acquire(store, "a", at(300)) == token

    async def test_the_token_grows_with_the_holder_and_fences_the_old_one_off(self, store: Store) -> None:
        old = await self.acquire(store, "a")
        new = await self.acquire(store, "b", at(61))
        assert old is not None
        assert new is not None
        assert new > old
        (task,) = await add(store, a_task())
        with pytest.raises(LeaseLost):  # noqa: PT012 - a whole transaction
            async with store.write() as tx:
                await tx.save_task(replace(task, held=True))
                await tx.check_lease(old)
        assert await get(store, task.id) == task
        async with store.write() as tx:
            await tx.check_lease(new)
        back = await self.acquire(store, "a", at(200))
        assert back is not None
        assert back > new

    async def test_an_expired_lease_that_nobody_took_is_still_the_holders(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert token is not None
        async with store.write() as tx:
            await tx.check_lease(token)

    async def test_without_any_lease_no_token_is_good(self, store: Store) -> None:
        async with store.write() as tx:
            for token in (0, 1):
                with pytest.raises(LeaseLost):
                    await tx.check_lease(token)

    async def test_a_lease_given_up_is_free_at_once_and_its_token_worthless(self, store: Store) -> None:
        token = await self.acquire(store, "a")
        assert token is not None
        async with store.write() as tx:
            await tx.release_lease("b")
            await tx.check_lease(token)
            await tx.release_lease("a")
        with pytest.raises(LeaseLost):
            async with store.write() as tx:
                await tx.check_lease(token)
        again = await self.acquire(store, "b", at(1))
        assert again is not None
        assert again > token

    async def test_a_check_holds_until_the_transaction_ends(self, opener: Opener) -> None:
        one, other = await opener(), await opener()
        token = await self.acquire(one, "a")
        assert token is not None
        async with one.write() as tx:
            await tx.check_lease(token)
            stealing = asyncio.create_task(self.acquire(other, "b", at(100)))
            for _ in range(50):
                await asyncio.sleep(0)
            assert not stealing.done()
            await tx.check_lease(token)
            await tx.put_setting("written by", "a")
        assert await stealing is not None

    async def test_of_many_at_once_one_gets_it(self, opener: Opener) -> None:
        stores = [await opener(), await opener()]
        tokens = await asyncio.gather(*(self.acquire(stores[n % 2], f"h{n}") for n in range(10)))
        assert sum(token is not None for token in tokens) == 1


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
