"""What admins see of orphaned runs, and how they end them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hai_scheduler.core.model.ids import Origin, RunId, TaskId
from hai_scheduler.service.shared.errors import Forbidden, NotFound
from kit.builders import a_launch
from unit.service.origin.restored_world import LONG, SHORT, World, take_over
from unit.service.service_world import ADMIN, user


class TestAdmins:
    async def test_an_orphan_is_ended_when_an_admin_says_so_and_not_before(self, world: World) -> None:
        backup = world.backup()
        await world.submit("a", "alice", does=LONG)
        await world.submit("b", "alice", does=LONG)
        await world.step(1)
        world.restore(backup)
        await take_over(world)
        ending = await world.platform.orphans.end(ADMIN, "1.1")
        assert ending.ending
        # The next leader knows it too, when this one dies now.
        world.restart()
        await take_over(world)
        await world.step(60)
        assert set(world.cluster.record.kills) == {RunId("1.1")}
        assert await world.orphans() == [RunId("2.1")]
        assert list(world.cluster.record.aside) == [RunId("1.1")]

    async def test_others_may_neither_see_nor_end_them(self, world: World) -> None:
        with pytest.raises(Forbidden):
            await world.platform.orphans.show(user("alice"))
        with pytest.raises(Forbidden):
            await world.platform.orphans.end(user("alice"), "1.1")

    async def test_only_orphans_can_be_ended_so(self, world: World) -> None:
        task = await world.submit("a", "alice", does=LONG)
        await world.step(1)
        with pytest.raises(NotFound, match="hai admin orphans list"):
            await world.platform.orphans.end(ADMIN, f"{task}.1")

    async def test_what_may_be_another_platforms_is_removed_when_an_admin_says_so(self, world: World) -> None:
        world.cluster.exclusive = False
        world.cluster.jobs.script(TaskId(7), SHORT)
        await world.cluster.launch(replace(a_launch_of(world), origin=Origin("somebodyelse", 1)))
        await world.step(1)
        await world.step(60)
        (shown,) = await world.platform.orphans.show(ADMIN)
        assert (shown.live, shown.nodes) == (False, ())
        await world.platform.orphans.end(ADMIN, shown.run_id)
        await world.step(1)
        assert list(world.cluster.record.aside) == [shown.run_id]
        assert await world.platform.orphans.show(ADMIN) == ()


def a_launch_of(world: World):
    return a_launch(7, nodes=(min(world.cluster._nodes),))
