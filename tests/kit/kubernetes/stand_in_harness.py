"""The Kubernetes adapter for the contract suite: a real API server and scheduler, and stand-ins of today's kubelets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from hai_scheduler.adapters.kubernetes.client import ApiRefused
from hai_scheduler.adapters.kubernetes.names import RANK
from hai_scheduler.adapters.kubernetes.nodes import not_ready_since
from hai_scheduler.core.model.ids import RunId
from kit.kubernetes.harness import KubernetesHarness
from kit.kubernetes.kubelets_since_127 import DISRUPTED, KubeletsSince127, Play
from kit.kubernetes.place import CONFIG_MAP, Place, admin
from kit.kubernetes.simulated_nodes import NODES, Thing, now

LABEL = "hai.jupyter.org/stand-in"
#: The taint keeps other pods away from these nodes.
TAINT = {"key": LABEL, "value": "true", "effect": "NoSchedule"}
#: How long a command that ignores SIGTERM takes until it is killed, in seconds.
RESISTS_S = 0.5
#: A command that ignores SIGTERM with its supervisor, so that the kubelet kills both.
SILENT = ("silent",)


class Script(Play):
    """Plays the supervisor and the command of the suite's jobs; logs go where a supervisor would write them."""

    def __init__(self, harness: StandInHarness) -> None:
        self._harness = harness

    async def run(self, pod: Thing, secret: Thing, told: asyncio.Event) -> tuple[int, str]:
        spec = json.loads(base64.b64decode(secret["data"]["spec.json"]))
        rank = int(pod["metadata"]["labels"][RANK])
        self._harness.started[f"{spec['run_id']}-{rank}"] += 1
        code = await self._command(RunId(spec["run_id"]), rank, spec["command"], told)
        # A supervisor that is killed with its command reports nothing.
        return code, "" if spec["command"] == list(SILENT) else json.dumps({"schema": 1, "exit_code": code})

    async def _command(self, run_id: RunId, rank: int, command: list[str], told: asyncio.Event) -> int:
        if command[0] == "prints":
            _, text, status = command
            await self._print(run_id, rank, text)
            return int(status)
        await self._print(run_id, rank, "up")
        released = asyncio.ensure_future(self._harness.go.wait())
        ordered = asyncio.ensure_future(told.wait())
        try:
            await asyncio.wait((released, ordered), return_when=asyncio.FIRST_COMPLETED)
        finally:
            released.cancel()
            ordered.cancel()
        if not told.is_set():
            return 0
        if command[0] in ("resists", *SILENT):
            await asyncio.sleep(RESISTS_S)
            return 137
        return 143

    async def _print(self, run_id: RunId, rank: int, text: str) -> None:
        stamp = datetime.now(UTC).isoformat()
        data = "".join(f"{stamp} {line}\n" for line in text.split("\n")).encode()
        await self._harness.service.logs.append(run_id, rank, offset=0, data=data, keep=1 << 30)


