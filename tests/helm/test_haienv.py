"""The volume of the environments of haienv: who sees it, who may write what, and what makes its folders."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from kit.helm.matrix import MATRIX
from kit.helm.rendering import Object, Render, Rendered

STATIC = MATRIX["environments on a server of files"]
DYNAMIC = MATRIX["environments on a claim of the chart's"]


def only_job(made: Rendered) -> Object:
    (job,) = made.all("Job")
    return job


def mounts_of(pod: Object, name: str) -> dict[str, Object]:
    (container,) = (one for one in pod["containers"] if one["name"] == name)
    return {mount["mountPath"]: mount for mount in container["volumeMounts"] if mount["name"] == "haienv"}


def test_there_are_none_unless_they_are_asked_for(render: Render) -> None:
    assert "haienv" not in render().text.replace("HAIENV", "").partition("kind: Deployment")[2]
    assert render().all("Job") == []


def test_both_namespaces_have_a_claim_on_the_same_files(render: Render) -> None:
    made = render(STATIC)
    volumes = {one["metadata"]["name"]: one["spec"] for one in made.all("PersistentVolume")}
    claims = [one for one in made.all("PersistentVolumeClaim") if one["metadata"]["name"] == "haienv"]
    assert {one["metadata"]["namespace"] for one in claims} == {"platform", "platform-work"}
    for claim in claims:
        volume = volumes[claim["spec"]["volumeName"]]
        assert volume["claimRef"] == {"namespace": claim["metadata"]["namespace"], "name": "haienv"}
        assert volume["nfs"] == {"server": "files.example", "path": "/envs"}
        assert volume["persistentVolumeReclaimPolicy"] == "Retain"
        assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_one_namespace_needs_one_claim(render: Render) -> None:
    made = render(DYNAMIC)
    (claim,) = (one for one in made.all("PersistentVolumeClaim") if one["metadata"]["name"] == "haienv")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "storageClassName" not in claim["spec"], "the cluster's default"
    assert made.all("PersistentVolume") == []


@pytest.mark.parametrize(
    ("haienv", "words"),
    [
        ({}, "cannot be in two namespaces, platform and platform-work: write workloads.namespace: platform"),
        ({"volume": {"type": "static"}}, "haienv.volume.source"),
        ({"volume": {"type": "claim"}}, "name a claim in haienv.volume.existingClaim"),
        ({"root": "envs"}, "root"),
        ({"pythons": "any"}, "pythons"),
    ],
)
def test_what_cannot_work_is_refused_with_the_remedy(
    run_helm: Callable[..., subprocess.CompletedProcess[str]], haienv: dict[str, Any], words: str
) -> None:
    given = {"haienv": {"enabled": True, **haienv}}
    result = run_helm("template", "hai", "helm/hai", "--namespace", "platform", values=given)
    assert result.returncode != 0
    assert words in result.stderr


@pytest.mark.parametrize(
    ("values", "pods"), [(STATIC, ("scheduler", "api")), (DYNAMIC, ("hub",))], ids=["apart", "in the Hub's pod"]
)
def test_the_service_reads_environments_and_writes_its_references_alone(
    render: Render, values: dict[str, Any], pods: tuple[str, ...]
) -> None:
    made = render(values)
    root = values["haienv"].get("root", "/haienv")
    for name in pods:
        pod = dict(made.pods())[name]
        assert mounts_of(pod, name) == {
            root: {"name": "haienv", "mountPath": root, "readOnly": True},
            f"{root}/references/service": {
                "name": "haienv", "mountPath": f"{root}/references/service", "subPath": "references/service"
            },
        }  # fmt: skip
        # The kubelet would make the folder of the subPath, for root.
        (wait,) = (one for one in pod["initContainers"] if one["name"] == "wait-for-haienv")
        assert wait["command"][-1] == f"{root}/references/service"
        assert wait["volumeMounts"] == [{"name": "haienv", "mountPath": root, "readOnly": True}]
    if "hub" not in pods:
        assert "haienv" not in {volume["name"] for volume in dict(made.pods())["hub"]["volumes"]}


def test_copies_on_nodes_are_a_claim_of_a_folder_of_each_node(render: Render) -> None:
    made = render({**STATIC, "haienv": {**STATIC["haienv"], "local": {"path": "/var/lib/hai/envs"}}})
    claim = made.one("PersistentVolumeClaim", "haienv-local")
    assert claim["metadata"]["namespace"] == "platform-work"
    volume = made.one("PersistentVolume", claim["spec"]["volumeName"])
    assert volume["spec"]["hostPath"] == {"path": "/var/lib/hai/envs", "type": "Directory"}
    config = json.loads(made.one("ConfigMap", "scheduler")["data"]["config.json"])["KubernetesSettings"]
    assert (config["haienv_local_claim"], config["haienv_local_days"]) == ("haienv-local", 30)
    assert config["haienv_image"].startswith("hai-singleuser:")


def test_the_job_makes_the_folders_with_few_rights_and_where_no_user_is(render: Render) -> None:
    made = render(DYNAMIC)
    job = only_job(made)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == [
        "haienv", "init", "--makers", "60100", "--service", "1000", "--builder", "1000",
        "--config", "/etc/hai/haienv/config.toml",
    ]  # fmt: skip
    assert container["securityContext"] == {
        "runAsUser": 0,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert "namespace" not in job["metadata"] or job["metadata"]["namespace"] == "platform"
    assert "pypi.example" in made.one("ConfigMap", "haienv-init")["data"]["config.toml"]


#: What the standard `baseline` lets a container add.
BASELINE = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
OWNER = {"runAsUser": 5000, "capabilities": {"drop": ["ALL"], "add": []}}


@pytest.mark.parametrize(
    ("context", "standard"),
    [
        ({}, "baseline"),
        (OWNER, "restricted"),
        ({"runAsUser": 5000}, "baseline"),
        ({"capabilities": {"drop": ["ALL"], "add": []}}, "baseline"),
        ({**OWNER, "allowPrivilegeEscalation": True}, "baseline"),
    ],
    ids=["by default", "as the owner of the volume", "with capabilities", "as root", "with ways to gain rights"],
)
def test_the_notes_hold_the_namespace_to_the_standard_that_the_job_meets(
    render: Render,
    run_helm: Callable[..., subprocess.CompletedProcess[str]],
    context: dict[str, Any],
    standard: str,
) -> None:
    haienv = {**STATIC["haienv"], "initSecurityContext": context}
    pod = only_job(render({**STATIC, "haienv": haienv}))["spec"]["template"]["spec"]
    own = pod["containers"][0]["securityContext"]
    restricted = (
        pod["securityContext"]["runAsNonRoot"] is True
        and own["runAsUser"] > 0
        and own["allowPrivilegeEscalation"] is False
        and not own["capabilities"]["add"]
    )
    assert standard == ("restricted" if restricted else "baseline")
    assert set(own["capabilities"]["add"]) <= BASELINE
    assert own["capabilities"]["drop"] == ["ALL"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not any("hostPath" in volume for volume in pod["volumes"])
    words = ("install", "hai", "helm/hai", "--namespace", "platform", "--dry-run=client")
    said = run_helm(*words, values={**STATIC, "haienv": haienv}).stdout
    label = next(line for line in said.splitlines() if "kubectl label namespace platform" in line)
    assert f"/enforce={standard} " in label
    assert all(f"/{mode}=restricted " in label for mode in ("warn", "audit"))
    assert ("The Job haienv-init alone is not `restricted`" in said) is (standard == "baseline")


def test_other_settings_are_another_job_as_a_job_cannot_be_changed(render: Render) -> None:
    one, other = render(DYNAMIC), render({**DYNAMIC, "identity": {"uid": 2000}})
    assert only_job(one)["metadata"]["name"] != only_job(other)["metadata"]["name"]


@pytest.mark.parametrize(
    ("given", "wanted"), [({}, "own"), ({"readable": "all"}, "all")], ids=["by default", "as it is asked for"]
)
def test_tasks_are_shown_the_environments_of_their_users(render: Render, given: dict[str, Any], wanted: str) -> None:
    made = render({**STATIC, "haienv": {**STATIC["haienv"], **given}})
    config = json.loads(made.one("ConfigMap", "scheduler")["data"]["config.json"])["KubernetesSettings"]
    assert config["haienv_readable"] == wanted
