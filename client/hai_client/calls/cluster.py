"""The REST calls for the cluster: its nodes, its pauses, its ledger, its health."""

from __future__ import annotations

from collections.abc import Sequence

from hai_client import wire
from hai_client.calls.base import Calls, quoted
from hai_client.http import Query
from hai_client.wire import schema


class ClusterCalls(Calls):
    """The calls of `Client` for the cluster and its nodes."""

    def nodes(self) -> tuple[schema.Node, ...]:
        """Return all nodes, sorted by name."""
        return self._get(schema.NodeList, "GET", "/nodes").items

    def cordon(self, node: str) -> schema.Node:
        """Give a node no new runs. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/cordon", again=True)

    def uncordon(self, node: str) -> schema.Node:
        """Lift a cordon or a drain. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/uncordon", again=True)

    def drain(self, node: str) -> schema.Node:
        """Give a node no new runs, and have its runs leave with a notice. For admins."""
        return self._get(schema.Node, "POST", f"/nodes/{quoted(node, 'node')}/drain", again=True)

    def preview_mark(self, nodes: Sequence[str], mark: str = "draining") -> schema.MarkPreview:
        """Return what a mark on nodes would do; nothing is done. For admins.

        Args:
            nodes: The names of the nodes.
            mark: `draining`, or `cordoned`.
        """
        body = {"nodes": list(nodes), "mark": mark}
        return self._get(schema.MarkPreview, "POST", "/nodes/preview", body=body, again=True)

    def overview(self) -> schema.Overview:
        """Return the cluster now and over the last 24 hours."""
        return self._get(schema.Overview, "GET", "/overview")

    def queue(
        self, *, group: str | None = None, after: int | None = None, limit: int | None = None, mine: bool = False
    ) -> schema.Queue:
        """Return the queue in its order.

        Args:
            group: The node group (default: all).
            after: With `group`: go on after a page with this `next`.
            limit: The most tasks of each group.
            mine: Only the caller's own tasks, with their places among all.
        """
        query: Query = {"group": group, "after": after, "limit": limit, "mine": "true" if mine else None}
        return self._get(schema.Queue, "GET", "/queue", query=query)

    def cluster(self) -> schema.Cluster:
        """Return an overview of the cluster."""
        return self._get(schema.Cluster, "GET", "/cluster")

    def pause(self) -> schema.Cluster:
        """Have every run leave with a notice, and start nothing until `unpause`. For admins."""
        return self._get(schema.Cluster, "POST", "/cluster/pause", again=True)

    def unpause(self) -> schema.Cluster:
        """End a pause. For admins."""
        return self._get(schema.Cluster, "POST", "/cluster/resume", again=True)

    def erase_from_ledger(self, user: str) -> None:
        """Take the name of a user out of the ledger for good; all sums stay. For admins."""
        self._http.call("DELETE", f"/ledger/users/{quoted(user, 'user')}")

    def versions(self) -> wire.people.Versions:
        """Return the versions of the service, of its database, and of the parts that speak with it."""
        return self._get(wire.people.Versions, "GET", "/versions")

    def health(self) -> schema.Health:
        """Return the health of the service. Needs no token."""
        return self._get(schema.Health, "GET", "/health")
