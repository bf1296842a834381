"""Fabrics from the rows of admins to the launch of a run: who gets them, what is tried before, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.fabric_trials import FabricRefused
from hai_scheduler.ports.values import AuditFilter
from hai_scheduler.service.shared.caller import Caller
from hai_scheduler.service.shared.errors import Conflict, Forbidden, Invalid, NotFound, Overtaken, Unavailable
from hai_scheduler.service.shared.versions import Expectation, version_of
from hai_scheduler.service.tasks.submission import Submission
from kit.builders import a_fabric, an_environment
from unit.service.service_world import ADMIN, user
from unit.service.workspace.watched import ANN, Watched, opened, seen


@asynccontextmanager
async def trying(service: Watched) -> AsyncIterator[None]:
    """The part of the leading loop that tries fabrics runs."""
    task = asyncio.create_task(service.loop.fabric_trials.run(lambda: True))
    try:
        yield
    finally:
        task.cancel()


async def with_fabrics(*fabrics: Fabric) -> Watched:
    service = await opened()
    async with trying(service):
        for fabric in fabrics:
            await service.platform.workspace.fabrics.put(ADMIN, fabric)
    return service


async def stored(service: Watched) -> list[Fabric]:
    async with service.store.read() as tx:
        return list(await tx.fabrics.all())


# --- the launch


@pytest.mark.parametrize(
    ("who", "fields", "expected"),
    [
        (ANN, {"nodes": 2}, True),
        (ANN, {"nodes": 2, "gpus": 1}, True),
        (ANN, {"nodes": 1}, False),
        (user("bob"), {"nodes": 2}, False),
    ],
    ids=["a gang of the group", "a gang of shares", "one node", "a gang of another user"],
)
async def test_who_gets_the_fabric_of_a_group(who: Caller, fields: dict[str, Any], expected: bool) -> None:
    fabric = a_fabric(subject="group:ml", variables={"NCCL_IB_HCA": "mlx5"})
    service = await with_fabrics(fabric)
    await service.send(who=who, **fields)
    await service.step()
    (launch,) = service.launches
    assert launch.fabric == (fabric if expected else None)
    assert launch.env.get("NCCL_IB_HCA") == ("mlx5" if expected else None)


async def test_a_run_of_one_node_gets_it_where_the_row_says_so() -> None:
    service = await with_fabrics(a_fabric(single_node=True))
    await service.send()
    await service.step()
    assert service.launches[0].fabric is not None


async def test_the_network_of_nodes_is_for_tasks_of_whole_nodes_alone() -> None:
    service = await with_fabrics(a_fabric(host_network=True, variables={"NCCL_SOCKET_IFNAME": "ib0"}))
    await service.send("shared", nodes=2, gpus=1)
    await service.send("whole", nodes=2)
    await service.step()
    shared, whole = service.launches
    assert (shared.fabric, "NCCL_SOCKET_IFNAME" in shared.env) == (None, False)
    assert whole.fabric is not None


async def test_the_users_variables_win_over_the_environments_and_those_over_the_fabrics() -> None:
    service = await with_fabrics(a_fabric(variables={"A": "fabric", "B": "fabric", "C": "fabric"}))
    await service.environments(an_environment("torch", variables={"B": "environment", "C": "environment"}))
    await service.send(nodes=2, environment="torch", env={"C": "user"})
    await service.step()
    assert {name: service.launches[0].env[name] for name in "ABC"} == {"A": "fabric", "B": "environment", "C": "user"}


async def test_a_fabric_counts_from_the_next_launch_on_and_plans_know_nothing_of_it() -> None:
    service = await opened()
    task = await service.send(nodes=2)
    await service.step()
    verdicts = service.loop.cycle.latest_plan.verdicts
    async with trying(service):
        await service.platform.workspace.fabrics.put(ADMIN, a_fabric())
    await service.step()
    assert [launch.fabric for launch in service.launches] == [None]
    assert service.loop.cycle.latest_plan.verdicts == verdicts
    assert await service.states(task) == ["running"]


# --- what users are told


@pytest.mark.parametrize(
    ("fabric", "who", "fields", "said"),
    [
        (a_fabric(subject="group:cv"), ANN, {"nodes": 2}, "The fast network of training is for others"),
        (a_fabric(subject="group:ml"), ANN, {"nodes": 2}, None),
        (a_fabric(subject="group:cv"), ANN, {"nodes": 1}, None),
        (a_fabric("other", subject="group:cv"), ANN, {"nodes": 2}, None),
        (
            a_fabric(host_network=True),
            ANN,
            {"nodes": 2, "gpus": 1},
            "It does not get the fast network of training",
        ),
    ],
    ids=["not for them", "for them", "one node", "another group", "shares of nodes"],
)
async def test_a_submission_is_warned_where_others_would_be_faster(fabric, who, fields, said) -> None:
    service = await opened()
    async with service.store.write() as tx:
        await tx.fabrics.put(fabric)
    found = await service.platform.tasks.submissions.warnings(
        who, Submission(name="t", command=("train",), cwd="/", **fields)
    )
    assert [text for text in found if said and said in text] == ([] if said is None else found)
    assert all("cv" not in text for text in found), "whose network it is, is not everybody's business"


async def test_an_admin_asks_what_counts_for_a_user() -> None:
    service = await with_fabrics(a_fabric(subject="group:ml"), a_fabric(subject="user:ann", shared=True))
    await seen(service.store, "bob")
    fabrics = service.platform.workspace.fabrics
    assert (await fabrics.of_user(ADMIN, "ann", "training")).shared
    with pytest.raises(NotFound, match=r"group:ml, user:ann alone: write one with .* --for user:bob"):
        await fabrics.of_user(ADMIN, "bob", "training")
    with pytest.raises(NotFound, match="there is none there"):
        await fabrics.of_user(ADMIN, "ann", "elsewhere")


# --- admins


async def test_each_change_is_in_the_audit_without_the_values_of_variables() -> None:
    long = {"a.example/b": "x" * 100_000}
    service = await with_fabrics(a_fabric(variables={"KEY": "hidden"}, annotations=long), a_fabric(shared=True))
    await service.platform.workspace.fabrics.delete(ADMIN, "training", "public")
    put = await service.events("fabric.put")
    assert (put[0].data["before"], put[0].data["variables"], "hidden" in str(put)) == (None, ["KEY"], False)
    assert len(put[0].data["annotations"]["a.example/b"]) == 200
    assert (put[1].data["before"]["shared"], put[1].data["shared"]) == (False, True)
    assert [event.data for event in await service.events("fabric.deleted")] == [
        {"group": "training", "subject": "public"}
    ]
    async with service.store.read() as tx:
        entries = await tx.audit.page(AuditFilter(), before=None, limit=10)
    assert {entry.action for entry in entries} == {"fabric.put", "fabric.deleted"}
    assert {entry.subject for entry in entries} == {"fabric:training/public"}
    assert "hidden" not in str(entries)


async def test_what_the_cluster_refuses_is_not_stored_and_the_message_is_its_own() -> None:
    service = await with_fabrics(a_fabric())
    service.cluster.fabrics.fault = FabricRefused("resources.rdma/hca", 9, "no node of training has as many")
    async with trying(service):
        with pytest.raises(Invalid, match="no node of training has as many") as refused:
            await service.platform.workspace.fabrics.put(ADMIN, a_fabric(resources={"rdma/hca": 9}))
    assert (refused.value.field, refused.value.value) == ("resources.rdma/hca", 9)
    assert await stored(service) == [a_fabric()]


async def test_a_cluster_that_cannot_be_asked_is_told_and_nothing_is_stored() -> None:
    service = await opened()
    service.cluster.fabrics.fault = Temporary("the API server does not answer")
    async with trying(service):
        with pytest.raises(Unavailable, match="the API server does not answer"):
            await service.platform.workspace.fabrics.put(ADMIN, a_fabric())
    assert await stored(service) == []


async def test_without_a_loop_the_admin_is_told_after_a_while() -> None:
    service = await opened()
    putting = asyncio.create_task(service.platform.workspace.fabrics.put(ADMIN, a_fabric()))
    while not putting.done():
        await service.clock.advance(1)
    with pytest.raises(Unavailable, match="look at `hai admin health`"):
        await putting
    assert await stored(service) == []


async def test_of_two_admins_at_once_one_is_asked_to_try_again() -> None:
    service = await opened()
    fabrics = service.platform.workspace.fabrics
    async with service.bus.listen("fabric-trial") as ears:
        first = asyncio.create_task(fabrics.put(ADMIN, a_fabric(subject="user:ann")))
        await ears.wait(None)
        second = asyncio.create_task(fabrics.put(ADMIN, a_fabric()))
        await ears.wait(None)
    async with trying(service):
        with pytest.raises(Conflict, match="try again"):
            await first
        await second
    assert await stored(service) == [a_fabric()]


async def test_a_trial_alone_writes_nothing_and_shows_the_warnings() -> None:
    service = await opened()
    service.cluster.fabrics.warnings = ("resources: 1 of 4 nodes have fewer",)
    fabric = a_fabric(variables={"NCCL_SOCKET_IFNAME": "=eth0"})
    async with trying(service):
        said = await service.platform.workspace.fabrics.try_out(ADMIN, fabric)
    assert [text.partition(":")[0] for text in said] == ["variables.NCCL_SOCKET_IFNAME", "resources"]
    assert service.cluster.fabrics.tried == [fabric]
    assert await stored(service) == []
    async with service.store.read() as tx:
        assert await tx.settings.get("fabric_trial") is None, "no order is left"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"group": "trianing"}, "group"),
        ({"subject": "ann"}, "subject"),
        ({"resources": {"hca": 1}}, "resources"),
        ({"variables": {"HAI_RANK": "0"}}, "variables.HAI_RANK"),
        ({"variables": {"HAI_ANYTHING": "0"}}, "variables.HAI_ANYTHING"),
        ({"variables": {"CUDA_VISIBLE_DEVICES": "0"}}, "variables.CUDA_VISIBLE_DEVICES"),
        ({"variables": {"JUPYTERHUB_API_TOKEN": "0"}}, "variables.JUPYTERHUB_API_TOKEN"),
    ],
)
async def test_a_wrong_row_is_refused_before_anything_is_tried(fields: dict[str, Any], field: str) -> None:
    service = await opened()
    with pytest.raises(Invalid) as refused:
        await service.platform.workspace.fabrics.put(ADMIN, a_fabric(**fields))
    assert refused.value.field == field
    assert (service.cluster.fabrics.tried, await stored(service)) == ([], [])


async def test_slips_of_the_pen_are_told() -> None:
    service = await opened()
    async with trying(service):
        _, warnings = await service.platform.workspace.fabrics.put(ADMIN, a_fabric(subject="group:mll"))
    assert warnings == [
        "HAI has never seen a user of the group 'mll': check the spelling, or ignore this if the name is new"
    ]


async def test_a_row_that_has_changed_meanwhile_is_not_written_over() -> None:
    service = await with_fabrics(a_fabric())
    fabrics, old = service.platform.workspace.fabrics, Expectation(version_of(a_fabric(shared=True)))
    async with trying(service):
        with pytest.raises(Overtaken):
            await fabrics.put(ADMIN, a_fabric(single_node=True), expected=old)
    with pytest.raises(Overtaken):
        await fabrics.delete(ADMIN, "training", "public", expected=old)
    assert await stored(service) == [a_fabric()]


async def test_only_admins_see_and_change_them_and_what_is_not_there_cannot_be_removed() -> None:
    fabrics = (await opened()).platform.workspace.fabrics
    for call in (
        fabrics.show_all(ANN),
        fabrics.of_user(ANN, "ann", "training"),
        fabrics.try_out(ANN, a_fabric()),
        fabrics.put(ANN, a_fabric()),
        fabrics.delete(ANN, "training", "public"),
    ):
        with pytest.raises(Forbidden):
            await call
    with pytest.raises(NotFound, match="There is no fabric of public in training"):
        await fabrics.delete(ADMIN, "training", "public")
