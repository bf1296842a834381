"""The rights that the service asks for are enough for all that it does, and it says which are missing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hai_scheduler.adapters.kubernetes.client import ClusterUnusable, KubernetesApi
from hai_scheduler.adapters.kubernetes.preflight import NEEDS, NEEDS_OF_A_READER, Need
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.run import RankState
from hai_scheduler.ports.errors import Absent, Temporary
from kit.kubernetes.place import Place, admin
from kit.kubernetes.rights import write_kubeconfig

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RUN = RunId("1.1")


@dataclass(frozen=True, slots=True)
class Account:
    """A process of the service: its account, what it asks for, and whether it acts."""

    name: str
    needs: tuple[Need, ...]
    acts: bool


LOOP = Account("our-loop", NEEDS, acts=True)
API = Account("our-api", NEEDS_OF_A_READER, acts=False)


def rules(account: Account, namespaced: bool) -> list[dict[str, Any]]:
    wanted = [need for need in account.needs if need.namespaced is namespaced]
    return [
        {
            "apiGroups": [""],
            "resources": [need.resource],
            "verbs": list(need.verbs),
            **({"resourceNames": [need.name]} if need.name else {}),
        }
        for need in wanted
    ]


def binding(kind: str, name: str, account: Account, place: Place) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account.name, "namespace": place.namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [subject],
    }


async def token_of(api: KubernetesApi, account: Account, place: Place) -> str:
    made = await api.request("POST", f"{place.path}/serviceaccounts", body={"metadata": {"name": account.name}})
    name = made["metadata"]["name"]
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await api.request("POST", f"{place.path}/serviceaccounts/{name}/token", body=body)
    return str(answer["status"]["token"])


def of_the_cluster(account: Account, place: Place) -> str:
    """The name of what gives it rights outside of the namespace."""
    return f"{place.namespace}-{account.name}"


@pytest.fixture
async def kubeconfig(place: Place, account: Account, tmp_path: Path) -> AsyncIterator[str]:
    """Access as an account that may do what it asks for in the namespace, and nothing with nodes yet."""
    async with admin() as api:
        token = await token_of(api, account, place)
        role = {"metadata": {"name": account.name}, "rules": rules(account, namespaced=True)}
        inside = f"{RBAC}/namespaces/{place.namespace}"
        await api.request("POST", f"{inside}/roles", body=role)
        bound = binding("Role", account.name, account, place)
        await api.request("POST", f"{inside}/rolebindings", body=bound)
        yield await asyncio.to_thread(write_kubeconfig, api, token, tmp_path / "kubeconfig")
        for kind in ("clusterrolebindings", "clusterroles"):
            name = of_the_cluster(account, place)
            found = (await api.request("GET", f"{RBAC}/{kind}"))["items"]
            if any(thing["metadata"]["name"] == name for thing in found):
                await api.request("DELETE", f"{RBAC}/{kind}/{name}")


async def opened(place: Place, harness: Any, account: Account, kubeconfig: str) -> Any:
    """A cluster of that account: it says which rights are missing, and is content when it has them."""
    with pytest.raises(ClusterUnusable, match="list nodes; watch nodes"):
        await harness.open_with(kubeconfig=kubeconfig, acts=account.acts)
    async with admin() as api:
        name = of_the_cluster(account, place)
        role = {"metadata": {"name": name}, "rules": rules(account, namespaced=False)}
        await api.request("POST", f"{RBAC}/clusterroles", body=role)
        bound = binding("ClusterRole", name, account, place)
        await api.request("POST", f"{RBAC}/clusterrolebindings", body=bound)

    async def opens() -> Any:
        try:
            return await harness.open_with(kubeconfig=kubeconfig, acts=account.acts)
        except ClusterUnusable:
            return None

    return await harness.settle(opens)


@pytest.mark.parametrize("account", [LOOP], ids=["loop"])
async def test_missing_rights_of_the_loop_are_named_and_the_named_ones_are_enough(
    place, harness, account: Account, kubeconfig: str
) -> None:
    cluster = await opened(place, harness, account, kubeconfig)
    await cluster.launch(harness.launch(1, harness.waits()))

    async def runs() -> bool:
        shown = await cluster.observe()
        return bool(shown) and shown[0].ranks[0].state is RankState.RUNNING

    await harness.settle(runs)
    assert await cluster.addresses(RUN)
    await cluster.kill(RUN)

    async def ended() -> bool:
        return (await cluster.observe())[0].ranks[0].state is RankState.EXITED

    await harness.settle(ended)
    await cluster.forget(RUN)
    assert await cluster.observe() == []


@pytest.mark.parametrize("account", [API], ids=["api"])
async def test_missing_rights_of_the_api_are_named_and_the_named_ones_are_enough_to_look_alone(
    place, harness, cluster, account: Account, kubeconfig: str
) -> None:
    looks = await opened(place, harness, account, kubeconfig)
    assert await looks.nodes() == await cluster.nodes()
    await cluster.launch(harness.launch(1, harness.waits()))

    async def sees() -> Any:
        with suppress(Absent, Temporary):
            return await looks.addresses(RUN)

    assert await harness.settle(sees)
    await cluster.kill(RUN)
    with pytest.raises(ClusterUnusable, match="create pods"):
        await harness.open_with(kubeconfig=kubeconfig)


async def test_a_namespace_that_is_missing_is_named(harness) -> None:
    with pytest.raises(ClusterUnusable, match="kubectl create namespace hai-is-not-there"):
        # Of a namespace that is not there, an account with rights in another one is told that it has no rights.
        await harness.open_with(namespace="hai-is-not-there", kubeconfig=os.environ["KUBECONFIG"])
