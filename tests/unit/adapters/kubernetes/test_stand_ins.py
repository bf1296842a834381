"""The stand-ins of kubelets do not give a pod up because the API server was busy."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hai_scheduler.ports.errors import Temporary
from kit.builders import a_launch
from kit.kubernetes.kubelets_since_127 import KubeletsSince127, Play
from kit.waiting import until
from unit.adapters.kubernetes.things import a_pod, stamp


class Busy:
    """An API server that is too busy for the first requests."""

    def __init__(self, busy: int) -> None:
        self.busy = busy
        self.done: list[str] = []

    async def request(self, method: str, path: str, **_: Any) -> dict[str, Any]:
        if self.busy:
            self.busy -= 1
            raise Temporary("too busy")
        self.done.append(f"{method} {path}")
        return {}


class Nothing(Play):
    async def run(self, pod: Any, secret: Any, told: asyncio.Event) -> tuple[int, str]:
        await told.wait()
        return 143, ""


@pytest.mark.parametrize("busy", [0, 1, 3])
async def test_a_deleted_pod_gets_its_last_phase_and_vanishes(busy: int) -> None:
    api = Busy(busy)
    kubelets = KubeletsSince127(api, {"node-1": {}}, play=Nothing(), marked="stand-in")
    pod = a_pod(a_launch())
    pod["metadata"] |= {"namespace": "runs", "uid": "u", "deletionTimestamp": stamp()}
    pod["status"] = {"phase": "Pending"}
    kubelets.take_pod("MODIFIED", pod)
    path = "/api/v1/namespaces/runs/pods/hai-1-1-0"
    expected = [f"PATCH {path}/status", f"DELETE {path}"]
    # It may have asked for the secret of the run before it was told to end.
    await until("the pod to vanish", lambda: [one for one in api.done if path in one], met=expected.__eq__)


async def test_a_pod_that_does_not_fit_beside_those_that_are_there_is_rejected_as_by_todays_kubelets() -> None:
    """F5: a whole-node rank of 8 GPUs, and then a pod of somebody else that wants one."""
    told: dict[str, list[dict[str, Any]]] = {}

    class Telling(Busy):
        async def request(self, method: str, path: str, **more: Any) -> dict[str, Any]:
            if method == "PATCH":
                told.setdefault(path.split("/")[-2], []).append(more["body"]["status"])
            return {"data": {}}

    kubelets = KubeletsSince127(Telling(0), {"node-1": {}}, play=Nothing(), marked="stand-in", gpus=8)
    rank = a_pod(a_launch())
    other = {
        "metadata": {"name": "dcgm", "uid": "u-dcgm"},
        "spec": {"nodeName": "node-1", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Pending"},
    }
    for pod in (rank, other):
        pod["metadata"]["namespace"] = "runs"
        kubelets.take_pod("ADDED", pod)
    await until("both pods to be taken or not", lambda: len(told), met=(2).__eq__)
    assert {status.get("reason") for status in told["hai-1-1-0"]} == {None}
    (rejected,) = told["dcgm"]
    assert (rejected["phase"], rejected["reason"]) == ("Failed", "OutOfnvidia.com/gpu")
    assert rejected["message"].endswith("nvidia.com/gpu, requested: 1, used: 8, capacity: 8")
    for job in kubelets._jobs:
        job.cancel()