class StandInHarness(KubernetesHarness):
    """A harness with three nodes of its own, which it creates and removes; commands are names of behaviours."""

    def __init__(self, place: Place, **settings: Any) -> None:
        self._mark = secrets.token_hex(3)
        self._names = tuple(f"stand-in-{self._mark}-{number}" for number in (1, 2, 3))
        ours: dict[str, Any] = {
            "groups": {"training": f"{LABEL}={self._mark}"},
            "tolerations": ({"key": LABEL, "operator": "Exists"},),
            "init_image": "",
            "client_config_map": CONFIG_MAP,
        }
        super().__init__(place, **{**ours, **settings})
        self.started: Counter[str] = Counter()
        self.go = asyncio.Event()
        self._stack = contextlib.AsyncExitStack()
        self.kubelets: KubeletsSince127

    async def start(self) -> None:
        self._api = await self._stack.enter_async_context(admin())
        labels = {name: {LABEL: self._mark, "kubernetes.io/hostname": name} for name in self._names}
        nodes = KubeletsSince127(
            self._api, labels, play=Script(self), marked=f"{LABEL}={self._mark}", gpus=4, taints=(TAINT,)
        )
        self.kubelets = await self._stack.enter_async_context(nodes.up())
        await self.settle(self._usable)

    async def _usable(self) -> bool:
        """Whether Kubernetes' controllers have seen that the nodes are ready: a new node is tainted until then."""
        found = [await self._api.request("GET", f"{NODES}/{name}") for name in self._names]
        return all(not_ready_since(node) is None and len(node["spec"]["taints"]) == 1 for node in found)

    async def close(self) -> None:
        async with self._stack:
            await super().close()
            # Without its kubelet a deleted pod would never vanish.
            await self.settle(self._no_pods)

    async def _no_pods(self) -> bool:
        return not (await self._api.request("GET", f"{self.place.path}/pods"))["items"]

    def node(self, name: str) -> str:
        number = int(name.removeprefix("node-"))
        return self._names[number - 1] if number <= len(self._names) else name

    def ended_with(self, exit_code: int | None, expected: int) -> bool:
        # Kubelets of today write how a container has ended before its pod vanishes.
        return exit_code == expected

    def prints(self, text: str, *, status: int = 0) -> tuple[str, ...]:
        return ("prints", text, str(status))

    def waits(self) -> tuple[str, ...]:
        return ("waits",)

    def resists(self) -> tuple[str, ...]:
        return ("resists",)

    async def release(self) -> None:
        self.go.set()

    async def starts(self, run_id: RunId, rank: int) -> int:
        return self.started[f"{run_id}-{rank}"]

    # -- pods of somebody else

    async def occupy(self, name: str, node: str, *, labels: Thing | None = None, **asked: str) -> None:
        """Put a pod from outside of HAI on a node, with these requests; it runs until it is deleted."""
        spec = {
            "nodeName": self.node(node),
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "it", "image": "registry.invalid/it:1", "resources": {"limits": asked}}],
        }
        body = {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}
        await self._api.request("POST", f"{self.place.path}/pods", body=body)

        async def runs() -> bool:
            return (await self.pod(name)).get("status", {}).get("phase") == "Running"

        await self.settle(runs)

    async def taint(self, node: str, key: str) -> None:
        """Put a taint on a node, beside those of the stand-ins."""
        taints = [dict(TAINT), {"key": key, "value": "1", "effect": "NoSchedule"}]
        await self._api.request("PATCH", f"{NODES}/{self.node(node)}", body={"spec": {"taints": taints}})

    # -- what happens to pods -----------------------------------------------------------------------------

    async def pod(self, name: str) -> Thing:
        """The pod as the API server has it."""
        return await self._api.request("GET", f"{self.place.path}/pods/{name}")

    async def taint_away(self, name: str) -> None:
        """Delete a pod as the controller of taints does since 1.26: first it writes a condition that says so."""
        said = (await self.pod(name)).get("status", {}).get("conditions", [])
        taken = {
            "type": DISRUPTED,
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": now(),
        }
        body = {"status": {"conditions": [*said, taken]}}
        await self._api.request("PATCH", f"{self.place.path}/pods/{name}/status", body=body)
        await self.delete(name)

    async def delete(self, name: str) -> None:
        """Delete a pod as an admin does with kubectl."""
        await self._api.request("DELETE", f"{self.place.path}/pods/{name}")

    async def history(self, name: str, *, since: str) -> list[Thing]:
        """Every state of a pod after this resource version until it is gone."""
        seen: list[Thing] = []
        query: dict[str, str | int] = {"fieldSelector": f"metadata.name={name}", "resourceVersion": since}
        async for event in self._api.watch(f"{self.place.path}/pods", query=query, seconds=60):
            if event and event["type"] != "BOOKMARK":
                seen.append(event["object"])
                if event["type"] == "DELETED":
                    return seen
        raise ApiRefused(f"the pod {name} was still there after a minute")
