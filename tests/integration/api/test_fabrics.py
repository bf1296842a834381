"""Fabrics over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hai_scheduler.ports.fabric_trials import FabricRefused
from integration.api.conftest import World, trying_fabrics

BODY: dict[str, Any] = {"group": "training", "resources": {"rdma/hca": 8}, "variables": {"NCCL_IB_HCA": "mlx5"}}
KEY = {"group": "training", "subject": "public"}


@pytest.fixture
async def there(platform) -> AsyncIterator[World]:
    """The interface, beside a loop that carries out trials."""
    world, _ = platform
    async with trying_fabrics(world):
        yield world


async def test_an_admin_writes_lists_and_removes_fabrics(there) -> None:
    status, written = await there.json("PUT", "/fabrics", "admin", json=BODY)
    expected = {
        **BODY,
        "subject": "public",
        "shared": False,
        "annotations": {},
        "shm_bytes": 0,
        "host_network": False,
        "memlock_bytes": 2**30,
        "single_node": False,
        "description": "",
        "version": written["version"],
        "warnings": [],
    }
    assert (status, written) == (200, expected)
    assert (await there.json("GET", "/fabrics", "admin"))[1] == {"items": [expected]}
    assert (await there.json("GET", "/fabrics?user=alice", "admin"))[1]["items"] == [expected]
    status, problem = await there.json("GET", "/fabrics?user=alice&group=other", "admin")
    assert (status, "'alice' has no fabric in other" in problem["detail"]) == (404, True)
    old = {"If-Match": f'"{written["version"]}"'}
    assert (await there.json("PUT", "/fabrics", "admin", json={**BODY, "shared": True}))[0] == 200
    assert (await there.json("PUT", "/fabrics", "admin", json=BODY, headers=old))[0] == 409
    assert await there.json("DELETE", "/fabrics", "admin", json=KEY) == (204, None)
    status, problem = await there.json("DELETE", "/fabrics", "admin", json=KEY)
    assert (status, "hai admin fabrics list" in problem["detail"]) == (404, True)


async def test_a_trial_writes_nothing(there) -> None:
    there.cluster.fabrics.warnings = ("resources: 1 of 2 nodes have fewer",)
    answer = await there.json("POST", "/fabrics/trial", "admin", json=BODY)
    assert answer == (200, {"warnings": ["resources: 1 of 2 nodes have fewer"]})
    assert (await there.json("GET", "/fabrics", "admin"))[1] == {"items": []}


async def test_what_the_cluster_refuses_names_field_value_and_remedy(there) -> None:
    there.cluster.fabrics.fault = FabricRefused("resources.rdma/hca", 8, "node-1 has most, 4: ask for as many")
    status, problem = await there.json("PUT", "/fabrics", "admin", json=BODY)
    assert status == 400
    assert problem["errors"] == [
        {"field": "resources.rdma/hca", "value": 8, "message": "node-1 has most, 4: ask for as many"}
    ]
    assert (await there.json("GET", "/fabrics", "admin"))[1] == {"items": []}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"group": "nobody"}, "group"),
        ({"subject": "everyone"}, "subject"),
        ({"resources": {"rdma/hca": 0}}, "resources"),
        ({"resources": {"hca": 1}}, "resources"),
        ({"resources": {}, "variables": {}}, "resources"),
        ({"annotations": {"a": "x" * 300_000}}, "annotations"),
        ({"variables": {"HAI_USER": "root"}}, "variables.HAI_USER"),
        ({"shm_bytes": -1}, "shm_bytes"),
        ({"memlock_bytes": 1 << 60}, "memlock_bytes"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_wrong_fabric_is_refused_by_its_field(there, wrong, field) -> None:
    for method, path in (("PUT", "/fabrics"), ("POST", "/fabrics/trial")):
        status, problem = await there.json(method, path, "admin", json={**BODY, **wrong})
        assert status == 400, problem
        assert problem["errors"][0]["field"].startswith(field)
    assert there.cluster.fabrics.tried == []


async def test_a_user_whose_gang_would_be_slow_is_told_when_it_is_submitted(there) -> None:
    await there.json("PUT", "/fabrics", "admin", json={**BODY, "subject": "group:cv"})
    body = {"name": "t", "command": ["true"], "cwd": "/w", "nodes": 2}
    status, task = await there.json("POST", "/tasks", json=body)
    assert status == 201
    (said,) = task["warnings"]
    assert said.startswith("The fast network of training is for others")
    assert said in (await there.json("GET", "/tasks/t/explain"))[1]["sentence"]
    assert (await there.json("POST", "/tasks", json={**body, "name": "u", "nodes": 1}))[1]["warnings"] == []
