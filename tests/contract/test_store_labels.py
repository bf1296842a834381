"""Tags, stars, and lists of tasks by them and in any order, in every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contract.store_kit import add
from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import Task, TaskState
from hai_scheduler.ports.errors import Absent
from hai_scheduler.ports.values import NewTask, TaskFilter, TaskKey, TaskSort, sort_value
from hai_scheduler.store.store import Store
from kit.builders import a_spec, a_task, at

ANY = TaskFilter()


async def tagged(store: Store, *tags: tuple[str, ...], **fields: object) -> list[Task]:
    """Tasks with those tags."""
    async with store.write() as tx:
        return list(
            await tx.tasks.add_all([NewTask(task=a_task(**fields), spec=a_spec("x", tags=some)) for some in tags])
        )


async def found(store: Store, where: TaskFilter) -> list[int]:
    async with store.read() as tx:
        page = [task.id for task in await tx.tasks.page(where, before=None, limit=100)]
        assert await tx.tasks.count(where) == len(page)
        assert [task.id for task in await tx.tasks.sorted_page(where, TaskSort(), after=None, limit=100)] == page
    return page


class TestTags:
    async def test_tags_of_a_submission_are_found_and_kept_in_their_order(self, store: Store) -> None:
        one, two, bare = await tagged(store, ("sweep", "a"), ("sweep",), ())
        async with store.read() as tx:
            assert await tx.labels.tags([one.id, bare.id]) == {one.id: ("sweep", "a")}
            assert await tx.labels.tags([]) == {}
        assert await found(store, TaskFilter(tag="sweep")) == [two.id, one.id]
        assert await found(store, TaskFilter(tag="swee")) == []

    async def test_new_tags_take_the_place_of_the_old_ones(self, store: Store) -> None:
        (task,) = await tagged(store, ("old", "both"))
        for tags in (("both", "ü'%_"), ("both", "both"), ()):
            async with store.write() as tx:
                await tx.labels.put_tags(task.id, tags)
            async with store.read() as tx:
                assert (await tx.labels.tags([task.id])).get(task.id, ()) == tags
                assert (await tx.tasks.get_spec(task.id)).tags == tags
            for tag in ("old", "both", "ü'%_"):
                assert await found(store, TaskFilter(tag=tag)) == ([task.id] if tag in tags else [])

    async def test_tags_of_no_task_are_refused(self, store: Store) -> None:
        with pytest.raises(Absent):
            async with store.write() as tx:
                await tx.labels.put_tags(TaskId(9), ("a",))


class TestStars:
    async def test_each_user_has_their_own_stars(self, store: Store) -> None:
        one, two = await add(store, a_task(), a_task())
        async with store.write() as tx:
            for _ in range(2):
                await tx.labels.put_star("alice", one.id, starred=True)
            await tx.labels.put_star("bob", two.id, starred=True)
            await tx.labels.put_star("bob", one.id, starred=False)
        async with store.read() as tx:
            assert await tx.labels.starred("alice", [one.id, two.id]) == {one.id}
            assert await tx.labels.starred("bob", [one.id, two.id]) == {two.id}
            assert await tx.labels.starred("alice", []) == frozenset()
        assert await found(store, TaskFilter(starred_by="alice")) == [one.id]
        async with store.write() as tx:
            await tx.labels.put_star("alice", one.id, starred=False)
        assert await found(store, TaskFilter(starred_by="alice")) == []

    async def test_tags_and_stars_go_with_their_task(self, store: Store) -> None:
        (task,) = await tagged(store, ("a",), state=TaskState.STOPPED, ended_at=at(1))
        async with store.write() as tx:
            await tx.labels.put_star("alice", task.id, starred=True)
        async with store.write() as tx:
            await tx.tasks.delete(task.id)
        async with store.read() as tx:
            assert await tx.labels.tags([task.id]) == {}
            assert await tx.labels.starred("alice", [task.id]) == frozenset()


class TestLists:
    async def test_a_text_is_looked_for_in_names_users_and_tags_and_is_the_number_of_a_task(self, store: Store) -> None:
        (one,) = await tagged(store, ("Sweep",), name="train", user="alice")
        (two,) = await tagged(store, ("x0%",), name="Trial", user="bob")
        assert await found(store, TaskFilter(text="TR")) == [two.id, one.id]
        assert await found(store, TaskFilter(text="sweep")) == [one.id]
        assert await found(store, TaskFilter(text="BOB")) == [two.id]
        assert await found(store, TaskFilter(text="0%")) == [two.id]
        assert await found(store, TaskFilter(text="_")) == []
        assert await found(store, TaskFilter(text=str(one.id))) == [one.id]
        assert await found(store, TaskFilter(text="9" * 40)) == []

    @pytest.mark.parametrize("falling", [True, False])
    @pytest.mark.parametrize("key", TaskKey)
    async def test_pages_in_any_order_have_each_task_once(self, store: Store, key: TaskKey, falling: bool) -> None:
        tasks = await add(
            store,
            *(
                a_task(
                    name=name,
                    user=user,
                    nodes=nodes,
                    priority=priority,
                    served=timedelta(seconds=nodes),
                    state=TaskState.STOPPED if user == "bob" else TaskState.QUEUED,
                    ended_at=at(nodes) if user == "bob" else None,
                )
                for name, user, nodes, priority in (
                    ("b", "bob", 2, None),
                    ("a", "alice", 2, Priority.LOW),
                    ("B", "bob", 1, Priority.HIGH),
                    ("a-b", "alice", 3, Priority.HIGH),
                    ("a.b", "bob", 2, Priority.NORMAL),
                )
            ),
        )
        expected = sorted(tasks, key=lambda task: (sort_value(task, key), task.id), reverse=falling)
        seen: list[Task] = []
        async with store.read() as tx:
            after = None
            while page := await tx.tasks.sorted_page(ANY, TaskSort(key=key, falling=falling), after=after, limit=2):
                seen += page
                after = sort_value(page[-1], key), page[-1].id
        assert [task.id for task in seen] == [task.id for task in expected]
        assert seen == expected

    async def test_tasks_are_found_by_the_times_of_their_submission_and_end(self, store: Store) -> None:
        over = {"state": TaskState.STOPPED}
        one, two, three = await add(
            store,
            a_task(submitted_at=at(1), ended_at=at(5), **over),
            a_task(submitted_at=at(2)),
            a_task(submitted_at=at(3), ended_at=at(4), **over),
        )
        assert await found(store, TaskFilter(submitted_since=at(2))) == [three.id, two.id]
        assert await found(store, TaskFilter(ended_since=at(4))) == [three.id, one.id]
        assert await found(store, TaskFilter(ended_since=at(5), states=frozenset({TaskState.STOPPED}))) == [one.id]
