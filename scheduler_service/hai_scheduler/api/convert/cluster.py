"""Converts nodes, and the cluster at a glance, into models of the wire."""

from __future__ import annotations

from hai_scheduler.api.wire.cluster import ClusterOut, GroupOverview, NodeOut, NodeTask
from hai_scheduler.service.insight.queries import ClusterView, NodeView


def node_out(view: NodeView) -> NodeOut:
    """Return the model of a node."""
    node = view.node
    return NodeOut(
        name=node.name,
        group=node.group,
        leaf=node.leaf,
        zone=node.zone,
        gpus=node.gpus,
        ready=node.ready,
        mark=node.mark.value,
        task_id=view.only.task_id if view.only else None,
        user=view.only.user if view.only else None,
        gpus_free=view.gpus_free,
        tasks=[NodeTask.model_validate(holder) for holder in view.holders],
        orphan=node.orphan,
    )


def cluster_out(view: ClusterView, standstill: str | None) -> ClusterOut:
    """Return the model of the cluster at a glance; `standstill` is why nothing is decided, or None."""
    groups = [GroupOverview.model_validate(group) for group in view.groups]
    return ClusterOut(paused=view.paused, groups=groups, standstill=standstill)
