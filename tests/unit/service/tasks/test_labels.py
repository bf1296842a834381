"""Tags that all who see a task share, and stars that are a user's own."""

from __future__ import annotations

import pytest

from hai_scheduler.service.shared.errors import NotFound
from unit.service.service_world import ADMIN, Service, user


async def test_tags_are_written_once_each_and_told_only_when_they_change() -> None:
    service = await Service().open()
    task = await service.submit("t", "ann")
    labels = service.platform.tasks.labels
    for _ in range(2):
        await labels.put_tags(user("ann"), "t", ["b", "a", "b"])
    await labels.put_tags(ADMIN, str(task), [])
    async with service.store.read() as tx:
        assert await tx.labels.tags([task]) == {}
    events = await service.events("task.tags")
    assert [(event.actor, event.user, event.data) for event in events] == [
        ("ann", "ann", {"tags": ["b", "a"]}),
        ("root", "ann", {"tags": []}),
    ]


async def test_nobody_labels_the_tasks_of_others() -> None:
    service = await Service().open()
    task = await service.submit("t", "ann")
    labels = service.platform.tasks.labels
    with pytest.raises(NotFound):
        await labels.put_tags(user("bob"), str(task), ["a"])
    with pytest.raises(NotFound):
        await labels.put_star(user("bob"), str(task), starred=True)


async def test_a_star_changes_no_task_and_tells_nobody() -> None:
    service = await Service().open()
    task = await service.submit("t", "ann")
    async with service.store.read() as tx:
        before, seq = await tx.tasks.get(task), await tx.events.last_seq()
    await service.platform.tasks.labels.put_star(ADMIN, str(task), starred=True)
    async with service.store.read() as tx:
        assert await tx.labels.starred("root", [task]) == {task}
        assert await tx.labels.starred("ann", [task]) == frozenset()
        assert (await tx.tasks.get(task), await tx.events.last_seq()) == (before, seq)
