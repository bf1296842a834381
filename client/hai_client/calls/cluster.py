"""The REST calls for the cluster: its nodes, its pauses, its ledger, its health."""

from __future__ import annotations

from hai_client.calls.base import Calls, quoted
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

    def health(self) -> schema.Health:
        """Return the health of the service. Needs no token."""
        return self._get(schema.Health, "GET", "/health")
