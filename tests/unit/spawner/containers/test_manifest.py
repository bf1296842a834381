"""What is added to the pod that KubeSpawner has made: node groups and folders."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio.client.models import (
    V1Affinity,
    V1Container,
    V1NodeAffinity,
    V1NodeSelector,
    V1NodeSelectorRequirement,
    V1NodeSelectorTerm,
    V1Pod,
    V1PodAffinity,
    V1PodSpec,
    V1PreferredSchedulingTerm,
    V1Volume,
    V1VolumeMount,
)

from hai_client.wire.storage import Mounted
from hai_spawner.containers.manifest import add_mounts, require_group
from hai_spawner.containers.menu import Refusal, Why

LABEL = "hai.jupyter.org/group"
DISK = V1NodeSelectorRequirement(key="disk", operator="Exists")
NAME = V1NodeSelectorRequirement(key="metadata.name", operator="In", values=["n-9"])


def a_pod(affinity: V1Affinity | None = None, *, volumes: Any = None, volume_mounts: Any = None) -> V1Pod:
    container = V1Container(name="notebook", volume_mounts=volume_mounts)
    return V1Pod(spec=V1PodSpec(containers=[container], affinity=affinity, volumes=volumes))


def required(*terms: Any) -> V1Affinity:
    selector = V1NodeSelector(node_selector_terms=list(terms))
    return V1Affinity(node_affinity=V1NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


def a_folder(mount_path: str, source: str = "/data", *, kind: str = "host_path", **fields: Any) -> Mounted:
    known = {"rule": "r", "sub_path": "", "read_only": True, **fields}
    return Mounted(kind=kind, source=source, mount_path=mount_path, **known)


def terms_of(pod: V1Pod) -> list[tuple[list[tuple[str, Any]], list[str]]]:
    """Of each required term: keys and values of its expressions, and keys of its fields."""
    node = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    found = []
    for term in node.node_selector_terms:
        expressions = [_pair(one) for one in term.match_expressions or []]
        found.append((expressions, [_pair(one)[0] for one in term.match_fields or []]))
    return found


def _pair(one: Any) -> tuple[str, Any]:
    return (one["key"], one.get("values")) if isinstance(one, dict) else (one.key, one.values)


GROUP = (LABEL, ["jupyter", "notebooks"])
AFFINITIES: dict[str, tuple[V1Affinity | None, list[tuple[list[tuple[str, Any]], list[str]]]]] = {
    "none": (None, [([GROUP], [])]),
    "an empty one": (V1Affinity(), [([GROUP], [])]),
    "one of pods alone": (V1Affinity(pod_affinity=V1PodAffinity()), [([GROUP], [])]),
    "a selector without terms": (required(), [([GROUP], [])]),
    "a term": (required(V1NodeSelectorTerm(match_expressions=[DISK])), [([("disk", None), GROUP], [])]),
    "two terms": (
        required(V1NodeSelectorTerm(match_expressions=[DISK]), V1NodeSelectorTerm(match_fields=[NAME])),
        [([("disk", None), GROUP], []), ([GROUP], ["metadata.name"])],
    ),
    "a table in camel case": (
        required({"matchExpressions": [{"key": "disk", "operator": "Exists"}], "matchFields": [{"key": "f"}]}),
        [([("disk", None), GROUP], ["f"])],
    ),
    "a table in snake case": (
        required({"match_expressions": [{"key": "disk"}], "match_fields": [{"key": "f"}]}),
        [([("disk", None), GROUP], ["f"])],
    ),
    "an empty table": (required({}), [([GROUP], [])]),
}


@pytest.mark.parametrize(("affinity", "terms"), AFFINITIES.values(), ids=AFFINITIES)
def test_each_alternative_of_a_required_affinity_gets_the_group(affinity: Any, terms: Any) -> None:
    pod = a_pod(affinity)
    require_group(pod, LABEL, {"notebooks", "jupyter"})
    assert terms_of(pod) == terms


def test_other_parts_of_an_affinity_are_kept() -> None:
    prefers = [V1PreferredSchedulingTerm(weight=1, preference=V1NodeSelectorTerm(match_expressions=[DISK]))]
    given = V1Affinity(
        pod_affinity=V1PodAffinity(),
        node_affinity=V1NodeAffinity(preferred_during_scheduling_ignored_during_execution=prefers),
    )
    pod = a_pod(given)
    require_group(pod, LABEL, ["jupyter"])
    assert pod.spec.affinity.pod_affinity is not None
    assert pod.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution == prefers


def test_folders_of_one_source_share_a_volume_and_those_of_the_pod_stay() -> None:
    pod = a_pod(
        volumes=[V1Volume(name="home", empty_dir={})], volume_mounts=[V1VolumeMount(name="home", mount_path="/home")]
    )
    claim = {"kind": "pvc", "source": "sets"}
    add_mounts(
        pod,
        [
            a_folder("/data", read_only=False),
            a_folder("/a", **claim, sub_path="a"),
            a_folder("/b", **claim, sub_path="b"),
            a_folder("/c", kind="host_path", source="sets"),
        ],
    )
    mounts = [(m.name, m.mount_path, m.sub_path, m.read_only) for m in pod.spec.containers[0].volume_mounts]
    assert mounts == [
        ("home", "/home", None, None),
        ("hai-0", "/data", None, False),
        ("hai-1", "/a", "a", True),
        ("hai-1", "/b", "b", True),
        ("hai-2", "/c", None, True),
    ]
    home, data, sets, other = pod.spec.volumes
    assert home.name == "home"
    assert (data.name, data.host_path.path) == ("hai-0", "/data")
    assert (sets.name, sets.persistent_volume_claim.claim_name) == ("hai-1", "sets")
    assert (other.name, other.host_path.path) == ("hai-2", "sets"), "a claim and a folder of one name are two volumes"


def test_a_folder_of_the_node_must_exist() -> None:
    """The kubelet would make a missing one, empty and owned by root."""
    pod = a_pod()
    add_mounts(pod, [a_folder("/data")])
    assert pod.spec.volumes[0].host_path.type == "Directory"


@pytest.mark.parametrize(
    "present",
    [
        V1VolumeMount(name="v", mount_path="/home/ann/"),
        {"name": "v", "mountPath": "/home/ann"},
        {"name": "v", "mount_path": "/home/ann/"},
    ],
    ids=["model", "camel case", "snake case"],
)
@pytest.mark.parametrize("path", ["/home/ann", "/home/ann/"])
def test_a_path_that_the_spawner_mounts_itself_is_refused_and_the_pod_left_as_it_is(present: Any, path: str) -> None:
    pod = a_pod(volume_mounts=[present])
    with pytest.raises(Refusal, match=f"Two folders are mounted at {path}: .* volume_mounts") as refused:
        add_mounts(pod, [a_folder("/data"), a_folder(path)])
    assert refused.value.why is Why.SCHEDULER
    assert pod.spec.containers[0].volume_mounts == [present]
    assert pod.spec.volumes is None


def test_a_path_below_one_that_is_mounted_is_no_conflict() -> None:
    pod = a_pod(volume_mounts=[V1VolumeMount(name="v", mount_path="/home")])
    add_mounts(pod, [a_folder("/home/ann")])
    assert [mount.mount_path for mount in pod.spec.containers[0].volume_mounts] == ["/home", "/home/ann"]
