"""The cluster that is this machine: nodes are slots, ranks are processes under `hai_client.rank`."""

from hai_scheduler.adapters.local.cluster import LocalCluster, LocalSettings
from hai_scheduler.adapters.local.nodes import LocalNode, NodesError, local_nodes

__all__ = ["LocalCluster", "LocalNode", "LocalSettings", "NodesError", "local_nodes"]
