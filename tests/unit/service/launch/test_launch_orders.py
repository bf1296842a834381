"""The orders with which runs are launched: what is in them, and how many are read at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hai_scheduler.core.lifecycle.transitions import Launch
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.leaving import Profile, Signal
from hai_scheduler.core.workspace.templates import Unresolvable
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Absent, Temporary
from hai_scheduler.service.launch.launch_orders import LaunchOrders, still_wanted
from kit.builders import a_node, a_notice, a_run, an_environment
from kit.memory.behaviour import Behaviour
from kit.memory.store import MemoryStore
from unit.service.launch.starting import by_name, decided
from unit.service.service_world import ADMIN, Service, user

LONG = Behaviour(work=timedelta(hours=9))


@pytest.fixture
async def service() -> Service:
    return await Service(nodes=4).open()


def orders(service: Service) -> LaunchOrders:
    return service.loop.cycle.effects.orders


async def order_of(service: Service, **fields: Any) -> LaunchOrder:
    """The order for the first run of a task with these fields."""
    task = await service.submit("t", "ann", does=LONG, **fields)
    (launch,) = await decided(service, task)
    found = await orders(service).order(launch, by_name(service))
    assert found is not None
    return found


async def test_an_order_has_what_the_task_asks_for(service: Service) -> None:
    found = await order_of(
        service, nodes=2, profile=Profile.SLURM, signal=Signal.parse("USR1@5"), grace=timedelta(seconds=15),
        watch=("out",), env={"SEED": "1"},
    )  # fmt: skip
    assert (found.run_id, found.task_id, found.user, found.group) == ("1.1", 1, "ann", "training")
    assert (found.nodes, found.gpus) == (("node-1", "node-2"), ())
    assert (found.command, found.cwd, found.watch) == (("train",), "/", ("out",))
    assert (found.profile, str(found.signal), found.grace) == ("slurm", "USR1@5", timedelta(seconds=15))
    assert found.env.items() >= {"SEED": "1", "HAI_RUN_ID": "1.1", "HAI_NODES": "2", "HAI_GPUS_PER_NODE": "8"}.items()
    async with service.store.read() as tx:
        assert found.origin == (await tx.database.mark()).origin


async def test_no_patience_is_longer_than_the_grace(service: Service) -> None:
    policy = service.settings.policy.default
    short = await order_of(service, grace=timedelta(seconds=1))
    assert short.patience == timedelta(seconds=1)
    assert policy.patience > timedelta(seconds=1)


@pytest.mark.parametrize(
    ("fields", "each", "gpus"),
    [
        ({}, None, ()),
        ({"ranks_per_node": 3}, 3, ()),
        ({"ranks_per_node": "gpu"}, 8, ()),
        ({"ranks_per_node": "gpu", "gpus": 2}, 2, ((0, 1),)),
    ],
    ids=["once", "a number", "a GPU of a whole node", "a GPU of a part"],
)
async def test_how_often_the_command_runs_on_a_node(
    service: Service, fields: dict[str, Any], each: int | None, gpus: tuple[tuple[int, ...], ...]
) -> None:
    found = await order_of(service, **fields)
    assert (found.ranks_per_node, found.gpus) == (each, gpus)


async def test_nodes_without_gpus_run_the_command_once() -> None:
    service = Service(nodes=0)
    service.cluster.faults.put_node(a_node("cpu", gpus=0))
    await service.open()
    found = await order_of(service, ranks_per_node="gpu")
    assert (found.ranks_per_node, found.env["PET_NPROC_PER_NODE"]) == (1, "1")


async def test_a_node_that_is_not_known_any_more_is_not_counted(service: Service) -> None:
    task = await service.submit("t", "ann", nodes=2, does=LONG, ranks_per_node="gpu")
    (launch,) = await decided(service, task)
    nodes = {"node-1": a_node("node-1", gpus=4)}
    found = await orders(service).order(launch, nodes)
    assert found is not None
    assert found.ranks_per_node == 4
    found = await orders(service).order(launch, {})
    assert found is not None
    assert found.ranks_per_node == 1


async def test_variables_of_the_user_go_before_those_of_the_environment_and_the_platforms_before_both(
    service: Service,
) -> None:
    made = an_environment(variables={"A": "environment", "B": "environment"}, python="/opt/python")
    await service.platform.workspace.images.put(ADMIN, made)
    found = await order_of(service, environment="torch", env={"B": "user"})
    assert (found.env["A"], found.env["B"], found.env["HAI_USER"]) == ("environment", "user", "ann")
    assert (found.image, found.python) == (made.image, "/opt/python")


async def test_many_runs_are_read_in_few_transactions(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [await service.submit(f"t{n}", "ann", does=LONG) for n in range(4)]
    launches = await decided(service, *tasks)
    reads, real = [], MemoryStore.read

    def counted(store: MemoryStore) -> Any:
        reads.append(store)
        return real(store)

    monkeypatch.setattr(MemoryStore, "read", counted)
    found = await asyncio.gather(*(orders(service).order(launch, by_name(service)) for launch in launches))
    assert [order.run_id for order in found if order is not None] == [launch.run_id for launch in launches]
    assert len(reads) <= 2


async def test_what_is_wrong_with_one_run_is_told_to_it_alone(service: Service) -> None:
    await service.platform.workspace.images.put(ADMIN, an_environment())
    good = await service.submit("good", "ann", does=LONG)
    bad = await service.submit("bad", "ann", does=LONG, environment="torch")
    first, second = await decided(service, good, bad)
    await service.platform.workspace.images.delete(ADMIN, "torch")
    gone = Launch(TaskId(99), RunId("99.1"))
    made, unresolved, absent = await asyncio.gather(
        *(orders(service).order(one, by_name(service)) for one in (first, second, gone)), return_exceptions=True
    )
    assert isinstance(made, LaunchOrder)
    assert made.run_id == first.run_id
    assert (type(unresolved), type(absent)) == (Unresolvable, Absent)


async def test_a_store_that_does_not_answer_is_told_to_all_and_the_next_call_asks_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [await service.submit(f"t{n}", "ann", does=LONG) for n in range(2)]
    launches = await decided(service, *tasks)

    def away(_: MemoryStore) -> Any:
        raise Temporary("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "read", away)
        found = await asyncio.gather(
            *(orders(service).order(one, by_name(service)) for one in launches), return_exceptions=True
        )
    assert [str(error) for error in found] == ["the database is away"] * 2
    assert await orders(service).order(launches[0], by_name(service)) is not None


async def test_a_caller_that_has_gone_keeps_no_other_back(service: Service) -> None:
    tasks = [await service.submit(f"t{n}", "ann", does=LONG) for n in range(2)]
    first, second = await decided(service, *tasks)
    leaving = asyncio.ensure_future(orders(service).order(first, by_name(service)))
    staying = asyncio.ensure_future(orders(service).order(second, by_name(service)))
    await asyncio.sleep(0)
    leaving.cancel()
    found = await asyncio.wait_for(staying, 10)
    assert found is not None
    assert found.run_id == second.run_id


@pytest.mark.parametrize("verb", ["stop", "suspend"])
async def test_a_run_that_is_to_leave_gets_no_order(service: Service, verb: str) -> None:
    task = await service.submit("t", "ann", does=LONG)
    (launch,) = await decided(service, task)
    await getattr(service.platform.tasks.submissions, verb)(user("ann"), str(task))
    assert await orders(service).order(launch, by_name(service)) is None


RUN = a_run(1, 2)
WANTED = Launch(TaskId(1), RunId("1.2"))


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (RUN, True),
        (None, False),
        (a_run(1, 3), False),
        (replace(RUN, notice=a_notice()), False),
        (replace(RUN, killed_at=RUN.started_at), False),
    ],
    ids=["the run", "none", "a later one", "told to leave", "killed"],
)
def test_whether_a_run_still_has_to_start(run: Any, wanted: bool) -> None:
    assert still_wanted(run, WANTED) is wanted
