"""Deletes the objects of runs: their pods, and at last their Service."""

from __future__ import annotations

import logging
from typing import Final

from hai_scheduler.adapters.kubernetes.client import ApiRefused, KubernetesApi, Missing, gather_all
from hai_scheduler.adapters.kubernetes.cluster_cache import ClusterCache
from hai_scheduler.adapters.kubernetes.names import run_name, run_selector
from hai_scheduler.adapters.kubernetes.pod_status import has_ended
from hai_scheduler.adapters.kubernetes.record import RunObjects, Thing
from hai_scheduler.adapters.kubernetes.settings import ClusterSettings
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.ports.errors import Temporary

log = logging.getLogger(__name__)

#: Runs of at most this many ranks are ended pod by pod.
_FEW: Final = 8
#: Pods that have not ended.
_LIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"


class RunRemover:
    """Deletes what it is told to, of one run at a time. What is gone already counts as deleted.

    Args:
        api: The API server.
        sight: The objects of the cluster.
        settings: The settings of the cluster.
    """

    def __init__(self, api: KubernetesApi, sight: ClusterCache, settings: ClusterSettings) -> None:
        self._api = api
        self._sight = sight
        self._settings = settings
        self._pods = f"/api/v1/namespaces/{settings.namespace}/pods"
        self._services = f"/api/v1/namespaces/{settings.namespace}/services"

    async def end_pods(self, run_id: RunId) -> None:
        """Delete the run's pods, one by one if they are few: a selector makes the server read the whole namespace.

        Raises:
            Temporary: a pod cannot be deleted now.
        """
        run = self._sight.run(run_id)
        if run is not None and run.record is not None and len(run.pods) == run.ranks <= _FEW:
            await gather_all(*(self._end_pod(pod) for pod in run.pods.values() if not has_ended(pod)))
            return
        query: dict[str, str | int] = {"labelSelector": run_selector(run_id), "fieldSelector": _LIVE}
        await self._delete_pods(run_id, query, grace_s=self._settings.kill_grace_s)

    async def _end_pod(self, pod: Thing) -> None:
        only = {"uid": pod["metadata"]["uid"]}
        grace = {"gracePeriodSeconds": self._settings.kill_grace_s, "preconditions": only}
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **grace}
        try:
            await self._api.request("DELETE", f"{self._pods}/{pod['metadata']['name']}", body=body)
        except Missing:
            log.debug("pod %s has gone already", pod["metadata"]["name"])
        except ApiRefused as error:
            raise Temporary(f"the pod {pod['metadata']['name']} cannot be deleted: {error}") from None

    async def _delete_pods(self, run_id: RunId, query: dict[str, str | int], *, grace_s: int) -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": grace_s}
        try:
            await self._api.request("DELETE", self._pods, query=query, body=body)
        except (Missing, ApiRefused) as error:
            raise Temporary(f"the pods of run {run_id} cannot be deleted: {error}") from None

    async def remove_pods(self, run: RunObjects) -> None:
        """Delete the pods of an ended run at once: Kubernetes would delete them with the Service, but later.

        Raises:
            Temporary: they cannot be deleted now.
        """
        await self._delete_pods(run.run_id, {"labelSelector": run_selector(run.run_id)}, grace_s=0)
        for pod in run.pods.values():
            self._sight.pods.drop(pod["metadata"]["name"])

    async def remove_service(self, run_id: RunId) -> None:
        """Delete the run's Service; Kubernetes deletes its pods and its Secret with it. Raises Temporary."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        try:
            await self._api.request("DELETE", f"{self._services}/{run_name(run_id)}", body=body)
        except Missing:
            log.debug("run %s has been removed already", run_id)
        except ApiRefused as error:
            raise Temporary(f"run {run_id} cannot be removed from Kubernetes: {error}") from None
        self._sight.services.drop(run_name(run_id))
