"""The quota of what waits goes by the groups that the Hub has now, though its owner sends no request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.values import UserRecord
from hai_scheduler.service.people.groups import GroupsOfUsers
from hai_scheduler.service.shared.topics import TICK
from kit.memory.behaviour import Behaviour
from unit.service.service_world import Service

CV = frozenset({"cv"})


@pytest.fixture
async def service() -> Service:
    service = await Service().open()
    async with service.store.write() as tx:
        for name in ("ann", "bob"):
            await tx.users.put(UserRecord(name=name, groups=CV))
        await tx.quotas.put(Quota(subject="public", group="training", priority=Priority.NORMAL, limit=0))
        await tx.quotas.put(Quota(subject="group:cv", group="training", priority=Priority.NORMAL, limit=4))
    return service


async def groups(service: Service) -> dict[str, frozenset[str]]:
    async with service.store.read() as tx:
        return {user.name: user.groups for user in await tx.users.all()}


def told_of(answer: Mapping[str, frozenset[str]] | None) -> GroupsOfUsers:
    async def ask() -> Mapping[str, frozenset[str]] | None:
        return answer

    return ask


@pytest.mark.parametrize(
    ("answer", "moved", "ann"),
    [
        ({"ann": CV, "bob": CV}, 0, CV),
        ({"bob": CV}, 1, frozenset()),
        ({"ann": frozenset({"nlp"}), "bob": CV, "zoe": CV}, 1, frozenset({"nlp"})),
        ({}, 2, frozenset()),
        (None, 0, CV),
    ],
    ids=["the same", "left", "moved", "nobody is in a group", "no answer"],
)
async def test_the_record_follows_the_hub(
    service: Service, answer: Mapping[str, frozenset[str]] | None, moved: int, ann: frozenset[str]
) -> None:
    in_step = service.platform.people.groups_in_step(told_of(answer))
    assert await in_step.look() == moved
    found = await groups(service)
    assert (found["ann"], set(found)) == (ann, {"ann", "bob"})
    assert await in_step.look() == 0


async def test_what_waits_loses_the_quota_of_a_group_that_its_owner_has_left(service: Service) -> None:
    held = await service.submit("held", "bob", 4, Behaviour(work=timedelta(seconds=40)))
    await service.step()
    waits = await service.submit("waits", "ann", 1)
    await service.step()
    assert await service.states(held, waits) == ["running", "queued"]
    await service.platform.people.groups_in_step(told_of({"bob": CV})).look()
    await service.step(60)
    assert await service.states(held, waits) == ["succeeded", "queued"]
    await service.platform.people.groups_in_step(told_of({"ann": CV, "bob": CV})).look()
    await service.step()
    assert await service.states(waits) == ["running"]


async def test_the_loop_is_rung_for_a_change_and_for_nothing_else(service: Service) -> None:
    async with service.bus.listen(TICK) as ears:
        await service.platform.people.groups_in_step(told_of({"ann": CV, "bob": CV})).look()
        assert not await ears.wait(0)
        await service.platform.people.groups_in_step(told_of({})).look()
        assert await ears.wait(0)
