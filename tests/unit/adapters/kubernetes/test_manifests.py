"""Objects that are sent to the API server, compared with golden files; HAI_WRITE_GOLDEN=1 rewrites the files."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from hai_scheduler.adapters.environments.folder import HaienvFolder
from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.core.model.leaving import Signal, SignalName
from hai_scheduler.core.workspace.mounts import Mount, MountKind
from hai_scheduler.ports.secret import Secret
from hai_scheduler.service.workspace.pinning import Pinning
from kit.builders import a_launch, a_pin
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
RDMA = a_launch(8, rights=frozenset({"rdma"}))
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
WITH_RDMA = some_settings(rdma_groups=frozenset({"training"}), rdma_resources={"rdma/hca": 4})
#: The environments of haienv by a mount rule, and a task that is pinned to one of them.
ENVIRONMENTS = Mount(kind=MountKind.PVC, source="haienv", mount_path="/envs", read_only=False)
PINNED = Pinning(haienvs=HaienvFolder(Path("/envs"))).order_with(
    a_launch(9, user="ann", env={"LR": "0.1"}, mounts=(ENVIRONMENTS,)), a_pin(variables={"A": "1"}), {}, ["cv", "ml"]
)
CASES: dict[str, dict[str, Any]] = {
    "service": manifests.service(GANG),
    "service-of-one-rank": manifests.service(RDMA),
    "secret": manifests.secret(GANG, CLUSTER, OWNER),
    "pod-whole-node": manifests.pod(GANG, 1, capacity(), CLUSTER, OWNER),
    "pod-two-gpus-of-eight": manifests.pod(PART, 0, capacity(), some_settings(), OWNER),
    "pod-direct-without-gpus-and-init-container": manifests.pod(a_launch(), 0, capacity(gpus=0), SIMPLE, OWNER),
    "pod-pinned-environment": manifests.pod(PINNED, 0, capacity(), some_settings(), OWNER),
    "secret-pinned-environment": manifests.secret(PINNED, some_settings(), OWNER),
    "pod-rdma": manifests.pod(RDMA, 0, capacity(), WITH_RDMA, OWNER),
}


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_as_its_golden_file_says(name: str) -> None:
    file = GOLDEN / f"{name}.json"
    text = json.dumps(CASES[name], indent=2, ensure_ascii=False) + "\n"
    if "HAI_WRITE_GOLDEN" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", ["1.25", "1.34"])
@pytest.mark.parametrize("name", CASES)
def test_a_manifest_is_strictly_valid(name: str, version: str) -> None:
    kubernetes_validate.validate(CASES[name], version, strict=True)


def only(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["spec"]["containers"]
    return container


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("pod")])
def test_every_pod_keeps_to_the_restricted_profile(name: str) -> None:
    spec = CASES[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["runAsUser"] != 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        assert "privileged" not in container["securityContext"]


def test_nothing_secret_is_anywhere_but_in_the_secret() -> None:
    launch = a_launch(env={"WANDB_KEY": "sesame"}, token=Secret("the-token"))
    shown = [manifests.service(launch), manifests.pod(launch, 0, capacity(), CLUSTER, OWNER)]
    assert "sesame" not in json.dumps(shown)
    assert "the-token" not in json.dumps(shown)
    kept = manifests.secret(launch, CLUSTER, OWNER)
    assert kept["stringData"]["token"] == "the-token"
    assert json.loads(kept["stringData"]["spec.json"])["env"] == {"WANDB_KEY": "sesame"}


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
    ("rights", "groups", "allowed"),
    [({"rdma"}, {"training"}, True), (set(), {"training"}, False), ({"rdma"}, {"other"}, False)],
    ids=["both", "no right", "no policy"],
)
def test_rdma_needs_the_groups_policy_and_the_users_right(rights, groups, allowed) -> None:
    launch = a_launch(rights=frozenset(rights))
    settings = some_settings(rdma_groups=frozenset(groups), rdma_resources={"rdma/hca": 2})
    container = only(manifests.pod(launch, 0, capacity(), settings, OWNER))
    assert ("rdma/hca" in container["resources"]["limits"]) is allowed
    assert ("add" in container["securityContext"]["capabilities"]) is allowed


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


def test_the_platforms_folder_holds_the_log_that_is_kept_twice() -> None:
    settings = some_settings(log_max_bytes=4 * 1024**3)
    volumes = manifests.pod(a_launch(), 0, capacity(), settings, OWNER)["spec"]["volumes"]
    (folder,) = (volume["emptyDir"] for volume in volumes if volume["name"] == "hai")
    assert folder == {"sizeLimit": f"{8 * 1024 + 512}Mi"}


def test_a_memory_limit_is_never_below_the_request() -> None:
    settings = some_settings(memory_share=0.8, memory_limit_share=0.5)
    resources = only(manifests.pod(a_launch(), 0, capacity(), settings, OWNER))["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == f"{256 * 1024}Mi"


def test_a_pod_without_gpus_is_told_to_see_none() -> None:
    env = {item["name"]: item.get("value") for item in only(CASES["pod-direct-without-gpus-and-init-container"])["env"]}
    assert (env["HAI_GPUS"], env["NVIDIA_VISIBLE_DEVICES"]) == ("0", "void")


def test_an_evicted_pod_has_the_tasks_grace_and_time_for_its_last_words() -> None:
    spec = CASES["pod-whole-node"]["spec"]
    assert spec["terminationGracePeriodSeconds"] == 300 + 10 + 5
    env = {item["name"]: item.get("value") for item in only(CASES["pod-whole-node"])["env"]}
    assert env["HAI_TERMINATION_GRACE"] == "315"


def test_a_rank_sees_its_own_log_folder_alone() -> None:
    mounts = only(CASES["pod-direct-without-gpus-and-init-container"])["volumeMounts"]
    (log,) = [mount for mount in mounts if mount["name"] == "hai-log"]
    assert (log["mountPath"], log["subPath"]) == ("/hai/log", "1.1/0")


def test_the_same_source_is_one_volume() -> None:
    twice = (DATA, Mount(kind=MountKind.PVC, source="datasets", sub_path="shared", mount_path="/shared"))
    pod = manifests.pod(a_launch(mounts=twice), 0, capacity(), some_settings(), OWNER)
    claims = [volume for volume in pod["spec"]["volumes"] if "persistentVolumeClaim" in volume]
    assert len(claims) == 1
    seen = [(m["mountPath"], m["subPath"]) for m in only(pod)["volumeMounts"] if m["name"] == claims[0]["name"]]
    assert seen == [("/data", "alice"), ("/shared", "shared")]
