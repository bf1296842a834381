"""Which nodes are to blame for a rank that could not be started (H3), and which only had no room for it (F5)."""

from __future__ import annotations

import pytest

from hai_scheduler.adapters.kubernetes.blame import blame_for_end, blame_for_rejection, blame_for_waiting, has_no_room
from hai_scheduler.core.model.run import Blame
from unit.adapters.kubernetes.things import a_pod


def unscheduled(message: str | None, status: str = "False", kind: str = "PodScheduled") -> dict:
    return {"conditions": [{"type": "Ready", "status": "False"}, {"type": kind, "status": status, "message": message}]}


CLAIM = 'persistentvolumeclaim "datasets" not found'


@pytest.mark.parametrize(
    ("reason", "alone", "others_up"),
    [
        ("ErrImagePull", Blame.UNKNOWN, Blame.NODE),
        ("ImagePullBackOff", Blame.UNKNOWN, Blame.NODE),
        ("RegistryUnavailable", Blame.UNKNOWN, Blame.NODE),
        ("ErrImageNeverPull", Blame.UNKNOWN, Blame.NODE),
        ("ImageInspectError", Blame.UNKNOWN, Blame.NODE),
        ("InvalidImageName", Blame.NOBODY, Blame.NOBODY),
        ("CreateContainerConfigError", Blame.NOBODY, Blame.NOBODY),
        ("CreateContainerError", Blame.NODE, Blame.NODE),
        ("RunContainerError", Blame.NODE, Blame.NODE),
        ("ContainerCreating", Blame.NODE, Blame.NODE),
        (None, Blame.NODE, Blame.NODE),
    ],
)
def test_an_image_is_the_nodes_fault_only_where_others_have_it(reason, alone: Blame, others_up: Blame) -> None:
    waiting = {"reason": reason} if reason else {}
    assert blame_for_waiting(a_pod(), waiting, others_up=False) is alone
    assert blame_for_waiting(a_pod(), waiting, others_up=True) is others_up


@pytest.mark.parametrize(
    ("status", "blame"),
    [
        (unscheduled(CLAIM), Blame.NOBODY),
        (unscheduled(CLAIM.replace("persistentvolumeclaim", "PersistentVolumeClaim")), Blame.NOBODY),
        (unscheduled("0/3 nodes are available: 1 node(s) had untolerated taint {burn-in: }"), Blame.UNKNOWN),
        (unscheduled(None), Blame.NOBODY),
        (unscheduled(CLAIM, status="True"), Blame.NOBODY),
        (unscheduled(CLAIM, kind="Initialized"), Blame.NOBODY),
        ({"conditions": None}, Blame.NOBODY),
    ],
)
def test_a_node_is_not_to_blame_for_a_pod_that_it_has_never_heard_of(status: dict, blame: Blame) -> None:
    """A claim that is missing is missing on any node; a taint may be on this one alone."""
    assert blame_for_waiting(a_pod(node=None, **status), {}, others_up=True) is blame


#: Kubernetes' words in kinds, by version: kube-scheduler from 1.20 to 1.34, kubelets before and since 1.29.
FULL = [
    ("0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match node selector.", True),
    (
        (
            "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 node(s) didn't match Pod's node "
            "affinity/selector. preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 "
            "Preemption is not helpful for scheduling."
        ),
        True,
    ),
    ("0/2 nodes are available: 1 Too many pods, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].", True),
    ("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.", False),
    ("0/1 nodes are available: 1 node(s) were unschedulable.", False),
    ("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", False),
    ("", False),
]


@pytest.mark.parametrize(("message", "full"), FULL)
def test_f5_kube_scheduler_says_which_nodes_have_no_room(message: str, full: bool) -> None:
    pod = a_pod(node=None, **unscheduled(message))
    assert has_no_room(pod) is full
    if full:
        assert blame_for_waiting(pod, {}, others_up=True) is Blame.NOBODY


#: reason of a kubelet, its message, whether there was no room, what the node has to do with it
REJECTED = [
    ("OutOfcpu", "Pod Node didn't have enough resource: cpu, requested: 9, used: 8, capacity: 16", True, Blame.NOBODY),
    ("OutOfmemory", "Pod was rejected: Node didn't have enough resource: memory", True, Blame.NOBODY),
    ("OutOfcpu", "not enough: cpu, requested: 17, used: 0, capacity: 16", False, Blame.UNKNOWN),
    ("OutOfpods", "Pod was rejected: Node didn't have enough resource: pods", True, Blame.NOBODY),
    ("OutOfnvidia.com/gpu", "Pod was rejected: Node didn't have enough resource", True, Blame.NOBODY),
    (
        "UnexpectedAdmissionError",
        (
            "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            "Requested: 8, Available: 7, which is unexpected"
        ),
        True,
        Blame.NOBODY,
    ),
    (
        "UnexpectedAdmissionError",
        (
            "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
            "nvidia.com/gpu, which is unexpected"
        ),
        False,
        Blame.NODE,
    ),
    ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match", False, Blame.UNKNOWN),
    ("TaintToleration", "Predicate TaintToleration failed", False, Blame.UNKNOWN),
    ("TopologyAffinityError", "Resources cannot be allocated with Topology locality", False, Blame.UNKNOWN),
    ("OutOfDisk", "cannot be started due to lack of disk space", False, Blame.NODE),
    ("PodOSNotSupported", "Failed to admit pod", False, Blame.NODE),
    ("", "", False, Blame.NODE),
]


@pytest.mark.parametrize(("reason", "message", "full", "blame"), REJECTED, ids=lambda each: str(each)[:40])
def test_f5_a_kubelet_that_has_no_room_blames_nobody(reason: str, message: str, full: bool, blame: Blame) -> None:
    pod = a_pod(phase="Failed", reason=reason, message=message)
    assert (has_no_room(pod), blame_for_rejection(pod)) == (full, blame)


def test_f5_what_was_not_created_or_has_no_status_says_nothing_of_room() -> None:
    assert not has_no_room(None)
    assert not has_no_room({"metadata": {}, "status": None})


def test_a_pod_that_could_not_be_created_is_no_nodes_fault() -> None:
    assert blame_for_waiting(None, {}, others_up=True) is Blame.NOBODY


def test_a_pod_without_a_status_is_its_nodes() -> None:
    pod = {"metadata": {}, "spec": {"nodeName": "node-1"}, "status": None}
    assert blame_for_waiting(pod, {}, others_up=False) is Blame.NODE


@pytest.mark.parametrize(
    ("message", "blame"),
    [
        ('exec: "python3": executable file not found in $PATH: unknown', Blame.NOBODY),
        ("stat /opt/x: no such file or directory", Blame.NOBODY),
        ("failed to create shim task: OCI runtime create failed: nvidia-container-cli: device error", Blame.NODE),
        ("", Blame.NODE),
    ],
)
def test_a_program_that_the_image_lacks_is_no_nodes_fault(message: str, blame: Blame) -> None:
    assert blame_for_end(message) is blame
