"""Whose runs are in the namespace, and how far each database has come (decision 0016)."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from datetime import timedelta

import pytest

from hai_scheduler.adapters.kubernetes.names import ORIGIN
from hai_scheduler.core.model.ids import Origin, RunId
from hai_scheduler.core.model.marks import Mark
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent, Temporary
from kit.builders import a_launch
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import running, terminated

MARK = Mark(database="a1b2", epoch=2, steps=10, task=7, number=3)
OURS, THEIRS = Origin("a1b2", 2), Origin("c3d4", 1)
RUN = RunId("1.1")
LAUNCH = replace(a_launch(nodes=("node-1", "node-2")), origin=OURS)


class TestOrigins:
    async def test_everything_of_a_run_says_who_has_decided_it(self, server, cluster) -> None:
        await cluster.launch(LAUNCH)
        for kind in ("services", "secrets", "pods"):
            for thing in server.objects[kind].values():
                assert thing["metadata"]["labels"][ORIGIN] == "a1b2-2"

    async def test_it_is_observed_with_nodes_and_user_by_a_new_service_as_well(self, cluster, opened) -> None:
        await cluster.launch(LAUNCH)
        for which in (cluster, opened()):
            seen = await one(which)
            assert (seen.origin, seen.nodes, seen.user) == (OURS, ("node-1", "node-2"), LAUNCH.user)

    async def test_pods_without_a_record_say_it_themselves(self, server, cluster, opened) -> None:
        await cluster.launch(LAUNCH)
        server.status("hai-1-1-0", **running())
        server.remove("services", "hai-1-1")
        seen = await one(opened())
        assert (seen.origin, seen.user, seen.nodes[0]) == (OURS, LAUNCH.user, "node-1")

    async def test_what_is_not_marked_is_of_no_origin(self, cluster) -> None:
        await cluster.launch(replace(LAUNCH, origin=None))
        assert (await one(cluster)).origin is None

    async def test_nothing_is_started_where_a_run_of_another_origin_has_the_id(self, server, cluster, opened) -> None:
        await cluster.launch(LAUNCH)
        with pytest.raises(Temporary, match="hai admin orphans"):
            await opened().launch(replace(LAUNCH, origin=THEIRS, nodes=("node-1", "node-2", "node-1")))
        assert sorted(server.objects["pods"]) == ["hai-1-1-0", "hai-1-1-1"]

    async def test_a_later_number_of_another_platform_does_not_supersede_ours(self, server, cluster, opened) -> None:
        await opened().launch(replace(LAUNCH, run_id=RunId("1.5"), origin=THEIRS))
        await cluster.launch(LAUNCH)
        assert {"hai-1-1-0", "hai-1-1-1"} <= server.objects["pods"].keys()

    async def test_a_launch_that_is_refused_takes_nothing_of_another_platform_down(
        self, server, cluster, opened
    ) -> None:
        await opened().launch(replace(LAUNCH, origin=THEIRS))
        before = copy.deepcopy(server.objects)
        server.fail("POST", "/services", 403, body="exceeded quota: services")
        with pytest.raises(Temporary, match="hai admin orphans"):
            await cluster.launch(LAUNCH)
        assert server.objects == before

    async def test_another_platforms_gang_that_does_not_come_up_is_left_alone(self, server, opened, clock) -> None:
        theirs = opened()
        await theirs.launch(replace(LAUNCH, origin=THEIRS))
        ours = opened()
        await ours.put_mark(MARK)
        clock.ahead += timedelta(days=1)
        for _ in range(5):
            await asyncio.sleep(0.02)
            await self.patiently(ours)
        assert len(server.objects["pods"]) == 2
        assert "annotations" in server.objects["services"]["hai-1-1"]["metadata"]
        assert not [key for key in server.objects["services"]["hai-1-1"]["metadata"]["annotations"] if "error" in key]

    @staticmethod
    async def patiently(cluster) -> None:
        try:
            await cluster.observe()
        except Temporary:
            await asyncio.sleep(0.02)

    async def test_the_log_of_another_platforms_run_is_not_ours_to_show(self, opened) -> None:
        theirs, ours = opened(), opened()
        await theirs.launch(replace(LAUNCH, origin=THEIRS))
        await ours.put_mark(MARK)
        with pytest.raises(Absent):
            await ours.read_log(RUN, 0, offset=0, limit=100)
        assert ours.log_place(RUN) is None

    async def test_a_replica_that_has_never_led_shows_the_log_of_a_run_all_the_same(self, opened) -> None:
        leader, follower = opened(), opened()
        await leader.put_mark(MARK)
        await leader.launch(LAUNCH)
        assert (await follower.read_log(RUN, 0, offset=0, limit=100)).start == 0


class TestPuttingAside:
    async def test_an_ended_run_is_settled(self, server, cluster) -> None:
        await cluster.launch(LAUNCH)
        for rank in (0, 1):
            server.status(f"hai-1-1-{rank}", **terminated(0))
        await state_is(cluster, RankState.EXITED, 1)
        await cluster.put_aside(RUN)
        assert "hai-1-1" not in server.objects["services"]
        await cluster.put_aside(RUN)

    async def test_a_live_run_stays(self, server, cluster) -> None:
        await cluster.launch(LAUNCH)
        server.status("hai-1-1-0", **running())
        await state_is(cluster, RankState.RUNNING)
        with pytest.raises(Temporary, match="not ended"):
            await cluster.put_aside(RUN)
        assert "hai-1-1" in server.objects["services"]

    async def test_the_order_to_end_a_run_that_never_began_is_removed(self, server, cluster) -> None:
        await cluster.kill(RUN)
        await cluster.put_aside(RUN)
        assert "hai-1-1" not in server.objects["services"]
