"""Nodes, and the cluster at a glance, as models of the wire."""

from __future__ import annotations

from hai_scheduler.api.convert.levels import level_name
from hai_scheduler.api.wire.cluster import ClusterOut, GroupOverview, LevelCount, NodeOut, NodeTask
from hai_scheduler.service.insight.queries import ClusterView, GroupView, NodeView


def node_out(view: NodeView) -> NodeOut:
    """A node."""
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
        tasks=[NodeTask(task_id=h.task_id, user=h.user, gpus=list(h.gpus)) for h in view.holders],
        orphan=node.orphan,
    )


def cluster_out(view: ClusterView) -> ClusterOut:
    """The cluster at a glance."""
    return ClusterOut(paused=view.paused, groups=[_group(group) for group in view.groups])


def _group(group: GroupView) -> GroupOverview:
    return GroupOverview(
        group=group.group,
        nodes=group.nodes,
        held=group.held,
        free=group.free,
        unavailable=group.unavailable,
        shared=group.shared,
        gpus=group.gpus,
        gpus_free=group.gpus_free,
        levels=[
            LevelCount(
                priority=level_name(level.priority),
                running_tasks=level.running_tasks,
                running_nodes=level.running_nodes,
                waiting_tasks=level.waiting_tasks,
                waiting_nodes=level.waiting_nodes,
            )
            for level in group.levels
        ],
    )
