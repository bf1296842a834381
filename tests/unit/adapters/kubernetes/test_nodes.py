"""Nodes of Kubernetes as nodes of the platform."""

from __future__ import annotations

import pytest

from hai_scheduler.adapters.kubernetes.nodes import NodeReader
from hai_scheduler.core.model.node import Node
from unit.adapters.kubernetes.things import a_kube_node, some_settings


def read(node, **settings) -> Node | None:
    return NodeReader(some_settings(**settings)).read(node)


def test_group_leaf_zone_and_gpus_come_from_labels_and_allocatable() -> None:
    labels = {"hai.jupyter.org/leaf": "leaf-a", "topology.kubernetes.io/zone": "zone-1"}
    expected = Node(name="node-1", group="training", leaf="leaf-a", zone="zone-1", gpus=8)
    assert read(a_kube_node(labels=labels)) == expected


def test_other_labels_may_be_chosen() -> None:
    node = a_kube_node(labels={"pool": "debug", "switch": "s7"})
    assert read(node, group_label="pool", leaf_label="switch") == Node(name="node-1", group="debug", leaf="s7", gpus=8)


def test_a_node_without_a_group_is_not_ours() -> None:
    assert read(a_kube_node(labels={"hai.jupyter.org/group": ""})) is None


def test_a_group_that_is_not_for_tasks_is_left_out() -> None:
    assert read(a_kube_node(labels={"hai.jupyter.org/group": "jupyter"})) is None


def test_a_group_can_be_a_label_selector() -> None:
    node = a_kube_node(labels={"hai.jupyter.org/group": "", "gpu": "a100"})
    assert read(node, groups={"fast": "gpu in (a100,h100)"}) == Node(name="node-1", group="fast", gpus=8)


@pytest.mark.parametrize(
    ("groups", "names"),
    [({"fast": "gpu=a100"}, "fast and training"), ({"jupyter": "gpu=a100"}, "jupyter and training")],
    ids=["two for tasks", "one not for tasks"],
)
def test_a_node_in_two_groups_is_closed_and_says_which(groups, names) -> None:
    node = read(a_kube_node(labels={"gpu": "a100"}), groups=groups)
    assert node.closed
    assert names in node.message
    assert "correct the labels" in node.message


def test_gpus_of_several_resources_add_up() -> None:
    node = a_kube_node(gpus=2)
    node["status"]["allocatable"]["amd.com/gpu"] = "4"
    assert read(node, gpu_resources=("nvidia.com/gpu", "amd.com/gpu")).gpus == 6


def test_a_cordoned_node_is_closed() -> None:
    node = a_kube_node(unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    assert (read(node).closed, read(node).ready) == (True, True)
    assert read(node).message == "cordoned in Kubernetes (kubectl uncordon opens it)"


def test_a_node_that_is_not_ready_says_why() -> None:
    node = read(a_kube_node(ready="Unknown", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]))
    assert (node.ready, node.closed) == (False, False)
    assert node.message == "not ready since 2026-01-05T08:00:00Z: Kubelet stopped posting node status."


def test_a_taint_that_no_pod_tolerates_closes_the_node() -> None:
    node = a_kube_node(taints=[{"key": "burn-in", "value": "yes", "effect": "NoSchedule"}])
    assert read(node).closed
    assert "tainted burn-in=yes:NoSchedule" in read(node).message


@pytest.mark.parametrize(
    ("word", "effect", "closes"),
    [
        ("not-ready", "NoExecute", False),
        ("unreachable", "NoSchedule", False),
        ("unschedulable", "NoSchedule", False),
        ("memory-pressure", "NoSchedule", True),
        ("disk-pressure", "NoSchedule", True),
        ("pid-pressure", "NoSchedule", True),
        ("network-unavailable", "NoSchedule", True),
        ("out-of-service", "NoExecute", True),
        ("of-a-later-version", "NoSchedule", True),
        ("memory-pressure", "PreferNoSchedule", False),
    ],
)
def test_of_kubernetes_own_taints_those_alone_close_nothing_that_are_read_elsewhere(
    word: str, effect: str, closes: bool
) -> None:
    assert read(a_kube_node(taints=[{"key": f"node.kubernetes.io/{word}", "effect": effect}])).closed is closes


