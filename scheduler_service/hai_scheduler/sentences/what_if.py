"""What would let a task start, and what its user has had of the cluster."""

from __future__ import annotations

from datetime import datetime

from hai_scheduler.core.explaining.alternatives import ChangeKind, WhatIf
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.shares import UserShare
from hai_scheduler.sentences.catalogue import Language
from hai_scheduler.sentences.words import amount, clock, gpus, level, nodes, percent, quota_of, who


def what_would(say: Language, change: WhatIf, task: Task, now: datetime) -> str:
    """Return what would happen to the task with a change: one sentence with a capital and a full stop."""
    return say("change.sentence", condition=_condition(say, change, task), effect=_effect(say, change, now))


def _condition(say: Language, change: WhatIf, task: Task) -> str:
    match change.kind:
        case ChangeKind.PRIORITY:
            return say("change.PRIORITY", level=level(say, change.priority))
        case ChangeKind.NODES:
            return say("change.NODES", nodes=nodes(say, change.nodes or 0), now=task.nodes)
        case ChangeKind.GPUS:
            return say("change.GPUS", gpus=gpus(say, change.gpus or 0), now=task.gpus)
        case ChangeKind.LIMIT:
            key = "change.LIMIT_OF_GROUP" if str(change.subject).startswith("total:") else "change.LIMIT"
            limit, quota = nodes(say, change.limit or 0), quota_of(say, change.subject)
            return say(key, quota=quota, nodes=limit, level=level(say, change.priority))


def _effect(say: Language, change: WhatIf, now: datetime) -> str:
    if change.starts_now:
        return say("change.now")
    by = say("change.by", clock=clock(change.starts_by, now)) if change.starts_by is not None else ""
    if not change.suspends:
        return say("change.freed", by=by)
    return say("change.suspends", who=who(say, change.suspends), by=by)


def share_sentence(say: Language, share: UserShare) -> str:
    """Return what the user has had of the node group, and what follows from it: one sentence (O3)."""
    if share.given is None:
        return say("share.unused", group=share.node_group)
    return say(
        "share.sentence",
        user=share.user,
        group=share.node_group,
        given=percent(share.given),
        entitled=percent(share.entitled),
        weight=amount(share.weight),
        weights=amount(share.weights),
        order=say("share.before", n=share.users_before) if share.users_before else say("share.first"),
    )
