"""Converts nodes, previews of marks on them, and the cluster at a glance into models of the wire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

from hai_scheduler.api.wire.cluster import (
    AssumptionOut,
    ClusterOut,
    DisplacedTask,
    GroupOverview,
    LaterTask,
    MarkPreviewOut,
    MovedTask,
    NodeOut,
    NodeTask,
)
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task
from hai_scheduler.sentences.assumptions import assumption
from hai_scheduler.sentences.catalogue import ENGLISH, Language
from hai_scheduler.sentences.messages import fallback_of
from hai_scheduler.service.insight.mark_preview import MarkPreview, sentence_of_preview
from hai_scheduler.service.insight.node_map import NodeFacts
from hai_scheduler.service.insight.queries import ClusterView, NodeHolder
from hai_scheduler.service.shared.caller import Caller


def node_out(facts: NodeFacts, caller: Caller) -> NodeOut:
    """Return the model of a node. Of other users' tasks it has no names."""
    view = facts.view
    return NodeOut.of(
        view.node,
        task_id=view.only.task_id if view.only else None,
        user=view.only.user if view.only else None,
        gpus_free=view.gpus_free,
        tasks=[_node_task(holder, facts, caller) for holder in view.holders],
        state=facts.word,
        reason=facts.reason,
        network=None if facts.fallback is None else fallback_of(ENGLISH, facts.fallback, [view.node.name]),
        since=facts.since,
        by=facts.by,
        seen_at=facts.seen_at,
    )


def _node_task(holder: NodeHolder, facts: NodeFacts, caller: Caller) -> NodeTask:
    task, use = facts.tasks.get(holder.task_id), facts.use.get(holder.task_id)
    run = None if task is None else task.live_run
    if task is None or run is None:
        return NodeTask(task_id=holder.task_id, user=holder.user, gpus=list(holder.gpus))
    return NodeTask.of(
        holder,
        name=task.name if caller.may_see(task.user) else "",
        run=run.number,
        priority=run.priority,
        phase=_phase(run),
        running_since=run.running_at,
        deadline=None if run.notice is None else run.notice.deadline,
        use=use,
    )


def _phase(run: Run) -> Literal["starting", "running", "leaving"]:
    if run.notice is not None or run.killed_at is not None:
        return "leaving"
    return "starting" if run.running_at is None else "running"


def cluster_out(view: ClusterView, standstill: str | None) -> ClusterOut:
    """Return the model of the cluster at a glance; `standstill` is why nothing is decided, or None."""
    groups = [GroupOverview.model_validate(group) for group in view.groups]
    return ClusterOut(paused=view.paused, groups=groups, standstill=standstill)


def preview_out(say: Language, preview: MarkPreview) -> MarkPreviewOut:
    """Return the model of a preview, which admins alone read."""
    return MarkPreviewOut.of(
        preview,
        sentence=sentence_of_preview(say, preview),
        displaced=[DisplacedTask.of(one, **_task(one.task), node_names=one.nodes) for one in preview.displaced],
        staying=[_task(task) for task in preview.staying],
        moved=[MovedTask.of(one, **_task(one.task)) for one in preview.moved],
        later=[LaterTask.of(one, **_task(one.task)) for one in preview.later],
        assumptions=_assumptions(say, preview),
    )


def _task(task: Task) -> dict[str, Any]:
    run = task.live_run
    return {
        "task_id": task.id,
        "name": task.name,
        "user": task.user,
        "priority": task.priority if run is None else run.priority,
        "nodes": task.nodes,
        "gpus": task.gpus,
    }


def _assumptions(say: Language, preview: MarkPreview) -> list[AssumptionOut]:
    found: dict[str, timedelta | None] = dict.fromkeys(("lengths", "submissions", "leaving"))
    if preview.step > timedelta(seconds=1):
        found["steps"] = preview.step
    return [
        AssumptionOut(
            name=name,
            sentence=assumption(say, "preview", name, length=length),
            length_s=None if length is None else length.total_seconds(),
        )
        for name, length in found.items()
    ]
