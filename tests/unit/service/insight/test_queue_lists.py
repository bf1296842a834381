"""The queue for all readers: in its order, by pages, with what each may know."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from hai_scheduler.api.convert.overview import queue_text
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.sentences.catalogue import ENGLISH
from hai_scheduler.service.insight.queue_lists import QueuePage
from hai_scheduler.service.shared.errors import Invalid
from unit.service.service_world import ADMIN, Service, user


async def a_queue() -> Service:
    service = await Service(nodes=1).open()
    await service.submit("holds", "bob", priority=Priority.HIGH)
    await service.step(1)
    await service.submit("second", "ann")
    await service.submit("first", "bob", priority=Priority.HIGH)
    await service.submit("held", "ann", hold=True)
    await service.step(1, ticks=1)
    return service


async def read(service: Service, who: str = "ann", **asked: object) -> QueuePage:
    return await service.platform.insight.queue_lists.page(user(who), **asked)


async def test_the_order_is_that_of_the_plan_and_held_tasks_come_last() -> None:
    service = await a_queue()
    (group,) = (await read(service)).groups
    assert [item.task.name for item in group.items] == ["first", "second", "held"]
    assert [item.position for item in group.items] == [1, 2, None]
    assert [item.level for item in group.items] == [Priority.HIGH, Priority.NORMAL, Priority.NORMAL]
    assert (group.waiting, group.held, group.next) == (2, 1, None)
    assert [item.known for item in group.items] == [False, True, True]
    assert [item.short.id for item in group.items][-1] == "held"
    (everything,) = (await service.platform.insight.queue_lists.page(ADMIN)).groups
    assert all(item.known for item in everything.items)


async def test_pages_follow_each_other() -> None:
    service = await a_queue()
    seen, after = [], 0
    while True:
        (group,) = (await read(service, group="training", after=after, limit=1)).groups
        seen += [item.task.name for item in group.items]
        if group.next is None:
            break
        after = group.next
    assert seen == ["first", "second", "held"]


async def test_a_place_without_a_group_and_an_unknown_group_are_refused() -> None:
    service = await a_queue()
    for asked in ({"after": 1}, {"group": "nosuch"}):
        with pytest.raises(Invalid):
            await read(service, **asked)


async def test_a_task_that_was_stopped_is_gone_after_the_next_look() -> None:
    service = await a_queue()
    await service.platform.tasks.submissions.stop(user("ann"), "second")
    await service.step(1)
    (group,) = (await read(service, mine=True)).groups
    assert [item.task.name for item in group.items] == ["held"]


async def test_a_turn_says_until_when() -> None:
    service = await Service(nodes=1).open()
    await service.submit("holds", "bob")
    await service.step(1)
    await service.submit("waits", "ann")
    await service.step(1, ticks=1)
    (group,) = (await read(service)).groups
    (item,) = group.items
    assert item.short.id == "turn"
    assert item.short.until is not None
    assert timedelta(0) < item.short.until - service.clock.now() <= timedelta(minutes=2)


async def test_what_is_told_of_a_task_is_made_once_for_all_who_may_know_the_same() -> None:
    service = await a_queue()
    ann, carol, dan = [(await read(service, who)).groups[0].items for who in ("ann", "carol", "dan")]
    assert all(one is other for one, other in zip(carol, dan, strict=True))
    assert [one is other for one, other in zip(ann, carol, strict=True)] == [True, False, False]
    await service.step(3)
    (later,) = (await read(service, "dan")).groups
    assert not any(one is other for one, other in zip(later.items, dan, strict=True))


async def test_names_are_written_for_those_alone_who_may_know_them() -> None:
    service = await a_queue()
    texts = {who: json.loads(queue_text(await read(service, who), ENGLISH)) for who in ("ann", "bob", "carol", "ann ")}
    names = {who: [item["name"] for item in text["groups"][0]["items"]] for who, text in texts.items()}
    assert names == {"ann": ["", "second", "held"], "bob": ["first", "", ""], "carol": [""] * 3, "ann ": [""] * 3}
    assert texts["carol"]["groups"][0]["waiting"] == 2
