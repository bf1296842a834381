"""Every Service that a pod of the chart is told to ask can be asked under the chart's own policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from traitlets.config import Config

from hai_hub.cluster.chart_env import ChartEnv
from hai_hub.cluster.install import configure
from kit.helm.matrix import MATRIX
from kit.helm.rendering import Render, Rendered
from kit.helm.ways import Pod, addresses_in, is_open, pods_of

#: Addresses that a pod of the platform only passes on, or listens at, by component.
NOT_ASKED = {
    "hub": {"HAI_PUBLIC_URL"},
    "api": {"HAI_API_URL", "JUPYTERHUB_SERVICE_URL"},
    "scheduler": {"HAI_API_URL"},
}


def told(pod: Pod) -> str:
    """What the chart writes into a pod of the platform, without what only others ask."""
    unasked = NOT_ASKED.get(component(pod) or "", set())
    text = []
    for container in pod.spec.get("initContainers", []) + pod.spec["containers"]:
        text += [*container.get("command", []), *container.get("args", [])]
        text += [one.get("value", "") for one in container.get("env", []) if one["name"] not in unasked]
    return "\n".join(text)


#: Pods of users: which of the Hub's addresses they are told of. A spot container is a rank that has a server.
USERS = {"rank": ("HAI_API_URL",), "server": ("HAI_API_URL", "HAI_HUB_URL", "HAI_PUBLIC_URL")}


def asked(made: Rendered, pod: Pod, *, spot: bool) -> Iterator[tuple[str, int]]:
    """The Services that a pod asks."""
    if pod.name not in USERS:
        return addresses_in(made, told(pod))
    names = USERS["server" if spot else pod.name]
    (hub,) = (one for one in pods_of(made) if component(one) == "hub")
    found = [entry["value"] for entry in hub.spec["containers"][0]["env"] if entry["name"] in names]
    assert len(found) == len(names)
    return addresses_in(made, "\n".join(found))


def component(pod: Pod) -> str | None:
    return pod.labels.get("app.kubernetes.io/component")


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())
def test_no_policy_closes_the_way_to_a_service_that_a_pod_asks(render: Render, values: dict[str, Any]) -> None:
    made = render(values)
    spot = values.get("tasks", {}).get("networkPolicy", {}).get("spot", True)
    ways = [(pod, way) for pod in pods_of(made) for way in set(asked(made, pod, spot=spot))]
    assert {pod.name for pod, _ in ways} >= {"rank", "server"}
    assert [closed for pod, (service, port) in ways for closed in is_open(made, pod, service, port)] == []


@pytest.mark.parametrize("separate", [False, True], ids=["in the hub's pod", "separate"])
def test_the_hub_reaches_every_address_in_its_own_configuration(
    render: Render, chart_env: Callable[..., ChartEnv], separate: bool
) -> None:
    values = {"scheduler": {"separate": separate}}
    made, c = render(values), Config()
    configure(c, chart_env(values))
    (hub,) = (pod for pod in pods_of(made) if component(pod) == "hub")
    # Users' servers are told of the proxy; the Hub does not ask it there.
    spawners = [name for name in c if name.endswith(("Spawner", "SpawnerMixin"))]
    text = json.dumps({name: c[name] for name in c if name not in spawners}, default=str)
    ways = set(addresses_in(made, text))
    assert {("hub", 8081), ("hub", 8083), ("scheduler", 8082), ("proxy-api", 8001)} <= ways
    assert [closed for service, port in ways for closed in is_open(made, hub, service, port)] == []
