"""The token of a run gives access to its owner's name and the addresses of its ranks, and to nothing of other runs."""

from __future__ import annotations

import pytest

from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.task import Task


@pytest.fixture
async def running(world) -> Task:
    return await world.start(await world.submit(nodes=2), nodes=("node-1", "node-2"))


async def facts(world, run_id: str, token: str | None = None):
    spoken = token if token is not None else world.tokens.make(RunId(run_id)).reveal()
    return await world.json("GET", f"/runs/{run_id}", None, headers={"Authorization": f"Bearer {spoken}"})


async def test_a_run_that_is_up_has_an_owner_and_the_address_of_its_first_rank(world, running) -> None:
    world.cluster.up[running.run_id(1)] = ("10.0.0.7", "10.0.0.8")
    status, answer = await facts(world, running.run_id(1))
    assert status == 200
    assert answer == {
        "run_id": f"{running.id}.1",
        "task_id": running.id,
        "number": 1,
        "name": running.name,
        "user": "alice",
        "state": running.state.value,
        "node": "node-1",
        "address": "10.0.0.7",
    }


async def test_a_run_whose_ranks_are_not_up_yet_has_no_address(world, running) -> None:
    status, answer = await facts(world, running.run_id(1))
    assert (status, answer["address"]) == (200, None)


@pytest.mark.parametrize("run_id", ["77.1", "x.1", "1.9"])
async def test_a_run_that_is_over_or_never_was_is_gone(world, running, run_id: str) -> None:
    status, _ = await facts(world, run_id)
    assert status == 410


async def test_the_token_of_another_run_or_of_a_user_is_not_enough(world, running) -> None:
    other = world.tokens.make(RunId(f"{running.id}.2")).reveal()
    assert (await facts(world, running.run_id(1), other))[0] == 403
    assert (await facts(world, running.run_id(1), "admin-token"))[0] == 401
