"""The platform, the cluster's own pods and a task fit onto one node together: a trial has no more."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from hai_client.quantity import parse_quantity
from hai_scheduler.adapters.kubernetes.resources import capacity_of, resources_of
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from kit.builders import a_launch
from kit.helm.rendering import Render

#: What the pods of kube-system request: their documentation and manifests, CPUs and MiB.
SYSTEM = {
    "kubeadm, control plane, with CoreDNS and kindnet": ("950m", "290Mi"),
    "k3s, with CoreDNS, metrics-server and Traefik": ("200m", "140Mi"),
    "a worker of a managed cluster": ("700m", "700Mi"),
}


def platform(render: Render, separate: bool) -> dict[str, Decimal]:
    """What the chart's own pods request with its defaults."""
    total = {"cpu": Decimal(0), "memory": Decimal(0)}
    rendered = render({"scheduler": {"separate": separate}})
    for entry in rendered.objects:
        if entry["kind"] in ("Deployment", "StatefulSet"):
            for container in entry["spec"]["template"]["spec"]["containers"]:
                for name in total:
                    text = container["resources"]["requests"][name]
                    total[name] += parse_quantity(str(text)) * entry["spec"].get("replicas", 1)
    return total


@pytest.mark.parametrize("separate", [False, True], ids=["one scheduler", "two"])
@pytest.mark.parametrize("system", SYSTEM)
@pytest.mark.parametrize("gpus", [0, 1, 8])
@pytest.mark.parametrize(("cpus", "gib"), [(2, 4), (3, 6), (4, 8), (8, 16), (16, 64), (96, 1024)])
def test_a_whole_node_task_fits_beside_the_platform(
    render: Render, cpus: int, gib: int, gpus: int, system: str, separate: bool
) -> None:
    allocatable: dict[str, Any] = {"cpu": str(cpus), "memory": f"{gib}Gi", "nvidia.com/gpu": str(gpus)}
    capacity = capacity_of({"status": {"allocatable": allocatable}}, ("nvidia.com/gpu",))
    settings = ClusterSettings(namespace="work", api_url="http://hai")
    wanted = resources_of(a_launch(), 0, capacity, settings)["requests"]
    there = platform(render, separate)
    for name, others in zip(("cpu", "memory"), SYSTEM[system], strict=True):
        asked = there[name] + parse_quantity(others) + parse_quantity(wanted.get(name, "0"))
        assert asked <= parse_quantity(allocatable[name]), (name, wanted.get(name))
