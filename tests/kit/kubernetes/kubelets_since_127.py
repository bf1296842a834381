"""Stand-ins of kubelets since 1.27 on any Kubernetes API server: every pod gets a last phase before it vanishes.

What they write is what pkg/kubelet/status/status_manager.go (TerminatePod), pkg/kubelet/kubelet_pods.go and
pkg/kubelet/eviction of Kubernetes 1.27 write for a pod of one container that is never restarted:

- of a container that was not made before its pod was deleted, that it ended with 137 for an unknown reason;
- of one that ran, its real status, in a phase that is the pod's last, and only then the pod is removed;
- of a pod that the node evicts, why, with the condition `DisruptionTarget`;
- of one that does not fit beside those that the node has taken, that it is rejected, since 1.29 in these words.

No process is started: what becomes of a container is what its `Play` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from hai_client.quantity import parse_quantity, pod_requests
from hai_scheduler.adapters.kubernetes.client import KubernetesApi, Missing
from hai_scheduler.adapters.kubernetes.manifests import CONTAINER
from hai_scheduler.adapters.kubernetes.names import RANK
from hai_scheduler.ports.errors import Temporary
from kit.kubernetes.simulated_nodes import SimulatedNodes, Thing, now, path_of
from unit.adapters.kubernetes.things import unlocated

T = TypeVar("T")
#: The container of a pod with this image is never created: the image is still being pulled.
SLOW_IMAGE = "registry.invalid/hai-slow:1"
#: The condition by which Kubernetes says that a pod is about to be evicted, preempted or deleted.
DISRUPTED = "DisruptionTarget"
_LAST = ("Failed", "Succeeded")


class Play(ABC):
    """The work of a rank's container, with the Secret of its run."""

    @abstractmethod
    async def run(self, pod: Thing, secret: Thing, told: asyncio.Event) -> tuple[int, str]:
        """Run until the command ends, or soon after `told` (SIGTERM); returns exit status and termination message."""


@dataclass(slots=True)
class _Life:
    """A pod on its node."""

    #: The pod as it was seen last.
    pod: Thing
    #: Set when the pod was deleted, or its node evicts it.
    told: asyncio.Event = field(default_factory=asyncio.Event)
    deleted: asyncio.Event = field(default_factory=asyncio.Event)
    #: Why the node evicts the pod; empty if it does not.
    evicted: str = ""
    #: Whether the kubelet has taken the pod: from then on its requests count.
    admitted: bool = False


