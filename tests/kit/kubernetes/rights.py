"""The chart's own accounts in a namespace of the tests, with the rights that the chart gives them and no others."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from hai_scheduler.adapters.kubernetes.client import KubernetesApi, Missing
from kit.helm.rendering import API_SERVER, CHART, objects_of

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: Rendering the chart takes long: it is done once for a name that each namespace's takes the place of.
_NOWHERE = "namespace-of-the-test"
_KINDS = {
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "Role": (_RBAC, "roles", True),
    "RoleBinding": (_RBAC, "rolebindings", True),
    "ClusterRole": (_RBAC, "clusterroles", False),
    "ClusterRoleBinding": (_RBAC, "clusterrolebindings", False),
}
ACCOUNTS = ("hub", "scheduler", "api")
#: Seconds that a token is good for: longer than any test takes.
_DAY = 24 * 3600


async def make_accounts(api: KubernetesApi, namespace: str, folder: Path) -> dict[str, str]:
    """Create the accounts with their roles; returns a kubeconfig file of each, by component of the chart."""
    for kind in _KINDS:
        for made in await asyncio.to_thread(_rendered, namespace):
            if made["kind"] == kind and made["metadata"]["name"] != "hai-task":
                await api.request("POST", _path(made, namespace), body=made)
    return {account: await _kubeconfig(api, namespace, account, folder) for account in ACCOUNTS}


async def remove_rights(api: KubernetesApi, namespace: str) -> None:
    """Remove what they have outside of the namespace."""
    for made in await asyncio.to_thread(_rendered, namespace):
        if not _KINDS[made["kind"]][2]:
            try:
                await api.request("DELETE", f"{_path(made, namespace)}/{made['metadata']['name']}")
            except Missing:
                continue


def _path(made: dict[str, Any], namespace: str) -> str:
    base, kind, namespaced = _KINDS[made["kind"]]
    return f"{base}/namespaces/{namespace}/{kind}" if namespaced else f"{base}/{kind}"


def _rendered(namespace: str) -> list[dict[str, Any]]:
    return [one for one in objects_of(_text().replace(_NOWHERE, namespace)) if one["kind"] in _KINDS]


@functools.cache
def _text() -> str:
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    helm = shutil.which("helm", path=places)
    assert helm is not None, "no helm: `make helm` installs it"
    values = {
        "apiServer": {"cidrs": [API_SERVER]},
        "workloads": {"namespace": _NOWHERE},
        "scheduler": {"separate": True},
    }
    words = [helm, "template", "hai", str(CHART), "--namespace", _NOWHERE, "--values", "-"]
    made = subprocess.run(words, input=json.dumps(values), capture_output=True, text=True, check=True)
    return made.stdout


async def _kubeconfig(api: KubernetesApi, namespace: str, account: str, folder: Path) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": _DAY}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    answer = await api.request("POST", path, body=body)
    return await asyncio.to_thread(write_kubeconfig, api, answer["status"]["token"], folder / f"{account}.yaml")


def write_kubeconfig(api: KubernetesApi, token: str, file: Path) -> str:
    """Write a kubeconfig for the server of a client, with another token; returns its path."""
    configuration = api._client.configuration
    cluster = {
        "server": configuration.host,
        "certificate-authority": configuration.ssl_ca_cert,
        "insecure-skip-tls-verify": not configuration.verify_ssl,
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hai",
        "contexts": [{"name": "hai", "context": {"cluster": "c", "user": "hai"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "hai", "user": {"token": token}}],
    }
    file.write_text(yaml.safe_dump(config))
    return str(file)
