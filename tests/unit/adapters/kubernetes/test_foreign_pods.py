"""Pods from outside of HAI: what they take of nodes, and the room that they leave (F5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from hai_scheduler.adapters.kubernetes import foreign_pods as module
from hai_scheduler.adapters.kubernetes.foreign_pods import ForeignPods, Room
from hai_scheduler.core.model.node import Node
from hai_scheduler.core.model.run import Blame, RankState
from kit.builders import a_launch
from kit.waiting import until
from unit.adapters.kubernetes.conftest import one
from unit.adapters.kubernetes.things import a_kube_node, a_pod, capacity, running, some_settings

Thing = dict[str, Any]


def foreign(name: str = "dcgm-0", *, node: str = "node-1", namespace: str = "ops", **more: Any) -> Thing:
    """A pod of somebody else; what it requests by resource, with `gpu` for short."""
    meta = {key: more.pop(key) for key in ("labels", "ownerReferences") if key in more}
    spec = {key: more.pop(key) for key in ("priority",) if key in more}
    asked = {{"gpu": "nvidia.com/gpu"}.get(key, key): text for key, text in more.items()}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"u-{name}", "resourceVersion": "7", **meta},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": asked}}], **spec},
        "status": {"phase": "Running"},
    }


def pods_of(*pods: Thing, stirred: list[str] | None = None, **settings: Any) -> ForeignPods:
    made = ForeignPods(some_settings(**settings), (stirred if stirred is not None else []).append)
    for pod in pods:
        made.changed(None, made.slim(pod))
    return made


#: sentence, what pods of others request on a node of 64 CPUs, 512 GiB and 8 GPUs, room on it (None: all)
ROOMS: list[tuple[str, list[Mapping[str, str]], int | None]] = [
    ("none", [], None),
    ("what is kept free for others", [{"cpu": "12", "memory": "100Gi"}], None),
    ("just as much as ranks leave", [{"cpu": "12800m"}], None),
    ("a little more", [{"cpu": "12801m"}], 7),
    ("half of what ranks request", [{"cpu": "38400m"}], 4),
    ("memory", [{"memory": "308Gi"}], 3),
    ("the scarcest counts", [{"cpu": "38400m", "memory": "308Gi"}], 3),
    ("a GPU", [{"gpu": "1"}], 7),
    ("all GPUs", [{"gpu": "4"}, {"gpu": "4"}], 0),
    ("all CPUs", [{"cpu": "64"}], 0),
    ("more than there is", [{"cpu": "100", "gpu": "9"}], 0),
    ("nothing requested", [{}], None),
]


@pytest.mark.parametrize(("asked", "room"), [row[1:] for row in ROOMS], ids=[row[0] for row in ROOMS])
def test_f5_a_gpu_is_a_share_of_what_a_whole_node_rank_requests(asked, room) -> None:
    pods = pods_of(*(foreign(f"p-{number}", **amounts) for number, amounts in enumerate(asked)))
    assert pods.room("node-1", capacity()).gpus == room
    assert pods.room("node-2", capacity()) == Room()


def test_f5_a_node_without_gpus_has_room_for_one_or_none() -> None:
    for cpu, room in (("12", None), ("13", 0)):
        assert pods_of(foreign(cpu=cpu)).room("node-1", capacity(gpus=0)).gpus == room


def test_f5_a_kubelet_takes_no_more_pods_than_it_may() -> None:
    pods = [foreign(f"p-{number}") for number in range(110)]
    assert pods_of(*pods[:-1]).room("node-1", capacity()).gpus is None
    assert pods_of(*pods).room("node-1", capacity()).gpus == 0


def test_f5_where_ranks_request_no_cpus_others_may_have_them() -> None:
    room = pods_of(foreign(cpu="64"), cpu_share=0.0).room("node-1", capacity())
    assert room.gpus is None


@pytest.mark.parametrize(
    ("settings", "rank", "counts"),
    [
        ({}, {}, False),
        ({}, {"priority": -20}, True),
        ({}, {"priority": 100, "preemptionPolicy": "Never"}, True),
        ({"binding": "direct"}, {"priority": 100}, True),
    ],
    ids=["removed for ranks", "ranks are lower still", "ranks remove nothing", "kubelets remove nothing"],
)
def test_f5_pods_that_kube_scheduler_removes_for_ranks_take_nothing(settings, rank, counts) -> None:
    stirred: list[str] = []
    pods = pods_of(foreign("filler", gpu="8", priority=-10), stirred=stirred, **settings)
    before, _ = pods.room("node-1", capacity()), stirred.clear()
    ours = a_pod()
    ours["spec"] |= rank
    pods.saw_rank(ours)
    after = pods.room("node-1", capacity())
    assert (after.gpus == 0) is counts
    assert stirred == (["node-1"] if after != before else []), "the node is read again where that changes something"
    pods.saw_rank(ours)
    assert len(stirred) <= 1


def test_f5_pods_of_runs_are_no_others_and_those_of_another_platform_are() -> None:
    ours = a_pod()
    ours["metadata"]["namespace"] = "runs"
    theirs = a_pod(a_launch(7))
    theirs["metadata"]["namespace"] = "other-hai"
    assert pods_of(ours).room("node-1", capacity()) == Room()
    assert pods_of(theirs).room("node-1", capacity()).gpus == 0


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"labels": {"app.kubernetes.io/name": "gpu-monitoring", "app": "dcgm"}}, "gpu-monitoring"),
        ({"labels": {"app": "dcgm"}}, "dcgm"),
        ({"labels": {"k8s-app": "flannel"}}, "flannel"),
        ({"ownerReferences": [{"name": "dcgm-exporter"}]}, "dcgm-exporter"),
        ({}, "dcgm-0"),
        ({"ownerReferences": [{"name": "x" * 200}]}, "x" * 63),
    ],
    ids=["name", "app", "k8s-app", "owner", "its own", "long"],
)
def test_f5_it_says_whose_pods_they_are(more, name) -> None:
    assert pods_of(foreign(gpu="1", **more)).room("node-1", capacity()).crowd == f"{name}, ns ops"


def test_f5_it_names_who_takes_the_most() -> None:
    small = [foreign(f"p-{number}", cpu="3", labels={"app": "web"}, namespace="shop") for number in range(4)]
    large = foreign("big", cpu="10", labels={"app": "db"}, namespace="shop")
    assert pods_of(large, *small).room("node-1", capacity()).crowd == "web, ns shop", "together they take more"
    assert pods_of(foreign(gpu="1"), large).room("node-1", capacity()).crowd == "dcgm-0, ns ops", "GPUs come first"


def test_f5_of_a_pod_only_what_it_takes_is_kept_and_its_status_stirs_nothing() -> None:
    stirred: list[str] = []
    pods = pods_of(stirred=stirred)
    pod = foreign(gpu="1", labels={"app": "dcgm"})
    pod["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "sesame"}]
    first = pods.slim(pod)
    assert "sesame" not in repr(first)
    pods.changed(None, first)
    pods.changed(first, pods.slim({**pod, "status": {"phase": "Running", "podIP": "10.0.0.9"}}))
    assert stirred == ["node-1"]
    pods.changed(first, None)
    assert stirred == ["node-1", "node-1"]
    assert pods.room("node-1", capacity()) == Room()


# -- against a server -----------------------------------------------------------------------------------------


async def nodes_when(cluster, met) -> list[Node]:
    async def look() -> list[Node] | None:
        nodes = list(await cluster.nodes())
        return nodes if met(nodes) else None

    return await until("the nodes to be so", look)


async def test_f5_pods_count_from_the_first_look_until_they_end(server, opened) -> None:
    server.put("pods", foreign(gpu="3"))
    cluster = opened(foreign_pods=("*",))
    first, second = await cluster.nodes()
    assert (first.room, first.crowd, second.room) == (5, "dcgm-0, ns ops", None)
    server.put("pods", {**foreign(gpu="3"), "status": {"phase": "Succeeded"}})
    await nodes_when(cluster, lambda nodes: nodes[0].room is None)
    server.put("pods", foreign("late", node="node-2", cpu="60"))
    await nodes_when(cluster, lambda nodes: (nodes[1].room, nodes[1].crowd) == (0, "late, ns ops"))
    server.remove("pods", "late")
    await nodes_when(cluster, lambda nodes: nodes[1].room is None)


async def test_f5_by_default_nobody_elses_pods_are_looked_at(server, opened) -> None:
    server.put("pods", foreign(gpu="3"))
    assert [node.room for node in await opened().nodes()] == [None, None]
    assert server.count("GET", "/api/v1/pods") == 0


async def test_f5_namespaces_may_be_chosen(server, opened) -> None:
    server.namespaces |= {"ops", "shop"}
    server.put("pods", foreign(gpu="3"))
    server.put("pods", foreign("web", namespace="shop", gpu="1"))
    cluster = opened(foreign_pods=("shop",))
    assert [node.room for node in await cluster.nodes()] == [7, None]
    assert server.count("GET", "/api/v1/pods") == 0


async def test_f5_5000_pods_cost_a_tick_nothing_and_a_change_one_pod(server, opened) -> None:
    for number in range(50):
        server.put("nodes", a_kube_node(f"node-{number + 1}"))
    for number in range(5_000):
        server.put("pods", foreign(f"p-{number}", node=f"node-{number % 50 + 1}", cpu="100m", gpu="0"))
    cluster = opened(foreign_pods=("*",))
    await cluster.nodes()
    with (
        patch.object(module, "pod_requests", wraps=module.pod_requests) as read,
        patch.object(module, "_room_beside", wraps=module._room_beside) as counted,
    ):
        for _ in range(100):
            await cluster.nodes()
            await cluster.observe()
        assert (read.call_count, counted.call_count) == (0, 0)
        server.put("pods", foreign("one-more", node="node-7", gpu="1"))
        await nodes_when(cluster, lambda nodes: any(node.room == 7 for node in nodes))
        assert (read.call_count, counted.call_count) == (1, 1)


async def test_f5_a_server_that_does_not_show_pods_of_others_keeps_nothing_waiting(server, opened, monkeypatch) -> None:
    monkeypatch.setattr("hai_scheduler.adapters.kubernetes.cluster_cache.FIRST_LOOK_S", 0.5)
    server.fail("GET", "/api/v1/pods", 403, times=10_000)
    cluster = opened(foreign_pods=("*",))
    await cluster.nodes()
    assert [node.room for node in await cluster.nodes()] == [None, None]


NO_ROOM = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity.",
}


async def test_f5_a_gang_that_meets_an_unseen_pod_is_gone_in_time_and_the_node_is_full_for_a_while(
    server, cluster, clock
) -> None:
    """In virtual time: 26 s after the launch, as kube-scheduler said at once that there is no room."""
    await cluster.launch(a_launch(nodes=("node-1", "node-2")))
    server.status("hai-1-1-0", **running())
    pod = server.objects["pods"]["hai-1-1-1"]
    said = {**NO_ROOM, "lastTransitionTime": clock.now().isoformat()}
    server.put("pods", {**pod, "status": {"phase": "Pending", "conditions": [said]}})
    clock.ahead = timedelta(seconds=26)

    async def told_to_end() -> bool:
        await cluster.observe()
        return "deletionTimestamp" in server.objects["pods"]["hai-1-1-0"]["metadata"]

    await until("the other rank to be told to end", told_to_end)
    server.remove("pods", "hai-1-1-0")

    async def gone() -> bool:
        return all(rank.state.gone for rank in (await one(cluster)).ranks)

    await until("all ranks to be gone", gone)
    ranks = (await one(cluster)).ranks
    assert [(rank.blame, rank.crowded) for rank in ranks if rank.start_error] == [(Blame.NOBODY, True)]
    assert [node.room for node in await cluster.nodes()] == [None, 7]
    clock.ahead += timedelta(minutes=5)
    assert [node.room for node in cluster._sight.platform_nodes()] == [None, None]


async def test_f5_a_rank_that_its_kubelet_rejects_for_want_of_room_leaves_the_node_that_full(server, opened) -> None:
    cluster = opened(binding="direct")
    await cluster.launch(a_launch(gpus=((0, 1),)))
    await cluster.launch(a_launch(2, gpus=((2, 3, 4),)))
    server.status("hai-1-1-0", **running())
    server.status("hai-2-1-0", phase="Failed", reason="OutOfcpu", message="Pod was rejected: not enough")

    async def rejected() -> bool:
        shown = [run for run in await cluster.observe() if run.run_id == "2.1"]
        return bool(shown) and shown[0].ranks[0].state is RankState.EXITED

    await until("the rejection to be seen", rejected)
    assert [node.room for node in await cluster.nodes()] == [4, None], "two GPUs run there, and three did not fit"
