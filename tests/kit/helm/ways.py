"""Which pods of the chart may reach each other, as a network sees it that lets nothing through by itself."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kit.helm.rendering import Object, Rendered

#: A Service as pods of the chart are told of it: by DNS, or by the variable that the kubelet sets.
_ADDRESS = re.compile(
    r"(?:(?P<scheme>\w+)(?:\+\w+)?://(?:[^/@\s\"]*@)?)?"
    r"(?:\$\((?P<variable>[A-Z0-9_]+)_SERVICE_HOST\)|(?P<name>[a-z0-9-]+)\.platform\.svc)(?::(?P<port>\d+))?"
)
_SCHEMES = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Pod:
    """A pod: what makes it, where it is, its labels, and its template's spec."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    spec: Object


def pods_of(made: Rendered) -> list[Pod]:
    """The platform's own pods, and a rank, a spot container's among them, and a user's server."""
    own = [
        Pod(entry["metadata"]["name"], "platform", template["metadata"]["labels"], template["spec"])
        for entry in made.objects
        if entry["kind"] in ("Deployment", "Job", "StatefulSet")
        for template in (entry["spec"]["template"],)
    ]
    (config,) = (entry["data"]["config.json"] for entry in made.all("ConfigMap") if "config.json" in entry["data"])
    work = json.loads(config)["KubernetesSettings"]["namespace"]
    rank = {"app.kubernetes.io/managed-by": "hai", "hai.jupyter.org/run": "1"}
    (values,) = (entry["data"]["values.json"] for entry in made.all("Secret") if "values.json" in entry["data"])
    more = json.loads(base64.b64decode(values))["singleuser"]["extraLabels"]
    server = {**more, "app": "jupyterhub", "component": "singleuser-server", "release": "hai"}
    return [*own, Pod("rank", work, rank, {}), Pod("server", work, server, {})]


def addresses_in(made: Rendered, text: str) -> Iterator[tuple[str, int]]:
    """The Services and ports that a text names; for a bare name all ports of the Service."""
    services = {entry["metadata"]["name"]: entry for entry in made.all("Service")}
    by_variable = {name.upper().replace("-", "_"): name for name in services}
    for found in _ADDRESS.finditer(text):
        name = found["name"] or by_variable[found["variable"]]
        if found["port"] or found["scheme"]:
            yield name, int(found["port"] or _SCHEMES[found["scheme"]])
        else:
            yield from ((name, port["port"]) for port in services[name]["spec"]["ports"])


def is_open(made: Rendered, source: Pod, service: str, port: int) -> list[str]:
    """Which policies close the way from a pod to each pod behind a Service, in words; none: it is open."""
    spec = made.one("Service", service)["spec"]
    (entry,) = (one for one in spec["ports"] if one["port"] == port)
    closed = []
    targets = [pod for pod in pods_of(made) if pod.namespace == "platform" and _has(pod, spec["selector"])]
    assert targets, f"no pod is behind {service}"
    for target in targets:
        name, number = _port(target, entry.get("targetPort", port))
        way = f"{source.name} -> {target.name}:{number}"
        if not _passes(made, source, "egress", target, {number}):
            closed.append(f"{way} is closed by what {source.name} may send")
        if not _passes(made, target, "ingress", source, {number, name}):
            closed.append(f"{way} is closed by what {target.name} may get")
    return closed


def _port(pod: Pod, wanted: str | int) -> tuple[str, int]:
    ports = [port for container in pod.spec["containers"] for port in container.get("ports", [])]
    (found,) = (port for port in ports if wanted in (port["name"], port["containerPort"]))
    return found["name"], found["containerPort"]


def _has(pod: Pod, wanted: Mapping[str, str]) -> bool:
    return wanted.items() <= pod.labels.items()


def _passes(made: Rendered, pod: Pod, direction: str, other: Pod, ports: set[Any]) -> bool:
    policies = [
        policy["spec"]
        for policy in made.all("NetworkPolicy")
        if policy["metadata"].get("namespace", "platform") == pod.namespace
        and _selects(policy["spec"]["podSelector"], pod)
    ]
    rules = [rule for policy in policies for rule in policy.get(direction) or []]
    return not policies or any(_allows(rule, other, pod.namespace, ports) for rule in rules)


def _allows(rule: Object, other: Pod, namespace: str, ports: set[Any]) -> bool:
    if "ports" in rule and not ports & {entry["port"] for entry in rule["ports"]}:
        return False
    peers: Iterable[Object] = rule.get("from", rule.get("to", [{"podSelector": {}, "namespaceSelector": {}}]))
    return any(_is(peer, other, namespace) for peer in peers if "ipBlock" not in peer)


def _is(peer: Object, other: Pod, namespace: str) -> bool:
    if "namespaceSelector" not in peer:
        return other.namespace == namespace and _selects(peer["podSelector"], other)
    wanted = peer["namespaceSelector"].get("matchLabels", {})
    here = {"kubernetes.io/metadata.name": other.namespace}
    return bool(wanted.items() <= here.items()) and _selects(peer.get("podSelector", {}), other)


def _selects(selector: Object, pod: Pod) -> bool:
    exists = [entry["key"] for entry in selector.get("matchExpressions", []) if entry["operator"] == "Exists"]
    return _has(pod, selector.get("matchLabels", {})) and all(key in pod.labels for key in exists)
