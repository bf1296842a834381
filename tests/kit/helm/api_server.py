"""As much of an API server as Helm needs to look objects up: what kinds there are, and the objects it was given."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import yaml

#: Kinds by group and version; what is in no namespace has a star.
_KINDS: Final = {
    "v1": "ConfigMap Endpoints LimitRange Namespace* PersistentVolumeClaim ResourceQuota Secret Service ServiceAccount",
    "apps/v1": "Deployment StatefulSet",
    "discovery.k8s.io/v1": "EndpointSlice",
    "networking.k8s.io/v1": "Ingress NetworkPolicy",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole* ClusterRoleBinding* Role RoleBinding",
}


def _plural(kind: str) -> str:
    name = kind.lower()
    return name if name.endswith("points") else name[:-1] + "ies" if name.endswith("y") else name + "s"


def _resources(version: str) -> dict[str, Any]:
    kinds = [(word.rstrip("*"), not word.endswith("*")) for word in _KINDS[version].split()]
    return {
        "kind": "APIResourceList",
        "groupVersion": version,
        "resources": [
            {"name": _plural(kind), "singularName": "", "namespaced": inside, "kind": kind, "verbs": ["get", "list"]}
            for kind, inside in kinds
        ],
    }


def _discovery() -> dict[str, Any]:
    """What it says of itself."""
    versions = [version for version in _KINDS if "/" in version]
    entries = [{"groupVersion": version, "version": "v1"} for version in versions]
    groups = [
        {"name": entry["groupVersion"].partition("/")[0], "versions": [entry], "preferredVersion": entry}
        for entry in entries
    ]
    return {
        "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
        "/api/v1": _resources("v1"),
        **{f"/apis/{version}": _resources(version) for version in versions},
    }


@contextmanager
def cluster(
    folder: Path, objects: Mapping[str, Mapping[str, Any]], asked_for: list[str] | None = None
) -> Iterator[Path]:
    """A cluster with these objects, by path such as `/api/v1/namespaces/default/services/kubernetes`.

    Args:
        folder: Where its kubeconfig is written.
        objects: What it has.
        asked_for: Takes the path of each request.

    Yields:
        The kubeconfig file.
    """
    known = {**_discovery(), **objects}

    class Answers(BaseHTTPRequestHandler):
        """One request."""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if asked_for is not None:
                asked_for.append(path)
            found = known.get(path)
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps(missing if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "it", "user": {}}],
        }
        file = folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        yield file
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
