"""Faults of the machines of a cluster: nodes that die, an API server that is killed, a node that is drained.

HAI_TEST_CLUSTER_CONTROL names a program that does it on this cluster. Its words are `kill-node NODE`,
`heal-node NODE`, `kill-server` and `heal-server`; it returns when that is done, not when Kubernetes has noticed. With
`add-address ADDRESS` and `remove-address ADDRESS` this machine is a host of the internet to the cluster's pods.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hai_scheduler.adapters.kubernetes.client import ApiRefused, Missing
from hai_scheduler.adapters.kubernetes.nodes import readiness
from hai_scheduler.ports.errors import Temporary
from kit.kubernetes.place import SOON, Place, admin
from kit.waiting import wait_for

PROGRAM = os.environ.get("HAI_TEST_CLUSTER_CONTROL", "")
ABSENT = "nodes and the API server of this cluster are not ours to kill: name a program by HAI_TEST_CLUSTER_CONTROL"


def ask(method: str, path: str, **options: Any) -> Any:
    """Send a request to the API server with the rights of KUBECONFIG; returns the body of the answer."""

    async def once() -> Any:
        async with admin() as api:
            return await api.request(method, path, **options)

    return asyncio.run(once())


class Nodes:
    """The nodes by name, as they were found; `restore` brings them back to that state."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._devices = {name: _devices(self._node(name)) for name in names}
        self._killed: set[str] = set()
        self._cordoned: set[str] = set()
        self._server_killed = False

    @staticmethod
    def _node(name: str) -> Any:
        return ask("GET", f"/api/v1/nodes/{name}")

    def kill(self, name: str) -> None:
        """End the node's kubelet and all of its containers at once."""
        self._killed.add(name)
        _control("kill-node", name)

    def kill_server(self) -> None:
        """End the API server at once."""
        self._server_killed = True
        _control("kill-server")

    def cordon(self, name: str) -> None:
        """Mark the node as unschedulable, so that no new pods are put there."""
        self._cordoned.add(name)
        self._unschedulable(name, True)

    def restore(self) -> None:
        """Bring back what was killed, open what was cordoned, and wait until all is as it was."""
        if self._server_killed:
            _control("heal-server")
            self._server_killed = False
        for name in sorted(self._killed):
            _control("heal-node", name)
        self._killed.clear()
        wait_for("the nodes to be as before", self._as_before, SOON)
        for name in sorted(self._cordoned):
            self._unschedulable(name, None)
        self._cordoned.clear()

    def is_ready(self, name: str) -> bool:
        """Whether Kubernetes says that the node is ready."""
        return readiness(self._node(name))[0]

    def _as_before(self) -> bool:
        try:
            nodes = {name: self._node(name) for name in self._devices}
        except Temporary:
            return False
        return all(readiness(node)[0] and _devices(node) == self._devices[name] for name, node in nodes.items())

    @staticmethod
    def _unschedulable(name: str, value: bool | None) -> None:
        ask("PATCH", f"/api/v1/nodes/{name}", body={"spec": {"unschedulable": value}})


def _devices(node: Any) -> dict[str, str]:
    """Resources of the node that device plugins have announced, such as GPUs."""
    return {name: amount for name, amount in node["status"]["allocatable"].items() if "/" in name}


def evict(place: Place, pod: str) -> None:
    """Evict a pod as `kubectl drain` does, in the words of whichever version the cluster takes."""
    for version in ("policy/v1", "policy/v1beta1"):
        body = {
            "apiVersion": version,
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": place.namespace},
        }
        try:
            ask("POST", f"{place.path}/pods/{pod}/eviction", body=body)
            return
        except (Missing, ApiRefused):
            if version == "policy/v1beta1":
                raise


@contextmanager
def public_address(address: str) -> Iterator[None]:
    """Let pods reach this machine at a public address, which should be one of those for documentation."""
    _control("add-address", address)
    try:
        yield
    finally:
        _control("remove-address", address)


def _control(*words: str) -> None:
    subprocess.run([PROGRAM, *words], check=True, timeout=SOON, stdin=subprocess.DEVNULL)
