"""The table of `restricted`: a plain pod passes, and each check refuses what it is for."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kit.pod_security import CONTAINER_CHECKS, POD_CHECKS, faults

RIGHTS: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
GOOD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "runAsUser": 20017, "seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [{"name": "before", "securityContext": deepcopy(RIGHTS)}],
        "containers": [{"name": "rank", "securityContext": deepcopy(RIGHTS)}],
        "volumes": [{"name": "files", "downwardAPI": {}}, {"name": "data", "persistentVolumeClaim": {}}],
    },
}
#: By check: what is merged into the pod's spec.
POD: dict[str, dict[str, Any]] = {
    "hostNamespaces": {"hostNetwork": True},
    "restrictedVolumes": {"volumes": [{"name": "disk", "hostPath": {"path": "/"}}]},
    "sysctls": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
    "hostProcess": {"securityContext": {"windowsOptions": {"hostProcess": True}}},
    "runAsUser": {"securityContext": {"runAsUser": 0}},
    "seLinux": {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
}
#: By check: what is merged into the container, and into the rights of the pod.
CONTAINER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "privileged": ({"securityContext": {"privileged": True}}, {}),
    "hostPorts": ({"ports": [{"hostPort": 80}]}, {}),
    "allowPrivilegeEscalation": ({"securityContext": {"allowPrivilegeEscalation": None}}, {}),
    "capabilities": ({"securityContext": {"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}}, {}),
    "runAsNonRoot": ({"securityContext": {"runAsNonRoot": False}}, {}),
    "runAsUser": ({"securityContext": {"runAsUser": 0}}, {}),
    "seccompProfile": ({}, {"seccompProfile": {"type": "Unconfined"}}),
    "procMount": ({"securityContext": {"procMount": "Unmasked"}}, {}),
    "appArmor": ({"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, {}),
    "seLinux": ({"securityContext": {"seLinuxOptions": {"user": "system_u"}}}, {}),
}


def merged(into: Any, change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merged(into[key], value)
        else:
            into[key] = value


def test_a_pod_that_asks_for_nothing_passes() -> None:
    assert faults(GOOD) == []


def test_each_check_has_a_case() -> None:
    assert POD.keys() == POD_CHECKS.keys()
    assert CONTAINER.keys() == CONTAINER_CHECKS.keys()


@pytest.mark.parametrize("name", POD)
def test_a_check_of_a_pod_refuses_what_it_is_for(name: str) -> None:
    pod = deepcopy(GOOD)
    merged(pod["spec"], POD[name])
    assert {fault.partition(":")[0] for fault in faults(pod)} == {name}


@pytest.mark.parametrize("kind", ["initContainers", "containers"])
@pytest.mark.parametrize("name", CONTAINER)
def test_a_check_of_a_container_refuses_what_it_is_for(name: str, kind: str) -> None:
    pod = deepcopy(GOOD)
    own, of_pod = CONTAINER[name]
    merged(pod["spec"][kind][0], own)
    merged(pod["spec"]["securityContext"], of_pod)
    assert {fault.partition(":")[0] for fault in faults(pod)} == {name}


def test_an_annotation_cannot_switch_app_armor_off() -> None:
    pod = deepcopy(GOOD)
    pod["metadata"]["annotations"] = {"container.apparmor.security.beta.kubernetes.io/rank": "unconfined"}
    assert len(faults(pod)) == 1
