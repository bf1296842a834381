"""Environments under names: who sees them, and how admins write and delete them."""

from __future__ import annotations

from typing import Any

import pytest

from hai_scheduler.adapters.system.local_bus import MemoryBus
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.ports.values import HistoryEvent, UserRecord
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Forbidden, Invalid, NotFound
from hai_scheduler.service.shared.topics import FEED
from hai_scheduler.service.workspace.image_environments import ImageEnvironments
from kit.builders import an_environment
from kit.memory.clock import VirtualClock
from kit.memory.store import MemoryStore
from kit.worlds import make_world
from unit.service.service_world import ADMIN, user

ANN = Caller(name="ann", groups=frozenset({"cv"}))


class World:
    def __init__(self) -> None:
        clock = VirtualClock()
        self.store, self.bus = MemoryStore(), MemoryBus(clock)
        self.use = ImageEnvironments(make_world(store=self.store, bus=self.bus, clock=clock))

    async def has(self, *environments: Environment) -> World:
        for one in environments:
            await self.use.put(ADMIN, one)
        return self

    async def names(self, caller: Caller, **more: bool) -> list[str]:
        """The names that the caller sees, with a star at their default."""
        shown = await self.use.show(caller, **more)
        return [one.environment.name + "*" * one.chosen for one in shown]

    async def events(self) -> list[HistoryEvent]:
        async with self.store.read() as tx:
            return list(await tx.events.page(after=0, limit=100))


@pytest.fixture
def world() -> World:
    return World()


def of(subject: str, name: str, **fields: Any) -> Environment:
    return an_environment(name, subjects=frozenset({subject}), **fields)


async def test_users_see_what_is_for_them_with_their_default(world: World) -> None:
    await world.has(
        of("public", "torch", default=True),
        of("group:cv", "vision", default=True),
        of("user:bob", "bobs", default=True),
    )
    assert await world.names(ANN) == ["torch", "vision*"]
    assert await world.names(user("bob")) == ["bobs*", "torch"]
    assert await world.names(user("eva")) == ["torch*"]


async def test_groups_are_the_callers_or_those_that_the_hub_last_told(world: World) -> None:
    await world.has(of("group:cv", "vision"))
    assert await world.names(user("ann")) == []
    async with world.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"cv"})))
    assert await world.names(user("ann")) == ["vision"]
    assert await world.names(Caller(name="ann", groups=frozenset({"nlp"}))) == [], "what the token says is newer"


async def test_only_admins_see_all(world: World) -> None:
    await world.has(of("user:bob", "bobs"), of("public", "torch"))
    assert await world.names(ADMIN, everybodys=True) == ["bobs", "torch"]
    assert await world.names(ADMIN) == ["torch"]
    with pytest.raises(Forbidden):
        await world.use.show(ANN, everybodys=True)


async def test_only_admins_write_and_delete(world: World) -> None:
    with pytest.raises(Forbidden):
        await world.use.put(ANN, an_environment())
    with pytest.raises(Forbidden):
        await world.use.delete(ANN, "torch")
    assert await world.events() == []


async def test_a_change_is_in_the_audit_trail_with_what_was_before_and_without_values_of_variables(
    world: World,
) -> None:
    await world.has(an_environment(variables={"TOKEN": "secret-1"}), an_environment(variables={"TOKEN": "secret-2"}))
    first, second = await world.events()
    assert (first.kind, first.actor, first.data["before"]) == ("environment.put", "root", None)
    assert second.data["before"] == {key: value for key, value in first.data.items() if key != "before"}
    assert (second.data["name"], second.data["variables"], second.data["subjects"]) == ("torch", ["TOKEN"], ["public"])
    assert "secret" not in f"{first}{second}"


async def test_a_change_is_heard_by_those_who_follow_the_feed(world: World) -> None:
    async with world.bus.listen(FEED) as ears:
        await world.use.put(ADMIN, an_environment())
        assert await ears.wait(0)
        await world.use.delete(ADMIN, "torch")
        assert await ears.wait(0)


async def test_what_is_deleted_is_gone_and_deleting_it_again_is_told(world: World) -> None:
    await world.has(an_environment())
    await world.use.delete(ADMIN, "torch")
    assert await world.names(ADMIN) == []
    with pytest.raises(NotFound, match="no environment 'torch': `hai admin environments list`"):
        await world.use.delete(ADMIN, "torch")
    assert [event.kind for event in await world.events()] == ["environment.put", "environment.deleted"]


@pytest.mark.parametrize(
    ("environment", "field"),
    [
        (an_environment(variables={"HAI_TASK_ID": "1"}), "variables.HAI_TASK_ID"),
        (an_environment(variables={"JUPYTERHUB_API_TOKEN": "x"}), "variables.JUPYTERHUB_API_TOKEN"),
        (an_environment(variables={"CONFIGPROXY_AUTH_TOKEN": "x"}), "variables.CONFIGPROXY_AUTH_TOKEN"),
        (an_environment(variables={"A-B": "x"}), "variables"),
        (an_environment("a b"), "name"),
        (an_environment(subjects=frozenset()), "subjects"),
        (an_environment(subjects=frozenset({"ann"})), "subjects"),
        (an_environment(image="Not An Image"), "image"),
        (an_environment(python="python3"), "python"),
    ],
    ids=["platform's", "hub's", "proxy's", "no variable", "name", "nobody", "no subject", "image", "python"],
)
async def test_what_is_wrong_is_named_and_nothing_is_stored(world: World, environment: Environment, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await world.use.put(ADMIN, environment)
    assert refused.value.field.startswith(field)
    assert (await world.names(ADMIN, everybodys=True), await world.events()) == ([], [])


async def test_subjects_that_were_never_seen_are_warned_of_and_it_is_stored_all_the_same(world: World) -> None:
    async with world.store.write() as tx:
        await tx.users.put(UserRecord(name="ann", groups=frozenset({"cv"})))
    subjects = frozenset({"user:ann", "group:cv", "user:bbo", "group:nlp", "public"})
    listed, warnings = await world.use.put(ADMIN, an_environment(subjects=subjects, default=False))
    assert [warning.partition(":")[0] for warning in warnings] == [
        "HAI has never seen a user of the group 'nlp'",
        "HAI has never seen a user 'bbo'",
    ]
    assert listed.environment.name == "torch"
    assert await world.names(ANN) == ["torch"]


async def test_the_answer_says_whether_it_is_the_admins_own_default(world: World) -> None:
    listed, _ = await world.use.put(ADMIN, of("public", "torch", default=True))
    assert listed.chosen
    listed, _ = await world.use.put(ADMIN, of("user:bob", "bobs", default=True))
    assert not listed.chosen
