"""Who may reach whom in an installation of the chart (docs/security.md), and the pods that try it.

The platform's own pods, servers and ranks of two users, and pods of others, by their labels and namespaces. On a
cluster that does not hold policies all ways are open: HAI_TEST_POLICIES says that this one holds them.
"""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import pytest

from hai_client.wire.schema import Task, TaskRequest
from kit.kubernetes import control
from kit.kubernetes.connections import Source, Target, listening, stranger
from kit.kubernetes.release import Platform, chart_wait_for, state_of, tool

needs_policies = pytest.mark.skipif(
    not os.environ.get("HAI_TEST_POLICIES"),
    reason="nobody says that this cluster holds network policies: set HAI_TEST_POLICIES=yes where it does",
)

#: Values with which servers start on any node, and tasks of anybody.
ANY_NODE: Final[Mapping[str, Any]] = {
    "hub": {"config": {"HaiKubeSpawner": {"group_label": "kubernetes.io/os"}}},
    "singleuser": {"groups": ["linux"]},
    "scheduler": {"config": {"HaiScheduler": {"default_quota": "all"}}},
}
_PROMETHEUS: Final[Mapping[str, str]] = {"app.kubernetes.io/name": "prometheus"}
#: Values with which the pods of a Prometheus read the metrics, wherever they are.
METRICS: Final[Mapping[str, Any]] = {
    "monitoring": {
        "serviceMonitor": {"enabled": True},
        "networkPolicyFrom": [{"namespaceSelector": {}, "podSelector": {"matchLabels": dict(_PROMETHEUS)}}],
    }
}
#: Where ranks listen.
RANKS_PORT: Final = 29500
#: For documentation (RFC 5737), so nobody's.
PUBLIC: Final = "203.0.113.17"
_LISTEN: Final = f"import socket, time; s = socket.create_server(('', {RANKS_PORT})); time.sleep(3600)"

SERVERS: Final = frozenset({"server", "other server"})
RANKS: Final = frozenset({"rank", "other rank"})
#: Pods of others that no policy selects: what they reach, those whom they ask decide.
UNBOUND: Final = frozenset({"neighbour", "with the Hub's label", "of another namespace", "Prometheus"})
#: By name: the namespace's end, and labels.
STRANGERS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "neighbour": ("", {}),
    "with the Hub's label": ("", {"hub.jupyter.org/network-access-hub": "true"}),
    "of another namespace": ("-other", {"hub.jupyter.org/network-access-hub": "true", "app": "jupyterhub"}),
    "Prometheus": ("-other", _PROMETHEUS),
    "among the workloads": ("-work", {}),
}


def table(*, separate: bool, spot: bool, internet: bool, metrics: bool) -> dict[str, frozenset[str]]:
    """Who may reach what, by the name of what is reached."""
    serves = {"api"} if separate else {"hub"}
    loops = {"scheduler", "api"} if separate else {"hub"}
    reads = {"Prometheus"} if metrics else set()
    spots = RANKS if spot else frozenset()
    of_spots = frozenset({"hub", "proxy"}) if spot else frozenset()
    found = {
        "proxy-public:80": SERVERS | UNBOUND | spots,
        "proxy-api:8001": {"hub"},
        "hub:8081": {"proxy", "hub", "with the Hub's label", *serves, *reads} | SERVERS | spots,
        "hub:8083": {"proxy", "hub"},
        "scheduler:8082": {"proxy", "hub", *reads} | SERVERS | RANKS,
        "postgresql:5432": {"hub"} | loops,
        **({"redis:6379": loops, "scheduler's health": {"scheduler"}} if separate else {}),
        **dict.fromkeys(SERVERS, frozenset({"hub", "proxy"})),
        **dict.fromkeys(RANKS, RANKS | of_spots),
        "the API server": {"hub"} | loops | UNBOUND,
        "a private address": UNBOUND,
        "a public address": {"hub"} | SERVERS | UNBOUND | (RANKS if internet else frozenset()),
        "names": {"proxy", "hub"} | loops | SERVERS | RANKS | UNBOUND,
    }
    return {name: frozenset(may) for name, may in found.items()}


@contextmanager
def service_monitors() -> Iterator[None]:
    """Let the API server take ServiceMonitors, which it does where the Prometheus operator is."""
    name = "servicemonitors.monitoring.coreos.com"
    if tool("kubectl", "get", "customresourcedefinition", name, "-o", "name", check=False):
        yield
        return
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    tool("kubectl", "create", "-f", "-", given=json.dumps(body))
    try:
        tool("kubectl", "wait", "--for=condition=Established", f"customresourcedefinition/{name}", "--timeout=60s")
        yield
    finally:
        tool("kubectl", "delete", "customresourcedefinition", name, "--wait=false", check=False)


