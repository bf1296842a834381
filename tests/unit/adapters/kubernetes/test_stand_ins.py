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