def test_a_node_under_pressure_says_what_its_kubelet_says() -> None:
    node = a_kube_node(taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}])
    node["status"]["conditions"].append(
        {"type": "DiskPressure", "status": "True", "message": "kubelet has disk pressure"}
    )
    assert "disk-pressure:NoSchedule (kubelet has disk pressure), which" in read(node).message


@pytest.mark.parametrize(
    ("taint", "tolerations"),
    [
        ({"key": "nvidia.com/gpu", "effect": "NoSchedule"}, ({"key": "nvidia.com/gpu", "operator": "Exists"},)),
        ({"key": "slow", "effect": "PreferNoSchedule"}, ()),
    ],
    ids=["tolerated", "a mere preference"],
)
def test_a_taint_that_does_not_keep_pods_away_closes_nothing(taint, tolerations) -> None:
    assert not read(a_kube_node(taints=[taint]), tolerations=tolerations).closed


def test_a_node_of_which_nothing_is_known_is_not_ready() -> None:
    node = read({"metadata": {"name": "new", "labels": {"hai.jupyter.org/group": "training"}}})
    assert (node.ready, node.gpus) == (False, 0)


#: A taint that others put on a node, its effect, whether runs there are told to leave, and whether it takes new ones.
TAKEN_AWAY = [
    ("ToBeDeletedByClusterAutoscaler", "NoSchedule", True, True),
    ("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule", False, False),
    ("karpenter.sh/disrupted", "NoSchedule", True, True),
    ("karpenter.sh/disruption", "NoSchedule", True, True),
    ("karpenter.sh/unregistered", "NoExecute", False, True),
    ("cloud.google.com/impending-node-termination", "NoSchedule", True, True),
    ("remediator.kubernetes.azure.com/unschedulable", "NoSchedule", True, True),
    ("aws-node-termination-handler/spot-itn", "NoSchedule", True, True),
    ("aws-node-termination-handler/scheduled-maintenance", "NoExecute", True, True),
    ("aws-node-termination-handler/rebalance-recommendation", "NoSchedule", False, True),
    ("medik8s.io/drain", "NoSchedule", True, True),
    ("medik8s.io/remediation", "NoExecute", True, True),
    ("burn-in", "NoSchedule", False, True),
]


@pytest.mark.parametrize(("key", "effect", "leaving", "closed"), TAKEN_AWAY, ids=[row[0] for row in TAKEN_AWAY])
def test_runs_leave_nodes_that_others_take_away(key: str, effect: str, leaving: bool, closed: bool) -> None:
    node = read(a_kube_node(taints=[{"key": key, "value": "1", "effect": effect}]))
    assert (node.leaving, node.closed) == (leaving, closed)
    assert ("being taken away" in node.message) is leaving


def test_a_toleration_keeps_no_machine_up() -> None:
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    node = read(a_kube_node(taints=[taint]), tolerations=({"operator": "Exists"},))
    assert (node.leaving, node.closed) == (True, True)
    assert node.message == "being taken away, as its taint karpenter.sh/disrupted:NoSchedule says"


def test_admins_choose_the_taints() -> None:
    taint = {"key": "nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"}
    assert not read(a_kube_node(taints=[taint])).leaving
    assert read(a_kube_node(taints=[taint]), drain_taints=frozenset({"nvidia.com/gpu-xid-error"})).leaving


def test_runs_leave_a_node_that_is_being_removed_from_kubernetes() -> None:
    node = a_kube_node()
    node["metadata"]["deletionTimestamp"] = "2026-01-05T08:00:00Z"
    assert (read(node).leaving, read(node).message) == (True, "being removed from Kubernetes")
