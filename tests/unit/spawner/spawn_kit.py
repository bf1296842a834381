"""Values for the tests of sizes, limits and capacity."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hai_client.wire.storage import ContainerConfig, ContainerEnvironment, Mounted
from hai_spawner.containers.container_config import NOTHING
from hai_spawner.sizes.allocations import Allocation

GPU = "nvidia.com/gpu"
SIZES: dict[str, Any] = {
    "small": {"title": "Small", "cpu": 1, "memory": "2Gi"},
    "gpu-1": {"cpu": 4, "memory": "16Gi", "resource": GPU, "image": "registry.example/cuda:1", "start_timeout": 900},
    "huge": {"cpu": 8, "memory": "64Gi", "allow": {"groups": ["ml"], "roles": ["teacher"], "admins": True}},
}


def a_user(name: str = "ann", *, groups: tuple[str, ...] = (), admin: bool = False) -> SimpleNamespace:
    """A stand-in for the Hub's object of a user."""
    found = [SimpleNamespace(name=group, roles=[]) for group in groups]
    return SimpleNamespace(
        name=name, id=1, url=f"/user/{name}/", escaped_name=name, groups=found, roles=[], admin=admin, settings={}
    )


def an_environment(name: str, **given: Any) -> ContainerEnvironment:
    """An environment as the scheduler service offers it, without variables unless they are given."""
    return ContainerEnvironment(**{"name": name, "description": "", "variables": {}, "default": False, **given})


def some_places(*environments: ContainerEnvironment, mounts: tuple[Mounted, ...] = ()) -> ContainerConfig:
    """What the scheduler service says that a user gets."""
    return replace(NOTHING, mounts=mounts, environments=environments)


def a_hub() -> SimpleNamespace:
    return SimpleNamespace(public_host="", api_url="http://127.0.0.1:1/hub/api", base_url="/hub/", url="http://h")


def a_grant(user: str, size: str, *groups: str, server: str = "") -> Allocation:
    return Allocation(user=user, server=server, size=size, groups=frozenset(groups))


def a_node(name: str = "n-1", *, cpu: str = "8", memory: str = "64Gi", gpus: int = 0, **given: Any) -> dict[str, Any]:
    """A ready node of the Jupyter group, as the API server lists it."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"} | ({GPU: str(gpus)} if gpus else {})
    return {
        "metadata": {"name": name, "labels": {"hai.jupyter.org/group": "jupyter", **given.get("labels", {})}},
        "spec": given.get("spec", {}),
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": given.get("ready", "True")}],
        },
    }


def a_pod(
    node: str | None = "n-1", *, cpu: str = "1", gpus: int = 0, user: str | None = None, **given: Any
) -> dict[str, Any]:
    requests = {"cpu": cpu} | ({GPU: str(gpus)} if gpus else {})
    spec: dict[str, Any] = {"containers": [{"resources": {"requests": requests}}], **given.get("spec", {})}
    if node is not None:
        spec["nodeName"] = node
    notes = {} if user is None else {"hub.jupyter.org/username": user}
    return {
        "metadata": {"name": "p", "annotations": notes},
        "spec": spec,
        "status": {"phase": given.get("phase", "Running")},
    }


class FakeApi:
    """The lists of a cluster."""

    def __init__(self, nodes: list[Any], pods: list[Any], status: int = 200) -> None:
        self.nodes, self.pods, self.status = nodes, pods, status
        self.calls: list[tuple[str, Any]] = []

    async def list_node(self, **given: Any) -> Any:
        return self._answer("nodes", given["label_selector"], self.nodes)

    async def list_namespaced_pod(self, namespace: str, **_: Any) -> Any:
        return self._answer("pods", namespace, self.pods)

    async def list_pod_for_all_namespaces(self, **_: Any) -> Any:
        return self._answer("pods", None, self.pods)

    def _answer(self, what: str, by: Any, items: list[Any]) -> Any:
        self.calls.append((what, by))

        async def read() -> bytes:
            return json.dumps({"items": items}).encode()

        return SimpleNamespace(status=self.status, read=read)
