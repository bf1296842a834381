"""Objects that are sent to the API server, compared with golden files; HAI_WRITE_GOLDEN=1 rewrites the files."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.core.model.leaving import Signal, SignalName
from hai_scheduler.core.model.secret_refs import SecretRef
from hai_scheduler.core.workspace.builds import BuildSettings, BuildTask
from hai_scheduler.core.workspace.fabrics import NETWORKS, Fabric
from hai_scheduler.core.workspace.identity import Identity, UnixGroup
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.cluster import GivenSecret, LaunchOrder
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.workspace.pinning import Pinning
from kit import schemas
from kit.builders import a_fabric, a_launch, a_pin
from kit.pod_security import faults
from unit.adapters.kubernetes.things import OWNER, capacity, some_settings

GOLDEN = Path(__file__).parent / "golden"
DATA = Mount(kind=MountKind.PVC, source="datasets", sub_path="alice", mount_path="/data")
SCRATCH = Mount(kind=MountKind.HOST_PATH, source="/local/ssd", mount_path="/scratch", read_only=False)
GANG = a_launch(
    41,
    2,
    nodes=("node-1", "node-2"),
    user="Änne@lab",
    grace=timedelta(seconds=300),
    env={"LR": "0.1", "JUPYTERHUB_API_TOKEN": "not for a task"},
    mounts=(DATA, SCRATCH),
    image="registry.example/torch:2",
    python="/envs/torch/bin/python",
)
PART = a_launch(7, gpus=((1, 4),))
CLUSTER = some_settings(
    tolerations=({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},),
    image_pull_secrets=("registry",),
    runtime_class="nvidia",
    priority_class="training",
    memory_limit_share=0.9,
)
SIMPLE = some_settings(
    client_config_map="hai-client",
    binding="direct",
    log_claim="hai-logs",
    shm_size="",
    cpu_share=0,
    memory_share=0,
)
FABRICS: dict[str, tuple[Fabric, tuple[tuple[int, ...], ...]]] = {
    "devices": (a_fabric(), ()),
    "devices-two-gpus-of-eight": (a_fabric(resources={"rdma/hca": 8, "rdma/few": 2}), ((1, 4), (0, 1))),
    "shared-devices-two-gpus-of-eight": (a_fabric(shared=True), ((1, 4), (0, 1))),
    "networks": (a_fabric(annotations={NETWORKS: "roce-0,roce-1"}, memlock_bytes=2**33), ()),
    "large-shm": (a_fabric(resources={}, shm_bytes=64 * 2**30), ()),
    "host-network": (a_fabric(host_network=True), ()),
}
ON_FABRICS = {
    name: a_launch(8, nodes=("node-1", "node-2"), fabric=fabric, gpus=gpus) for name, (fabric, gpus) in FABRICS.items()
}
#: The environments of haienv by a mount rule, and a task that is pinned to one of them.
ENVIRONMENTS = Mount(kind=MountKind.PVC, source="haienv", mount_path="/envs", read_only=False)
ENVIRONMENTS_READ = replace(ENVIRONMENTS, read_only=True)
PINNED = Pinning(haienvs=HaienvFolder(Path("/envs"))).order_with(
    a_launch(9, user="ann", env={"LR": "0.1"}, mounts=(ENVIRONMENTS,)), a_pin(variables={"A": "1"}), {}, ["cv", "ml"]
)
#: A build for a group, as the account of builds, with the group's folder alone to write to.
BUILD = replace(
    Pinning(
        haienvs=HaienvFolder(Path("/envs")), builder=BuildSettings(image="quay.io/hai/singleuser:1")
    ).order_of_build(
        a_launch(10, user="ann", command=("haienv", "rebuild", "groups/cv/v"), mounts=(ENVIRONMENTS_READ,)),
        BuildTask(environment="groups/cv/v", admin=False),
        ["cv"],
    ),
    identity=Identity(name="hai-build", uid=1001, groups=(UnixGroup(gid=100),)),
    folders_of="1001",
)
#: The same where the environments are a claim of the cluster's, as the chart sets it up.
BY_CLAIM = replace(BUILD, mounts=())
WITH_CLAIM = some_settings(
    haienv_claim="haienv",
    haienv_root="/envs",
    haienv_image="quay.io/hai/singleuser:1",
    haienv_makers=60100,
    haienv_build_variables={"UV_PYTHON_PREFERENCE": "only-managed"},
)
#: A cluster whose pods reach the internet by a proxy alone, and trust authorities of its own.
BY_PROXY = some_settings(
    internet="proxy",
    proxy="http://proxy.example.org:3128",
    no_proxy=("hub.hai.svc", ".example.org"),
    authorities_config_map="our-authorities",
    authorities_key="bundle.pem",
)
CASES: dict[str, dict[str, Any]] = {
    "service": manifests.service(GANG),
    "service-of-one-rank": manifests.service(PART),
    "secret": manifests.secret(GANG, CLUSTER, OWNER),
    "pod-whole-node": manifests.pod(GANG, 1, capacity(), CLUSTER, OWNER),
    "pod-two-gpus-of-eight": manifests.pod(PART, 0, capacity(), some_settings(), OWNER),
    "pod-direct-without-gpus-and-init-container": manifests.pod(a_launch(), 0, capacity(gpus=0), SIMPLE, OWNER),
    "pod-pinned-environment": manifests.pod(PINNED, 0, capacity(), some_settings(), OWNER),
    "secret-pinned-environment": manifests.secret(PINNED, some_settings(), OWNER),
    "pod-build": manifests.pod(BUILD, 0, capacity(), some_settings(), OWNER),
    "pod-build-by-claim": manifests.pod(BY_CLAIM, 0, capacity(), WITH_CLAIM, OWNER),
    "secret-build-by-claim": manifests.secret(BY_CLAIM, WITH_CLAIM, OWNER),
    **{
        f"pod-fabric-{name}": manifests.pod(launch, 0, capacity(), some_settings(), OWNER)
        for name, launch in ON_FABRICS.items()
    },
    "pod-by-proxy": manifests.pod(a_launch(), 0, capacity(), BY_PROXY, OWNER),
    "pod-authorities-of-a-secret": manifests.pod(
        a_launch(), 0, capacity(), some_settings(authorities_secret="our-authorities"), OWNER
    ),
    "secret-by-proxy": manifests.secret(a_launch(env={"LR": "0.1"}), BY_PROXY, OWNER),
    "secret-fabric-host-network": manifests.secret(ON_FABRICS["host-network"], some_settings(), OWNER),
}


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_as_its_golden_file_says(name: str) -> None:
    file = GOLDEN / f"{name}.json"
    text = json.dumps(CASES[name], indent=2, ensure_ascii=False) + "\n"
    if "HAI_WRITE_GOLDEN" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_strictly_valid(name: str) -> None:
    schemas.check(CASES[name])


def test_every_golden_file_is_of_a_case() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == CASES.keys()


def only(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["spec"]["containers"]
    return container


#: What an admin chooses is outside of the standard: folders of nodes by mount rules, the network of nodes by fabrics.
CHOSEN = {
    "pod-whole-node": ["restrictedVolumes: volume mount-1 is a hostPath"],
    "pod-fabric-host-network": ["hostNamespaces: hostNetwork is set"],
}


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("pod")])
def test_every_pod_keeps_to_the_restricted_profile(name: str) -> None:
    assert faults(CASES[name]) == CHOSEN.get(name, [])
    assert CASES[name]["spec"]["automountServiceAccountToken"] is False
    assert CASES[name]["spec"]["enableServiceLinks"] is False


def test_nothing_secret_is_anywhere_but_in_the_secret() -> None:
    launch = a_launch(env={"WANDB_KEY": "sesame"}, token=Secret("the-token"))
    shown = [manifests.service(launch), manifests.pod(launch, 0, capacity(), CLUSTER, OWNER)]
    assert "sesame" not in json.dumps(shown)
    assert "the-token" not in json.dumps(shown)
    kept = manifests.secret(launch, CLUSTER, OWNER)
    assert kept["stringData"]["token"] == "the-token"
    assert json.loads(kept["stringData"]["spec.json"])["env"] == {"WANDB_KEY": "sesame"}


def test_secrets_of_the_user_are_a_file_of_their_own_in_the_secret_alone() -> None:
    value = base64.b64encode(b"canary").decode()
    refs = (SecretRef.parse("HF_TOKEN=hf"), SecretRef.parse("~/.netrc=netrc"))
    launch = replace(GANG, secrets=tuple(GivenSecret(ref=ref, value=Secret(value)) for ref in refs))
    data = manifests.secret(launch, CLUSTER, OWNER)["stringData"]
    assert data.keys() == {"spec.json", "token", "secrets.json"}
    assert json.loads(data["secrets.json"]) == {
        "schema": 1,
        "secrets": [
            {"name": "hf", "variable": "HF_TOKEN", "path": None, "value": value},
            {"name": "netrc", "variable": None, "path": "~/.netrc", "value": value},
        ],
    }
    assert json.loads(data["spec.json"])["has_secrets"] is True
    others = [manifests.service(launch), *(manifests.pod(launch, rank, capacity(), CLUSTER, OWNER) for rank in (0, 1))]
    said = data["spec.json"] + json.dumps(others)
    assert not any(word in said for word in (value, "canary", "HF_TOKEN", "netrc"))
    assert "secrets.json" not in manifests.secret(GANG, CLUSTER, OWNER)["stringData"]


def test_how_it_is_told_to_leave_and_where_it_saves_besides_reach_the_supervisor() -> None:
    signal = Signal(name=SignalName.USR1, before=timedelta(seconds=60))
    told = a_launch(profile="auto", signal=signal, patience=timedelta(seconds=5), watch=("out/last.pt",))
    spec = manifests.spec(told, CLUSTER)
    wanted = {"profile": "auto", "signal": "USR1", "signal_before_s": 60.0, "patience_s": 5.0, "watch": ["out/last.pt"]}
    assert {name: spec[name] for name in wanted} == wanted


def test_variables_of_the_hub_do_not_reach_a_task() -> None:
    spec = json.loads(CASES["secret"]["stringData"]["spec.json"])
    assert spec["env"] == {"LR": "0.1"}


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("devices", {"rdma/hca": "8"}),
        # A fourth of two is none, and nothing is asked for that is not there.
        ("devices-two-gpus-of-eight", {"rdma/hca": "2"}),
        ("shared-devices-two-gpus-of-eight", {"rdma/hca": "1"}),
        ("large-shm", {}),
    ],
)
def test_a_rank_requests_its_share_of_the_devices_of_its_fabric(name: str, devices: dict[str, str]) -> None:
    resources = only(CASES[f"pod-fabric-{name}"])["resources"]
    for part in resources.values():
        assert {key: value for key, value in part.items() if key.startswith("rdma/")} == devices


def test_networks_of_a_fabric_come_beside_the_annotations_of_the_settings() -> None:
    settings = some_settings(extra_annotations={"team": "ml", NETWORKS: "management"})
    pod = manifests.pod(ON_FABRICS["networks"], 0, capacity(), settings, OWNER)
    assert pod["metadata"]["annotations"] == {**manifests.STAYING, "team": "ml", NETWORKS: "roce-0,roce-1"}


def test_runs_in_the_network_of_their_nodes_have_ports_of_their_own() -> None:
    def port(task: int, number: int, fabric: Fabric | None) -> int:
        return int(manifests.spec(a_launch(task, number, fabric=fabric), some_settings())["master_port"])

    there = a_fabric(host_network=True)
    found = {port(task, number, there) for task in range(1, 20) for number in (1, 2)}
    assert len(found) > 30
    assert all(20000 <= one < 30000 for one in found), "none that Kubernetes or the kernel gives"
    assert port(7, 1, there) == port(7, 1, there)
    assert {port(7, 1, None), port(7, 2, a_fabric())} == {29500}


@pytest.mark.parametrize(
    ("fabric", "told"),
    [
        (None, None),
        (a_fabric(memlock_bytes=2**33), 2**33),
        (a_fabric(memlock_bytes=0), None),
        (a_fabric(resources={}, variables={"NCCL_SOCKET_IFNAME": "eth"}), None),
    ],
    ids=["no fabric", "devices", "no look", "no devices"],
)
def test_a_supervisor_knows_how_much_memory_it_must_be_able_to_lock(fabric: Fabric | None, told: int | None) -> None:
    assert manifests.spec(a_launch(fabric=fabric), some_settings()).get("memlock_bytes") == told


def test_a_whole_node_rank_requests_all_gpus_and_its_share_of_the_rest() -> None:
    resources = only(manifests.pod(a_launch(), 0, capacity(gpus=8), some_settings(), OWNER))["resources"]
    assert resources["requests"] == {
        "nvidia.com/gpu": "8",
        "cpu": "51200m",
        "memory": f"{int(512 * 1024 * 0.8)}Mi",
        "ephemeral-storage": "0",
    }
    assert resources["limits"]["nvidia.com/gpu"] == "8"


def test_a_rank_of_k_gpus_requests_k_and_as_many_shares_of_the_rest() -> None:
    resources = only(manifests.pod(PART, 0, capacity(gpus=8), some_settings(), OWNER))["resources"]
    assert resources["requests"] == {
        "nvidia.com/gpu": "2",
        "cpu": "12800m",
        "memory": f"{int(512 * 1024 * 0.2)}Mi",
        "ephemeral-storage": "0",
    }


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("pod")])
def test_every_container_and_every_volume_of_a_pod_has_a_limit(name: str) -> None:
    spec = CASES[name]["spec"]
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        assert {"memory", "ephemeral-storage"} <= container["resources"]["limits"].keys()
    folders = {volume["name"]: volume["emptyDir"] for volume in spec["volumes"] if "emptyDir" in volume}
    assert "sizeLimit" in folders["hai"]


def test_a_memory_limit_is_never_below_the_request() -> None:
    settings = some_settings(memory_share=0.8, memory_limit_share=0.5)
    resources = only(manifests.pod(a_launch(), 0, capacity(), settings, OWNER))["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == f"{256 * 1024}Mi"


def test_an_evicted_pod_has_the_tasks_grace_and_time_for_its_last_words() -> None:
    spec = CASES["pod-whole-node"]["spec"]
    assert spec["terminationGracePeriodSeconds"] == 300 + 10 + 5
    env = {item["name"]: item.get("value") for item in only(CASES["pod-whole-node"])["env"]}
    assert env["HAI_TERMINATION_GRACE"] == "315"


WITH_ENVIRONMENTS = {"haienv_claim": "envs", "haienv_root": "/envs"}


def test_every_rank_sees_the_environments_and_cannot_write_them() -> None:
    pod = manifests.pod(a_launch(mounts=(DATA,)), 0, capacity(), some_settings(**WITH_ENVIRONMENTS), OWNER)
    mounts = only(pod)["volumeMounts"]
    assert [mount for mount in mounts if mount["name"] == "haienv"] == [
        {"name": "haienv", "mountPath": "/envs", "readOnly": True}
    ]
    (volume,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "haienv"]
    assert volume["persistentVolumeClaim"] == {"claimName": "envs", "readOnly": True}
    schemas.check(pod)


def test_ranks_run_a_copy_of_their_environment_on_the_nodes_own_disk() -> None:
    pin = a_pin()
    prefix = f"/envs/{pin.name}/generations/{pin.generation}/prefix"
    settings = some_settings(**WITH_ENVIRONMENTS, haienv_local_claim="disk", haienv_image="lab:1")
    launch = a_launch(user="ann", env={"HAI_VENV": prefix}, haienv=pin)
    pod = manifests.pod(launch, 0, capacity(), settings, OWNER)
    fetch, bring = pod["spec"]["initContainers"]
    assert fetch["command"] == [
        "haienv", "fetch", pin.reference, "--digest", pin.digest, "--to", "/hai/environments", "--days", "30",
    ]  # fmt: skip
    assert (fetch["image"], bring["name"]) == ("lab:1", "hai-init")
    assert fetch["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    mounts = only(pod)["volumeMounts"]
    (copy,) = [mount for mount in mounts if mount["name"] == "haienv-local"]
    inside = f"{pin.digest.replace(':', '-')}/prefix"
    assert copy == {"name": "haienv-local", "mountPath": prefix, "subPath": inside, "readOnly": True}
    shared = next(mount for mount in mounts if mount["name"] == "haienv")
    assert mounts.index(shared) < mounts.index(copy), "a folder is mounted before those in it"
    schemas.check(pod)

    # What a user says of a Python alone makes no copy and no mount.
    plain = manifests.pod(a_launch(env={"HAI_VENV": "/evil", "HAIENV": "x@1"}), 0, capacity(), settings, OWNER)
    assert [one["name"] for one in plain["spec"]["initContainers"]] == ["hai-init"]
    assert "haienv-local" not in {volume["name"] for volume in plain["spec"]["volumes"]}


def test_a_mount_rule_for_the_folder_of_environments_goes_before_the_claim() -> None:
    rule = Mount(kind=MountKind.HOST_PATH, source="/files/envs", mount_path="/envs", read_only=True)
    pod = manifests.pod(a_launch(mounts=(rule,)), 0, capacity(), some_settings(**WITH_ENVIRONMENTS), OWNER)
    (seen,) = [mount for mount in only(pod)["volumeMounts"] if mount["mountPath"] == "/envs"]
    (volume,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == seen["name"]]
    assert volume["hostPath"]["path"] == "/files/envs"


@pytest.mark.parametrize(
    "order", [GANG, PART, PINNED, BUILD, BY_CLAIM], ids=["gang", "part", "pinned", "build", "claim"]
)
def test_every_pod_has_the_admins_labels_and_annotations_and_all_of_its_own(order: LaunchOrder) -> None:
    plain = replace(WITH_CLAIM, haienv_local_claim="disk")
    more = replace(plain, extra_labels={"example.org/team": "ml"}, extra_annotations={"note": "any text: yes"})
    before, after = (manifests.pod(order, 0, capacity(), settings, OWNER) for settings in (plain, more))
    own = before["metadata"].pop("annotations")
    assert after["metadata"].pop("annotations") == {**own, "note": "any text: yes"}
    assert after["metadata"]["labels"].pop("example.org/team") == "ml"
    assert after == before


def test_autoscalers_are_asked_to_leave_nodes_of_ranks_alone_unless_an_admin_says_otherwise() -> None:
    key = "cluster-autoscaler.kubernetes.io/safe-to-evict"
    asked = manifests.pod(GANG, 0, capacity(), CLUSTER, OWNER)["metadata"]["annotations"]
    assert asked == {key: "false", "karpenter.sh/do-not-disrupt": "true"}
    otherwise = replace(CLUSTER, extra_annotations={key: "true"})
    assert manifests.pod(GANG, 0, capacity(), otherwise, OWNER)["metadata"]["annotations"][key] == "true"


def test_an_extra_label_takes_none_of_the_platforms_away() -> None:
    wrong = replace(CLUSTER, extra_labels={"app.kubernetes.io/managed-by": "me", "hai.jupyter.org/run": "9"})
    assert manifests.pod(GANG, 0, capacity(), wrong, OWNER) == manifests.pod(GANG, 0, capacity(), CLUSTER, OWNER)


def test_a_rank_in_the_network_of_its_node_is_not_told_that_the_network_is_closed() -> None:
    closed = replace(BY_PROXY, internet="none")
    assert manifests.spec(PART, closed)["internet"] == "none"
    assert "internet" not in manifests.spec(ON_FABRICS["host-network"], closed)
    assert "internet" not in manifests.spec(PART, CLUSTER)
