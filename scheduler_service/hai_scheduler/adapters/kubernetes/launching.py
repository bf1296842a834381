"""Creates the objects of a run, each at most once."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from hai_scheduler.adapters.kubernetes import manifests
from hai_scheduler.adapters.kubernetes.client import ApiRefused, Exists, KubernetesApi, Missing, gather_all
from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.names import KILLED, LAUNCHED, run_name
from hai_scheduler.adapters.kubernetes.pod_parts import HAI, SHM
from hai_scheduler.adapters.kubernetes.record import Record, StartError, Thing
from hai_scheduler.adapters.kubernetes.resources import Capacity, capacity_of, missing_devices
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.adapters.kubernetes.shared_logs import make_folders
from hai_scheduler.adapters.shared.origins import check_origin
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary


def fault(launch: LaunchOrder, nodes: dict[str, Thing], settings: ClusterSettings) -> StartError | None:
    """Return why the run can never be started on this cluster; None if it can."""
    for rank, name in enumerate(launch.nodes):
        node = nodes.get(name)
        if node is None:
            return StartError(message=f"{name} is not a node of this cluster; see the list of nodes", ranks=(rank,))
        capacity = capacity_of(node, settings.gpu_resources)
        there = capacity.gpu_count
        last = max(launch.gpus[rank], default=-1) if launch.gpus else -1
        if last >= there:
            words = f"{name} has {there} GPUs, so there is no GPU {last}; see the list of nodes"
            return StartError(message=words, ranks=(rank,))
        if missing := missing_devices(launch, rank, capacity):
            words = (
                f"{name} has {missing}, as the fabric of its group asks: look at the device plugin of the node, or ask "
                f"for less with `hai admin fabrics put {launch.group}`"
            )
            return StartError(message=words, ranks=(rank,))
    for mount in launch.mounts:
        if mount.mount_path in (HAI, SHM) or mount.mount_path.startswith(f"{HAI}/"):
            words = f"the mount path {mount.mount_path} is the platform's own; correct the rule of the mount"
            return StartError(message=words, ranks=())
    return None


class PodLauncher:
    """Creates the objects of runs. Two calls, or two services at once, still create each object once."""

    def __init__(self, api: KubernetesApi, sight: ClusterCache, settings: ClusterSettings) -> None:
        self._api = api
        self._sight = sight
        self._settings = settings
        self._inside = f"/api/v1/namespaces/{settings.namespace}"

    async def launch(self, launch: LaunchOrder, now: datetime) -> None:
        """Create the Service, then the Secret and all pods, those that do not exist yet.

        Raises:
            Temporary: the launch should be tried again.
            Refused: the API server will never accept the objects.
            OSError: the folders of logs cannot be made.
        """
        wrong = fault(launch, self._sight.nodes.items, self._settings)
        service = await self._service(launch, wrong)
        record = Record.read(service)
        check_origin(launch, record.origin)
        if record.deleting:
            raise Temporary(f"run {launch.run_id} is still being removed from Kubernetes")
        if record.launched or record.killed or record.start_error is not None:
            return
        if wrong is not None:
            await self.annotate(launch.run_id, wrong.to_annotation())
            return
        owned_by = manifests.owner(service)
        pods = [
            manifests.pod(launch, rank, self._capacity(name), self._settings, owned_by)
            for rank, name in enumerate(launch.nodes)
        ]
        secret = manifests.secret(launch, self._settings, owned_by)
        # A large gang must not take all request slots and make other runs wait.
        await self._make_log_folders(launch)
        share = asyncio.Semaphore(max(1, self._settings.parallel // 2))
        await gather_all(self._create("secrets", secret, share), *(self._create("pods", pod, share) for pod in pods))
        await self.annotate(launch.run_id, {LAUNCHED: now.isoformat()})

    async def _make_log_folders(self, launch: LaunchOrder) -> None:
        """Make the folders of the ranks' logs on the shared volume, where the kubelet's would be root's.

        Raises OSError.
        """
        folder = self._settings.log_dir
        if folder is not None and launch.identity is not None:
            await asyncio.to_thread(make_folders, folder, launch.run_id, len(launch.nodes))

    def _capacity(self, node: str) -> Capacity:
        return capacity_of(self._sight.nodes.items[node], self._settings.gpu_resources)

    async def _service(self, launch: LaunchOrder, wrong: StartError | None) -> Thing:
        body = manifests.service(launch, wrong.to_annotation() if wrong is not None else None)
        try:
            made = await self._api.request("POST", f"{self._inside}/services", body=body)
        except Exists:
            name = run_name(launch.run_id)
            try:
                made = await self._api.request("GET", f"{self._inside}/services/{name}")
            except Missing:
                raise Temporary(f"run {launch.run_id} was being removed from Kubernetes just now") from None
        except Missing as error:
            raise Temporary(f"run {launch.run_id} cannot be created: {error}") from None
        self._sight.services.put(made)
        return made

    async def _create(self, kind: str, body: Thing, share: asyncio.Semaphore) -> None:
        try:
            async with share:
                made = await self._api.request("POST", f"{self._inside}/{kind}", body=body)
        except Exists:
            return
        except Missing as error:
            raise Temporary(f"{kind} cannot be created: {error}") from None
        if kind == "pods":
            self._sight.pods.put(made)

    async def bury(self, run_id: RunId, now: datetime) -> None:
        """Record that a run without a Service was ended: create a Service of its name, which every launch finds.

        Raises Temporary if the record may be missing, Refused if the API server will never accept it.
        """
        try:
            made = await self._api.request(
                "POST", f"{self._inside}/services", body=manifests.tombstone(run_id, {KILLED: now.isoformat()})
            )
        except Exists:
            # A launch was faster, or another replica has done the same.
            if await self.annotate(run_id, {KILLED: now.isoformat()}):
                return
            raise Temporary(f"run {run_id} was being removed from Kubernetes just now") from None
        except Missing as error:
            raise Temporary(f"the record of run {run_id} cannot be written: {error}") from None
        self._sight.services.put(made)

    async def annotate(self, run_id: str, facts: dict[str, str]) -> bool:
        """Write annotations into the run's Service. Returns whether there is a Service. Raises Temporary."""
        body: dict[str, Any] = {"metadata": {"annotations": facts}}
        try:
            made = await self._api.request("PATCH", f"{self._inside}/services/{run_name(run_id)}", body=body)
        except Missing:
            return False
        except ApiRefused as error:
            raise Temporary(f"the record of run {run_id} cannot be written: {error}") from None
        self._sight.services.put(made)
        return True
