"""Development containers on a real cluster: a Hub here, its servers as pods there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kit.kubernetes.place import Place
from kit.spawner_hub import GROUP, GROUP_LABEL, Hub, address_towards, container_configs
from kit.terminals import typed
from kubernetes import client, config

IMAGE = os.environ.get("HAI_TEST_SINGLEUSER_IMAGE", "")

pytestmark = [
    pytest.mark.skipif(
        not (os.environ.get("KUBECONFIG") and IMAGE),
        reason="needs a cluster in KUBECONFIG, and the image of servers in HAI_TEST_SINGLEUSER_IMAGE",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest.fixture(scope="module")
def core() -> Iterator[Any]:
    config.load_kube_config()
    api = client.ApiClient()
    yield client.CoreV1Api(api)
    api.close()


@pytest.fixture(scope="module")
def namespace(shared_place: Place) -> str:
    return shared_place.namespace


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hub(core: Any, shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hub]:
    folder: Path = tmp_path_factory.mktemp("hub")
    addresses = core.list_node().items[0].status.addresses
    node_ip = next(address.address for address in addresses if address.type == "InternalIP")
    with container_configs() as api_url:
        kubeconfig = shared_place.kubeconfigs["hub"]
        made = Hub(folder, address_towards(node_ip), shared_place.namespace, kubeconfig, IMAGE, api_url)
        made.start()
        try:
            await made.until_up()
            for user in ("ann", "bob"):
                assert (await made.ask("POST", f"/hub/api/users/{user}"))[0] == 201
            yield made
        finally:
            made.end()


async def pods(core: Any, namespace: str) -> list[Any]:
    listed = await asyncio.to_thread(core.list_namespaced_pod, namespace)
    return list(listed.items)


async def test_a_pod_is_started_answers_through_the_hub_and_is_gone_when_it_is_stopped(
    hub: Hub, core: Any, namespace: str
) -> None:
    options = {"user_options": {"profile": "small"}}
    status, told = await hub.ask("POST", "/hub/api/users/ann/server", json=options)
    assert status in (201, 202), told
    server = await hub.until("ann", ready=True)
    assert server["user_options"] == {"profile": "small"}
    status, answer = await hub.ask("GET", "/user/ann/api/status")
    assert (status, answer["kernels"]) == (200, 0)
    # The image is Debian's, whose /etc/profile replaces PATH.
    line = "command -v python hai haienv sbatch; python -c 'import hai_client; print(40 + 2)'"
    said = await typed(f"http://127.0.0.1:{hub.port}/user/ann", hub.token, line)
    found = [one.strip() for one in said.splitlines() if one.startswith("/")]
    assert found == [f"/opt/hai/{one}" for one in ("bin/python", "bin/hai", "bin/haienv", "slurm/sbatch")], said
    assert "42" in said.splitlines(), said
    (pod,) = await pods(core, namespace)
    assert pod.metadata.name == "jupyter-ann"
    assert pod.metadata.labels["hai.jupyter.org/size"] == "small"
    (term,) = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution.node_selector_terms
    (needed,) = term.match_expressions
    assert (needed.key, needed.values) == (GROUP_LABEL, [GROUP])
    container = pod.spec.containers[0]
    assert container.resources.limits == {"cpu": "2", "memory": str(512 * 2**20)}
    assert container.security_context.run_as_non_root
    assert container.security_context.capabilities.drop == ["ALL"]
    mounts = {mount.mount_path: mount.read_only for mount in container.volume_mounts}
    assert mounts == {"/mnt/{usr}": True}
    environment = {variable.name: variable.value for variable in container.env}
    assert (environment["SAID"], environment["HAI_SIZE"]) == ("{yes}", "small")
    status, _ = await hub.ask("DELETE", "/hub/api/users/ann/server")
    assert status in (202, 204)
    await hub.until("ann", ready=False)
    assert await pods(core, namespace) == []


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({"profile": "vast"}, 503, ["no node is large enough", "These would start now: small."]),
        ({"profile": "closed"}, 403, ["is for group nobody", "small"]),
        ({"profile": "small", "image": "evil"}, 400, ["'image'", "no such option"]),
        ({"environment": "secret"}, 400, ["use one of plain"]),
    ],
    ids=["no capacity", "not allowed", "unknown option", "unknown environment"],
)
async def test_what_cannot_start_is_refused_at_once_and_makes_no_pod(
    hub: Hub, core: Any, namespace: str, options: dict[str, str], status: int, words: list[str]
) -> None:
    got, told = await hub.ask("POST", "/hub/api/users/bob/server", json={"user_options": options})
    assert got == status
    assert [word for word in words if word not in told["message"]] == []
    assert [pod for pod in await pods(core, namespace) if "bob" in pod.metadata.name] == []


async def test_the_spawn_page_shows_what_is_free_and_says_why_the_rest_cannot_start(hub: Hub) -> None:
    page = " ".join((await hub.page("bob", "/hub/spawn")).split())
    small = page[page.index('value="small"') : page.index('value="vast"')]
    assert "could start now. You have 0 of 1 servers of size small." in small
    vast = page[page.index('value="vast"') :]
    assert "disabled" in vast[: vast.index(">")]
    assert "Not now: no node is large enough" in vast
    assert 'value="closed"' not in page
    assert "This is a test." in page
