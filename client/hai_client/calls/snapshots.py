"""The REST calls for snapshots of code. `hai_client.snapshots.taking.take` makes them in their order."""

from __future__ import annotations

from hai_client import wire
from hai_client.calls.base import Calls, TaskKey, task_path
from hai_client.errors import NotFound

_BYTES = {"Content-Type": "application/octet-stream"}


class SnapshotCalls(Calls):
    """The calls of `Client` for snapshots of code."""

    def snapshot_rules(self, group: str = "training") -> wire.storage.SnapshotRules:
        """Return whether tasks of a node group start in a snapshot of their code, and how large one may be."""
        return self._get(wire.storage.SnapshotRules, "GET", "/snapshots/rules", query={"group": group})

    def snapshot_state(self, digest: str) -> wire.storage.SnapshotState | None:
        """Return how much of a snapshot of the caller's the service has; None: nothing."""
        try:
            return self._get(wire.storage.SnapshotState, "GET", f"/snapshots/{digest}")
        except NotFound as error:
            # A proxy that cannot reach the service may answer 404 too.
            if error.code != "not_found":
                raise
            return None

    def offer_snapshot(self, digest: str, packed: bytes) -> wire.storage.SnapshotState:
        """Send a manifest (`hai_client.snapshots.manifest`), and return which contents are missing."""
        return self._get(wire.storage.SnapshotState, "PUT", f"/snapshots/{digest}", body=packed, headers=_BYTES)

    def send_contents(self, digest: str, stream: bytes) -> wire.storage.SnapshotState:
        """Send contents (`hai_client.snapshots.packing`), and return which are still missing."""
        path = f"/snapshots/{digest}/contents"
        return self._get(wire.storage.SnapshotState, "POST", path, body=stream, headers=_BYTES)

    def task_manifest(self, task: TaskKey) -> bytes:
        """Return the manifest of the snapshot of a task's code. Raises NotFound if it has none."""
        return self._http.fetch(task_path(task, "snapshot"))

    def task_contents(self, task: TaskKey, start: int) -> bytes:
        """Return contents of a task's snapshot as a stream, from the one with number `start` on: one piece of them."""
        return self._http.fetch(task_path(task, "snapshot/pack"), query={"start": start})
