"""What is said of a fabric before a task meets it: nodes, sizes, and the API server's own word on the pod."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from aiohttp import web

from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.fabrics import PodTrial
from hai_scheduler.core.workspace.fabrics import NETWORKS, Fabric, fabric_of
from hai_scheduler.ports.errors import Temporary
from hai_scheduler.ports.fabric_trials import FabricRefused
from kit.builders import a_fabric, a_launch
from unit.adapters.kubernetes.things import OWNER, a_kube_node, capacity, some_settings


def a_node(name: str, group: str = "training", **offered: str) -> dict[str, Any]:
    node = a_kube_node(name, labels={"hai.jupyter.org/group": group})
    node["status"]["allocatable"] |= {key.replace("__", "/"): value for key, value in offered.items()}
    return node


async def tried(server, clock, fabric: Fabric, **settings: Any) -> list[str]:
    api, chosen = server.client(clock), some_settings(**settings)
    sight = ClusterCache(api, clock, chosen)
    try:
        return list(await PodTrial(api, sight, chosen).try_out(fabric))
    finally:
        await sight.close()
        await api.close()


@pytest.fixture
def nodes(server) -> None:
    for name, count in (("node-1", "8"), ("node-2", "8")):
        server.put("nodes", a_node(name, rdma__hca=count))
    server.put("nodes", a_node("lab-1", "jupyter", rdma__hca="1"))
    server.put("nodes", a_node("other-1", "other"))


async def test_the_very_pod_is_tried_and_nothing_is_left(server, clock, nodes) -> None:
    posted: list[dict[str, Any]] = []
    taken = server._post
    server._post = lambda request, kind, name, body: posted.append(body) or taken(request, kind, name, body)
    fabric = a_fabric(annotations={NETWORKS: "roce-0"}, shm_bytes=2**36)
    assert await tried(server, clock, fabric) == []
    (pod,) = posted
    assert pod["metadata"]["annotations"] == {**manifests.STAYING, NETWORKS: "roce-0"}
    assert pod["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] == "8"
    assert "name" not in pod["metadata"], "it could be the name of a run"
    assert not server.objects["pods"]
    assert not server.objects["services"]


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no node in the group": ({"group": "nobody"}, "group", "there are other, training"),
    "a group that is not for tasks": ({"group": "jupyter"}, "group", "there are other, training"),
    "a resource of no node": ({"resources": {"rdma/none": 1}}, "resources.rdma/none", "install its device plugin"),
    "more than any node has": ({"resources": {"rdma/hca": 9}}, "resources.rdma/hca", "has most, 8: ask for as many"),
    "only another group has it": ({"group": "other"}, "resources.rdma/hca", "no node of other has as many"),
    "a GPU": ({"resources": {"nvidia.com/gpu": 1}}, "resources.nvidia.com/gpu", "leave it out"),
    "more than memory": ({"shm_bytes": 2**40}, "shm_bytes", "ask for 230.4 GiB or less"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_no_node_can_give_is_refused_with_the_remedy(server, clock, nodes, name) -> None:
    fields, field, remedy = REFUSED[name]
    with pytest.raises(FabricRefused, match=re.escape(remedy)) as refused:
        await tried(server, clock, a_fabric(**fields))
    assert refused.value.field == field
    assert server.count("POST", "/pods") == 0


async def test_two_resources_that_no_node_has_both_are_refused(server, clock) -> None:
    server.put("nodes", a_node("node-1", a__x="1"))
    server.put("nodes", a_node("node-2", b__y="1"))
    with pytest.raises(FabricRefused, match="make two node groups"):
        await tried(server, clock, a_fabric(resources={"a/x": 1, "b/y": 1}))


async def test_nodes_that_have_fewer_are_warned_of_by_name(server, clock, nodes) -> None:
    for number in range(3, 10):
        server.put("nodes", a_node(f"n-{number}", rdma__hca="4"))
    (said,) = await tried(server, clock, a_fabric())
    assert said.startswith("resources: 7 of 9 nodes have fewer")
    assert "n-3, n-4, n-5, n-6, n-7 and 2 more" in said


@pytest.mark.parametrize(("shared", "said"), [(False, ["resources.rdma/hca: a task of one GPU of 8"]), (True, [])])
async def test_shares_that_are_rounded_down_to_none_are_warned_of(server, clock, nodes, shared, said) -> None:
    found = await tried(server, clock, a_fabric(resources={"rdma/hca": 4}, shared=shared))
    assert [text[:42] for text in found] == said


def refuses(server, words: str, status: int = 403) -> None:
    def post(*_: object) -> web.Response:
        return web.json_response(
            {"kind": "Status", "message": words, "reason": "Forbidden", "code": status}, status=status
        )

    server._post = post


SECURITY = (
    'pods "hai-trial-x" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)'
)


async def test_a_namespace_that_allows_no_host_network_is_named_with_the_setting(server, clock, nodes) -> None:
    refuses(server, SECURITY)
    with pytest.raises(FabricRefused, match=r"workloads\.podSecurity: privileged") as refused:
        await tried(server, clock, a_fabric(host_network=True))
    assert (refused.value.field, refused.value.value) == ("host_network", True)
    assert "namespace runs" in str(refused.value)


async def test_a_policy_that_refuses_the_pod_is_quoted(server, clock, nodes) -> None:
    refuses(server, 'admission webhook "check.example" denied the request: no networks here')
    with pytest.raises(FabricRefused, match="no networks here; change the fabric, or that rule"):
        await tried(server, clock, a_fabric(annotations={NETWORKS: "roce-0"}))


@pytest.mark.parametrize(
    "words",
    [
        'admission webhook "check.example" does not support dry run',
        'pods "hai-trial-x" is forbidden: exceeded quota: gpus, requested: requests.rdma/hca=8, used: 8, limited: 8',
    ],
    ids=["a webhook that cannot try", "a quota that others use now"],
)
async def test_what_says_nothing_of_the_fabric_is_a_warning(server, clock, nodes, words) -> None:
    refuses(server, words)
    (said,) = await tried(server, clock, a_fabric())
    assert words in said


async def test_a_server_that_cannot_be_asked_is_no_answer(server, clock, nodes) -> None:
    server.fail("POST", "/pods", 503, times=1000)
    with pytest.raises(Temporary):
        await tried(server, clock, a_fabric())
    assert json.dumps(server.objects["pods"]) == "{}"


def test_of_ten_thousand_drawn_runs_none_gets_devices_that_are_for_others() -> None:
    drawn, settings, node = Random(32), some_settings(), capacity(gpus=8)
    subjects = ["public", "user:ann", "user:bob", "group:cv", "group:nlp", "user:cv", "group:ann"]
    given = 0
    for number in range(1, 10_001):
        rows = [a_fabric(drawn.choice(["training", "other"]), subject=one) for one in drawn.sample(subjects, 2)]
        user, groups = drawn.choice(["ann", "bob", "eve", "cv"]), set(drawn.sample(["cv", "nlp", "ann"], 1))
        fabric, gpus = fabric_of(rows, "training", user, groups), drawn.choice([(), ((0, 1),)])
        pod = manifests.pod(a_launch(number, user=user, fabric=fabric, gpus=gpus), 0, node, settings, OWNER)
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        mine = {"public", f"user:{user}", *(f"group:{name}" for name in groups)}
        may = any(row.group == "training" and row.subject in mine for row in rows)
        assert limits.get("rdma/hca") == (("2" if gpus else "8") if may else None), (user, groups, rows)
        given += may
    assert 2000 < given < 8000, "both were drawn"
