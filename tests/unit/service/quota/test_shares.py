"""Tasks that take GPUs of a node: from submission to launch, and what is shown of shared nodes (U2, Q1)."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.ids import TaskId
from hai_scheduler.core.model.node import Node, NodeMark
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.task import RanksPerNode
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Invalid, QuotaExceeded
from kit.builders import a_node, a_quota
from kit.memory.behaviour import Behaviour
from unit.service.service_world import ADMIN, Service, user


async def a_service(*nodes: Node) -> Service:
    """A service over these nodes alone; by default two with 4 GPUs each."""
    service = Service(nodes=0)
    for node in nodes or (a_node("node-1", gpus=4), a_node("node-2", gpus=4)):
        service.cluster.faults.put_node(node)
    return await service.open()


async def held_by(service: Service, task_id: TaskId) -> list[tuple[str, tuple[int, ...]]]:
    """The node of each rank of the task, with the indices of its GPUs."""
    run = (await service.task(task_id)).live_run
    return [(rank.node, rank.gpus) for rank in run.ranks] if run else []


async def test_tasks_share_a_node_and_each_has_gpus_of_its_own() -> None:
    service = await a_service(a_node(gpus=4))
    tasks = [await service.submit(f"t{n}", "ann", gpus=2, does=Behaviour()) for n in range(3)]
    await service.step(1)
    assert await service.states(*tasks) == ["running", "running", "queued"]
    (first,), (second,) = [await held_by(service, task) for task in tasks[:2]]
    assert first[0] == second[0] == "node-1"
    assert sorted([*first[1], *second[1]]) == [0, 1, 2, 3]


@pytest.mark.parametrize(("gpus", "each", "times"), [(3, "gpu", 3), (None, "gpu", 4), (3, 2, 2), (None, None, None)])
async def test_a_command_runs_on_a_node_as_often_as_its_task_says(
    monkeypatch: pytest.MonkeyPatch, gpus: int | None, each: RanksPerNode, times: int | None
) -> None:
    service = await a_service()
    orders: list[LaunchOrder] = []
    launch = service.cluster.launch

    async def noted(order: LaunchOrder) -> None:
        orders.append(order)
        await launch(order)

    monkeypatch.setattr(service.cluster, "launch", noted)
    await service.submit("part", "ann", 2, gpus=gpus, ranks_per_node=each)
    await service.step(1)
    assert [order.ranks_per_node for order in orders] == [times]


async def test_a_rank_is_told_how_many_gpus_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    service = await a_service()
    orders: list[LaunchOrder] = []
    launch = service.cluster.launch

    async def noted(order: LaunchOrder) -> None:
        orders.append(order)
        await launch(order)

    monkeypatch.setattr(service.cluster, "launch", noted)
    await service.submit("part", "ann", 2, gpus=3)
    await service.step(1)
    part = next(order for order in orders if order.task_id == 1)
    assert [len(gpus) for gpus in part.gpus] == [3, 3]
    assert (part.env["HAI_GPUS_PER_NODE"], part.env["PET_NPROC_PER_NODE"]) == ("3", "3")
    await service.platform.tasks.submissions.stop(user("ann"), "1")
    await service.submit("whole", "ann", 2)
    await service.step(300)
    whole = next(order for order in orders if order.task_id == 2)
    assert whole.gpus == ()
    assert (whole.env["HAI_GPUS_PER_NODE"], whole.env["PET_NPROC_PER_NODE"]) == ("4", "4")


@pytest.mark.parametrize(
    ("sizes", "asked", "taken"),
    [
        pytest.param((4, 4), None, None, id="whole nodes unless a number is given"),
        pytest.param((4, 4), 3, 3, id="a part of a node"),
        pytest.param((4, 4), 4, None, id="all GPUs of every node are whole nodes"),
        pytest.param((4, 8), 8, 8, id="all GPUs of some nodes are a part of the group's"),
        pytest.param((4, 8), 4, 4, id="all GPUs of the smaller nodes are a part of the group's"),
        pytest.param((0, 0), None, None, id="whole nodes where there are no GPUs"),
    ],
)
async def test_what_is_asked_for_is_a_part_of_a_node_or_whole_nodes(
    sizes: tuple[int, ...], asked: int | None, taken: int | None
) -> None:
    service = await a_service(*(a_node(f"node-{n}", gpus=size) for n, size in enumerate(sizes)))
    assert (await service.task(await service.submit("t", "ann", gpus=asked))).gpus == taken


@pytest.mark.parametrize(
    ("sizes", "gpus", "said"),
    [
        pytest.param((4, 8), 9, "9 is more than any node of group 'training' has: ask for 8 or fewer", id="too many"),
        pytest.param((4, 8), 0, "0 is too few: ask for at least 1", id="none"),
        pytest.param((0, 0), 1, "the nodes of group 'training' have no GPUs: leave it out", id="nodes without GPUs"),
    ],
)
async def test_gpus_that_no_node_can_give_are_refused(sizes: tuple[int, ...], gpus: int, said: str) -> None:
    service = await a_service(*(a_node(f"node-{n}", gpus=size) for n, size in enumerate(sizes)))
    with pytest.raises(Invalid, match=said) as caught:
        await service.submit("t", "ann", gpus=gpus)
    assert (caught.value.field, caught.value.value) == ("gpus", gpus)


async def test_more_nodes_than_have_as_many_gpus_are_refused() -> None:
    service = await a_service(a_node("small", gpus=4), a_node("large", gpus=8))
    with pytest.raises(
        QuotaExceeded, match=r"8 GPUs on each of 2 nodes .* has 1 node with as many GPUs: ask for 1 or fewer"
    ):
        await service.submit("t", "ann", 2, gpus=8)
    await service.submit("t", "ann", 2, gpus=4)


async def test_a_part_of_a_node_counts_as_such_against_quota() -> None:
    service = await a_service()
    async with service.store.write() as tx:
        await tx.quotas.put(a_quota("user:ann", limit=1))
    tasks = [await service.submit(f"t{n}", "ann", gpus=2) for n in range(3)]
    await service.step(1)
    assert await service.states(*tasks) == ["running", "running", "queued"], "two halves of a node are its one node"
    rows = await service.platform.insight.queries.own_quota(Caller(name="ann"))
    assert [row.used for row in rows if row.priority is Priority.NORMAL] == [1.0]


async def test_three_quarters_of_two_nodes_are_more_than_a_quota_of_one() -> None:
    service = await a_service()
    async with service.store.write() as tx:
        await tx.quotas.put(a_quota("user:ann", limit=1))
    await service.submit("fits", "ann", 2, gpus=2)
    with pytest.raises(
        QuotaExceeded, match="3 GPUs on each of 2 nodes is more than the 1 node that the quota of user:ann"
    ):
        await service.submit("large", "ann", 2, gpus=3)


async def test_a_running_task_takes_a_level_over_within_what_is_left_of_it() -> None:
    service = await a_service()
    async with service.store.write() as tx:
        await tx.quotas.put(a_quota("user:ann", priority=Priority.HIGH, limit=1))
    for number, level in enumerate((Priority.HIGH, Priority.NORMAL, Priority.NORMAL), 1):
        await service.submit(f"t{number}", "ann", gpus=2, priority=level)
    await service.step(1)
    use = service.platform.tasks.submissions
    await use.set_priority(user("ann"), "t2", Priority.HIGH)
    with pytest.raises(Conflict, match=r"1 of the 1 nodes .* task 3 runs on 2 GPUs on 1 node"):
        await use.set_priority(user("ann"), "t3", Priority.HIGH)


async def test_a_shared_node_shows_its_tasks_and_the_gpus_that_are_free() -> None:
    service = await a_service()
    await service.submit("of-ann", "ann", gpus=2)
    await service.submit("of-bob", "bob", gpus=1)
    await service.submit("of-cy", "cy")
    await service.step(1)
    queries = service.platform.insight.queries
    shared, whole = sorted(await queries.nodes(), key=lambda view: -len(view.holders))
    assert {(holder.task_id, holder.user, len(holder.gpus)) for holder in shared.holders} == {
        (1, "ann", 2),
        (2, "bob", 1),
    }
    assert (shared.gpus_free, shared.only) == (1, None)
    assert whole.only is not None
    assert (whole.gpus_free, whole.only.task_id, whole.only.user, whole.only.gpus) == (0, 3, "cy", ())
    (group,) = (await queries.whole_cluster()).groups
    assert (group.nodes, group.held, group.free, group.unavailable) == (2, 2, 0, 0)
    assert (group.shared, group.gpus, group.gpus_free) == (1, 8, 1)
    await service.platform.administration.mark_node(ADMIN, shared.node.name, NodeMark.CORDONED)
    (group,) = (await queries.whole_cluster()).groups
    assert group.gpus_free == 0, "what is cordoned takes no new run"