class KubeletsSince127(SimulatedNodes):
    """Stand-ins of kubelets. As in a kubelet, each pod has a worker: the events of a pod come one after the other."""

    def __init__(self, api: KubernetesApi, nodes: Mapping[str, Mapping[str, str]], *, play: Play, **more: Any) -> None:
        super().__init__(api, nodes, **more)
        self._play = play
        self._lives: dict[str, _Life] = {}
        self._held: set[str] = set()
        #: Reason and message with which a node rejects each pod.
        self._rejecting: dict[str, tuple[str, str]] = {}
        self._addresses = itertools.cycle(f"192.0.2.{host}" for host in range(1, 255))

    def take_pod(self, kind: str, pod: Thing) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            if (gone := self._lives.pop(uid, None)) is not None:
                gone.told.set()
                gone.deleted.set()
            return
        known = self._lives.get(uid)
        life = self._lives.setdefault(uid, _Life(pod))
        life.pod = pod
        if pod["metadata"].get("deletionTimestamp"):
            life.deleted.set()
            life.told.set()
        if known is None:
            self.start(self._live(life))

    def hold(self, node: str) -> None:
        """Let no container be created on `node` from now on."""
        self._held.add(node)

    def reject(self, node: str, reason: str, message: str) -> None:
        """Let `node` reject every pod from now on."""
        self._rejecting[node] = (reason, message)

    def evict(self, name: str, why: str) -> None:
        """Let the node of a pod evict the pod, as a node does that is short of memory or disk."""
        (life,) = (life for life in self._lives.values() if life.pod["metadata"]["name"] == name)
        life.evicted = why
        life.told.set()

    async def _live(self, life: _Life) -> None:
        """Play the kubelet of a pod from its first sight to its end; a pod that has ended already is left as it is."""
        if not _is_over(life.pod):
            rejected = self._rejection(life)
            life.admitted = not rejected
            await self.show(life.pod, rejected or self._last(life, await self._until_its_end(life)))
        await life.deleted.wait()
        await self.confirm(life.pod)

    async def _until_its_end(self, life: _Life) -> Thing:
        """The state of the container after its end."""
        if RANK not in (life.pod["metadata"].get("labels") or {}):
            # A pod of somebody else just runs.
            await self.show(life.pod, {"phase": "Running"})
            await life.told.wait()
            return {"phase": "Failed"}
        if not life.told.is_set():
            waiting = {"waiting": {"reason": "ContainerCreating"}}
            await self.show(life.pod, {"phase": "Pending", "startTime": now(), **_container(life.pod, waiting)})
        secret = await _unless(life.told, self._mounted(life.pod))
        if secret is None:
            return {"phase": "Failed", "containerStatuses": [_unmade(life.pod)]}
        began = now()
        up = _container(life.pod, {"running": {"startedAt": began}}, made=True)
        await self.show(life.pod, {"phase": "Running", "podIP": next(self._addresses), **up})
        code, message = await self._play.run(life.pod, secret, life.told)
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
        terminated = {"terminated": {**ended, "startedAt": began, "finishedAt": now()}}
        return {"phase": "Failed" if code else "Succeeded", **_container(life.pod, terminated, made=True)}

    def _rejection(self, life: _Life) -> Thing:
        """The status with which a kubelet rejects a pod that has no room beside those that it has taken; else empty."""
        node = life.pod["spec"]["nodeName"]
        if node in self._rejecting:
            return dict(zip(("phase", "reason", "message"), ("Failed", *self._rejecting[node]), strict=True))
        taken = [
            pod_requests(other.pod)
            for other in self._lives.values()
            if other.admitted and other.pod["spec"]["nodeName"] == node and not _is_over(other.pod)
        ]
        for resource, asked in pod_requests(life.pod).items():
            used = sum(each.get(resource, Decimal(0)) for each in taken)
            have = parse_quantity(self._have.get(resource, "0"))
            if asked and used + asked > have:
                short = f"{resource}, requested: {asked:f}, used: {used:f}, capacity: {have:f}"
                words = f"Pod was rejected: Node didn't have enough resource: {short}"
                return {"phase": "Failed", "reason": f"OutOf{resource}", "message": words}
        return {}

    async def _mounted(self, pod: Thing) -> Thing:
        """The Secret that the pod mounts, as soon as it exists; never returns if the container is not to be made."""
        if pod["spec"]["containers"][0]["image"] == SLOW_IMAGE or pod["spec"]["nodeName"] in self._held:
            await asyncio.Event().wait()
        (name,) = (volume["secret"]["secretName"] for volume in pod["spec"]["volumes"] if "secret" in volume)
        while True:
            with contextlib.suppress(Missing, Temporary):
                return await self.api.request("GET", f"{path_of(pod).rpartition('/pods/')[0]}/secrets/{name}")
            await asyncio.sleep(0.1)

    def _last(self, life: _Life, ended: Thing) -> Thing:
        """The pod's last status. Conditions of others stay, such as the one that tells of an eviction."""
        said = [one for one in life.pod.get("status", {}).get("conditions", []) if one["type"] == DISRUPTED]
        if not life.evicted:
            return {**ended, "conditions": [_condition("Ready", "False", "PodFailed"), *said]}
        taken = {**_condition(DISRUPTED, "True", "TerminationByKubelet"), "message": life.evicted}
        return {**ended, "phase": "Failed", "reason": "Evicted", "message": life.evicted, "conditions": [taken]}


def _is_over(pod: Thing) -> bool:
    return pod.get("status", {}).get("phase") in _LAST


def _condition(kind: str, status: str, reason: str) -> Thing:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": now()}


def _container(pod: Thing, state: Thing, *, made: bool = False) -> Thing:
    """The `containerStatuses` of a pod with the rank's container."""
    said = {**_facts(pod), "started": "running" in state, "state": state}
    return {"containerStatuses": [{**said, "containerID": f"containerd://{pod['metadata']['uid']}" if made else ""}]}


def _unmade(pod: Thing) -> Thing:
    (said,) = unlocated(CONTAINER)["containerStatuses"]
    return {**_facts(pod), **said}


def _facts(pod: Thing) -> Thing:
    image = pod["spec"]["containers"][0]["image"]
    return {"name": CONTAINER, "ready": False, "restartCount": 0, "image": image, "imageID": ""}


async def _unless(event: asyncio.Event, work: Awaitable[T]) -> T | None:
    """The result of `work`; None if `event` comes first, which cancels the work."""
    waits, works = asyncio.ensure_future(event.wait()), asyncio.ensure_future(work)
    try:
        await asyncio.wait((waits, works), return_when=asyncio.FIRST_COMPLETED)
        return None if event.is_set() else await works
    finally:
        waits.cancel()
        works.cancel()
