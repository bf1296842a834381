"""Runs that go on are not read each tick, and looked at as soon as something happens to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hai_scheduler.core.model.run import RankState
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one, state_is
from unit.adapters.kubernetes.things import a_kube_node, running, terminated

GANG = a_launch(nodes=("node-1", "node-2"))


def node_removed(server) -> None:
    server.remove("nodes", "node-2")


def node_silent(server) -> None:
    server.put("nodes", a_kube_node("node-2", ready="Unknown", since=-3600))


def pod_removed(server) -> None:
    server.remove("pods", "hai-1-1-1")


def pod_ended(server) -> None:
    server.status("hai-1-1-1", **terminated(1))


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (node_removed, RankState.LOST),
        (node_silent, RankState.LOST),
        (pod_removed, RankState.LOST),
        (pod_ended, RankState.EXITED),
    ],
)
async def test_a_run_that_went_on_for_long_is_looked_at_when_something_happens(server, opened, event, state) -> None:
    """Runs of which nothing changes are not read each tick."""
    cluster = opened(binding="direct")
    await cluster.launch(GANG)
    for rank in (0, 1):
        server.status(f"hai-1-1-{rank}", **running())
        await state_is(cluster, RankState.RUNNING, rank)
    first = await one(cluster)
    assert await one(cluster) is first
    event(server)
    await state_is(cluster, state, rank=1)


async def test_a_node_that_is_silent_for_too_long_costs_its_run_without_a_further_word(server, opened, clock) -> None:
    cluster = opened(binding="direct", stale_after=timedelta(days=1))
    await cluster.launch(GANG)
    for rank in (0, 1):
        server.status(f"hai-1-1-{rank}", **running())
        await state_is(cluster, RankState.RUNNING, rank)
    silent = a_kube_node("node-2", ready="Unknown")
    silent["status"]["conditions"][0]["lastTransitionTime"] = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    server.put("nodes", silent)
    await until("the node to be observed as silent", lambda: not_ready(cluster))
    assert (await one(cluster)).ranks[1].state is RankState.RUNNING
    clock.ahead += timedelta(hours=1)
    await state_is(cluster, RankState.LOST, rank=1)


async def not_ready(cluster) -> bool:
    return any(not node.ready for node in await cluster.nodes())
