"""A namespace of a real cluster, with facts about that cluster."""

from __future__ import annotations

import asyncio
import base64
import functools
import os
import secrets
import shutil
import socket
import tempfile
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hai_client.archive import build
from hai_scheduler.adapters.kubernetes.client import KubernetesApi, Missing, connect
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.system.clock import SystemClock
from kit.kubernetes.rights import make_accounts, remove_rights

#: An image with python3 3.8 or newer, and how it gets to the nodes.
IMAGE = os.environ.get("HAI_TEST_IMAGE", "python:3.12-slim")
PULL_POLICY = os.environ.get("HAI_TEST_PULL_POLICY", "IfNotPresent")
#: The image with the supervisor; if empty, a ConfigMap holds the supervisor.
INIT_IMAGE = os.environ.get("HAI_TEST_INIT_IMAGE", "")
CONFIG_MAP = "hai-client"
#: Seconds: longer than any step takes on the slowest cluster.
SOON = float(os.environ.get("HAI_TEST_PATIENCE", "300"))


@dataclass(frozen=True, slots=True)
class Place:
    """A fresh namespace; the nodes that pods can be put on; the address at which pods reach this machine.

    `kubeconfigs` are of the chart's accounts, by component: they have the rights that the chart gives them.
    """

    namespace: str
    nodes: tuple[str, ...]
    host: str
    kubeconfigs: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path of the namespace in the API."""
        return f"/api/v1/namespaces/{self.namespace}"

    def settings(self, api_url: str = "http://127.0.0.1:9/api", **fields: Any) -> ClusterSettings:
        """Settings for this cluster: every node is a training node, and pods request only what tasks ask for."""
        defaults: dict[str, Any] = {
            "namespace": self.namespace,
            "kubeconfig": self.kubeconfigs["scheduler"],
            "api_url": api_url,
            "image": IMAGE,
            "image_pull_policy": PULL_POLICY,
            "init_image": INIT_IMAGE,
            "client_config_map": "" if INIT_IMAGE else CONFIG_MAP,
            "groups": {"training": "kubernetes.io/os=linux"},
            "gpu_resources": (),
            "cpu_share": 0,
            "memory_share": 0,
        }
        return ClusterSettings(**{**defaults, **fields})


@asynccontextmanager
async def admin() -> AsyncIterator[KubernetesApi]:
    """A client of the API server with the rights of KUBECONFIG."""
    api = KubernetesApi(await connect(ClusterSettings(namespace="default", api_url="")), SystemClock())
    try:
        yield api
    finally:
        await api.close()


async def make_place() -> Place:
    """Create a namespace with the supervisor in it."""
    async with admin() as api:
        name = f"hai-test-{secrets.token_hex(3)}"
        await api.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
        nodes = (await api.request("GET", "/api/v1/nodes"))["items"]
        body = await asyncio.to_thread(_client)
        with warnings.catch_warnings():
            # aiohttp warns of bodies above 1 MiB, which delay other requests; there are none yet.
            warnings.simplefilter("ignore", ResourceWarning)
            await api.request("POST", f"/api/v1/namespaces/{name}/configmaps", body=body)
        await _service_account(api, name)
        folder = await asyncio.to_thread(tempfile.mkdtemp, prefix=f"{name}-")
        kubeconfigs = await make_accounts(api, name, Path(folder))
    usable = sorted(node["metadata"]["name"] for node in nodes if not node["spec"].get("taints"))
    addresses = [entry["address"] for node in nodes for entry in node["status"].get("addresses", [])]
    return Place(name, tuple(usable), os.environ.get("HAI_TEST_HOST") or _towards(addresses[0]), kubeconfigs)


async def remove_place(place: Place) -> None:
    """Delete the namespace with all that is in it, and the rights of its accounts."""
    async with admin() as api:
        await remove_rights(api, place.namespace)
        with suppress(Missing):
            await api.request("DELETE", f"/api/v1/namespaces/{place.namespace}")
    for folder in {Path(file).parent for file in place.kubeconfigs.values()}:
        await asyncio.to_thread(shutil.rmtree, folder)


@functools.cache
def _client() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hai.pyz"
        build(file)
        data = base64.b64encode(file.read_bytes()).decode()
    return {"metadata": {"name": CONFIG_MAP}, "binaryData": {"hai.pyz": data}}


async def _service_account(api: KubernetesApi, namespace: str) -> None:
    """Wait for the namespace's service account: the API server accepts no pod before controllers have made it."""
    async with asyncio.timeout(SOON):
        while True:
            with suppress(Missing):
                await api.request("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
                return
            await asyncio.sleep(0.1)


def _towards(address: str) -> str:
    """The address of this machine on the network that leads to `address`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
        return str(probe.getsockname()[0])