@contextmanager
def people(platform: Platform) -> Iterator[dict[str, Source]]:
    """Two users, each with a server and a rank, and the pods of strangers."""
    other = f"{platform.namespace}-other"
    tool("kubectl", "create", "namespace", other)
    tasks = {}
    try:
        for user in ("ann", "bob"):
            request = TaskRequest(command=("python3", "-c", _LISTEN), nodes=1, name="listens", cwd="/tmp")
            tasks[user] = platform.client(user).submit(request)
            _ask(platform, user, "POST", "/server")
        ranks = {user: _rank(platform, task) for user, task in tasks.items()}
        image = ranks["ann"]["spec"]["containers"][0]["image"]
        for name, (end, labels) in STRANGERS.items():
            stranger(_name(name), platform.namespace + end, image, labels)
        for user, task in tasks.items():
            chart_wait_for(f"the server of {user}", partial(_is_ready, platform, user))
            chart_wait_for(f"the rank of {user}", partial(_runs, platform, user, task))
        yield {
            **{role: Source.of(ranks[user]) for role, user in (("rank", "ann"), ("other rank", "bob"))},
            **{role: _server(platform, user) for role, user in (("server", "ann"), ("other server", "bob"))},
            **{name: _stranger(name, platform.namespace + end) for name, (end, _) in STRANGERS.items()},
        }
    finally:
        for user, task in tasks.items():
            platform.client(user).stop(task.id)
            _ask(platform, user, "DELETE", "/server")
        tool("kubectl", "delete", "namespace", other, "--wait=false", check=False)
        for name, (end, _) in STRANGERS.items():
            words = ["-n", platform.namespace + end, "delete", "pod", _name(name), "--wait=false"]
            tool("kubectl", *words, check=False)
        chart_wait_for("nothing of them to be left", lambda: not platform.objects("pods", platform.work))


@contextmanager
def chart_ways(
    platform: Platform, *, separate: bool, spot: bool, internet: bool, metrics: bool
) -> Iterator[tuple[dict[str, Source], dict[str, Target]]]:
    """The pods that try, by name, and what they try, in an installation with these values."""
    may = table(separate=separate, spot=spot, internet=internet, metrics=metrics)
    components = {"proxy", "hub", "postgresql", *(("redis", "api", "scheduler") if separate else ())}
    with ExitStack() as stack:
        sources = stack.enter_context(people(platform))
        sources |= {name: Source.of(_first(platform, name)) for name in components}
        ways = {name: _service(platform, name) for name in may if ":" in name}
        ways |= {name: f"{sources[name].address}:8888" for name in SERVERS}
        ways |= {name: f"{sources[name].address}:{RANKS_PORT}" for name in RANKS}
        ways["the API server"] = _service(platform, "kubernetes:443", "default")
        host = _this_machine()
        ways["a private address"] = f"{host}:{stack.enter_context(listening(host))}"
        ways["names"] = f"hub.{platform.namespace}.svc.cluster.local"
        if separate:
            ways["scheduler's health"] = f"{sources['scheduler'].address}:8083"
        if control.PROGRAM:
            stack.enter_context(control.public_address(PUBLIC))
            ways["a public address"] = f"{PUBLIC}:{stack.enter_context(listening(PUBLIC))}"
        yield sources, {name: Target(way, may[name], _unsure(name, may[name], separate)) for name, way in ways.items()}


def _unsure(name: str, may: frozenset[str], separate: bool) -> frozenset[str]:
    """The pods that are behind the Service itself: networks differ in whether policies apply to that way."""
    component = {"proxy-public": "proxy", "proxy-api": "proxy", "scheduler": "api" if separate else "hub"}
    service = name.partition(":")[0]
    own = component.get(service, service) if ":" in name else name
    return frozenset({own}) - may


def _first(platform: Platform, component: str) -> dict[str, Any]:
    label = f"app.kubernetes.io/name=hai,app.kubernetes.io/component={component}"
    return next(
        pod
        for pod in platform.objects("pods", platform.namespace, label)
        if "deletionTimestamp" not in pod["metadata"] and pod["status"].get("podIP")
    )


def _service(platform: Platform, name: str, namespace: str = "") -> str:
    service, _, port = name.partition(":")
    words = ["-n", namespace or platform.namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}"]
    return f"{tool('kubectl', *words)}:{port}"


def _rank(platform: Platform, task: Task) -> dict[str, Any]:
    def found() -> list[dict[str, Any]]:
        pods = platform.objects("pods", platform.work, f"hai.jupyter.org/task={task.id}")
        return [pod for pod in pods if pod["status"].get("podIP")]

    (pod,) = chart_wait_for("the rank's address", found)
    return pod


def _server(platform: Platform, user: str) -> Source:
    label = f"component=singleuser-server,hub.jupyter.org/username={user}"
    (pod,) = platform.objects("pods", platform.work, label)
    return Source.of(pod)


def _name(stranger_: str) -> str:
    return stranger_.lower().replace(" ", "-").replace("'", "")


def _stranger(name: str, namespace: str) -> Source:
    def found() -> list[dict[str, Any]]:
        words = ["-n", namespace, "get", "pods", "--field-selector", f"metadata.name={_name(name)}", "-o", "json"]
        return [one for one in json.loads(tool("kubectl", *words))["items"] if one["status"]["phase"] == "Running"]

    (pod,) = chart_wait_for(f"the pod {name}", found)
    return Source.of(pod)


def _this_machine() -> str:
    """The address of this machine on the network of the nodes."""
    words = ["get", "nodes", "-o", "jsonpath={.items[0].status.addresses[0].address}"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((tool("kubectl", *words), 9))
        return str(probe.getsockname()[0])


def _ask(platform: Platform, user: str, method: str, end: str = "") -> Any:
    platform.client(user)
    headers = {"Authorization": f"token {platform.tokens[user]}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{platform.url}/hub/api/users/{user}{end}",
        method=method,
        headers=headers,
        data=b"{}" if method == "POST" else None,
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def _runs(platform: Platform, user: str, task: Task) -> bool:
    return state_of(platform.client(user), task) == "running"


def _is_ready(platform: Platform, user: str) -> bool:
    return bool(_ask(platform, user, "GET")["servers"].get("", {}).get("ready"))
