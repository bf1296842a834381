"""The rights that the service asks for are enough for all that it does, and it says which are missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hai_scheduler.adapters.kubernetes.client import Api, Unusable
from hai_scheduler.adapters.kubernetes.startup import NEEDS
from hai_scheduler.core.model import RankState, RunId
from kubernetes_kit.place import Place, admin

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RUN = RunId("1.1")


def rules(namespaced: bool) -> list[dict[str, Any]]:
    wanted = [need for need in NEEDS if need.namespaced is namespaced]
    return [
        {
            "apiGroups": [""],
            "resources": [need.resource],
            "verbs": list(need.verbs),
            **({"resourceNames": [need.name]} if need.name else {}),
        }
        for need in wanted
    ]


def binding(kind: str, name: str, role: str, place: Place) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": "hai", "namespace": place.namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [subject],
    }


async def token_of(api: Api, place: Place) -> str:
    made = await api.request("POST", f"{place.path}/serviceaccounts", body={"metadata": {"name": "hai"}})
    name = made["metadata"]["name"]
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await api.request("POST", f"{place.path}/serviceaccounts/{name}/token", body=body)
    return str(answer["status"]["token"])


@pytest.fixture
async def kubeconfig(place: Place, tmp_path: Path) -> AsyncIterator[str]:
    """Access as an account that may do what NEEDS says in the namespace, and nothing with nodes yet."""
    async with admin() as api:
        token = await token_of(api, place)
        role = {"metadata": {"name": "hai"}, "rules": rules(namespaced=True)}
        inside = f"{RBAC}/namespaces/{place.namespace}"
        await api.request("POST", f"{inside}/roles", body=role)
        await api.request("POST", f"{inside}/rolebindings", body=binding("Role", "hai", "hai", place))
        configuration = api._client.configuration
        config = {
            "current-context": "hai",
            "contexts": [{"name": "hai", "context": {"cluster": "c", "user": "hai"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": configuration.host,
                        "certificate-authority": configuration.ssl_ca_cert,
                        "insecure-skip-tls-verify": not configuration.verify_ssl,
                    },
                }
            ],
            "users": [{"name": "hai", "user": {"token": token}}],
        }
        file = tmp_path / "kubeconfig"
        await asyncio.to_thread(file.write_text, yaml.safe_dump(config))
        yield str(file)
        for kind in ("clusterrolebindings", "clusterroles"):
            name = place.namespace
            found = (await api.request("GET", f"{RBAC}/{kind}"))["items"]
            if any(thing["metadata"]["name"] == name for thing in found):
                await api.request("DELETE", f"{RBAC}/{kind}/{name}")


async def test_missing_rights_are_named_and_the_named_ones_are_enough(place, harness, kubeconfig: str) -> None:
    with pytest.raises(Unusable, match="get nodes; list nodes; watch nodes"):
        await harness.open_with(kubeconfig=kubeconfig)
    async with admin() as api:
        role = {"metadata": {"name": place.namespace}, "rules": rules(namespaced=False)}
        await api.request("POST", f"{RBAC}/clusterroles", body=role)
        bound = binding("ClusterRole", place.namespace, place.namespace, place)
        await api.request("POST", f"{RBAC}/clusterrolebindings", body=bound)

    async def opens() -> Any:
        try:
            return await harness.open_with(kubeconfig=kubeconfig)
        except Unusable:
            return None

    cluster = await harness.settle(opens)
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


async def test_a_namespace_that_is_missing_is_named(harness) -> None:
    with pytest.raises(Unusable, match="kubectl create namespace hai-is-not-there"):
        await harness.open_with(namespace="hai-is-not-there")
