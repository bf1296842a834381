"""Reads the snapshot from which a plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.quota import Usage
from hai_scheduler.core.model.snapshot import Snapshot
from hai_scheduler.core.model.task import Task
from hai_scheduler.service.accounting.standings import users_over
from hai_scheduler.service.origin.orphan_registry import held_nodes, read_orphans
from hai_scheduler.service.platform.pause import pause_of
from hai_scheduler.store.transaction import Tx


async def marked(tx: Tx, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The cluster's nodes with the marks of admins and of the platform, and with their orphaned runs."""
    marks, none = await tx.nodes.marks(), NodeMark.NONE
    held = held_nodes(await read_orphans(tx))
    return tuple(
        [
            node
            if node.mark is (mark := marks.get(node.name, none)) and node.orphan == held.get(node.name)
            else replace(node, mark=mark, orphan=held.get(node.name))
            for node in nodes
        ]
    )


async def snapshot_of(
    tx: Tx,
    now: datetime,
    nodes: tuple[Node, ...],
    tasks: Sequence[Task],
    uses: Iterable[Usage],
    strikes: Iterable[Strike],
) -> Snapshot:
    """The snapshot of the given nodes, tasks, uses and strikes, with quotas, groups and the pause from the store."""
    users = await tx.users.all()
    pause = pause_of(await tx.settings.get("paused"))
    return Snapshot(
        now=now,
        nodes=nodes,
        tasks=tasks if isinstance(tasks, tuple) else tuple(tasks),
        quotas=tuple(await tx.quotas.all()),
        uses=tuple(uses),
        strikes=tuple(strikes),
        groups_of={user.name: user.groups for user in users},
        counted_low=await users_over(tx, users),
        paused=pause is not None,
        pause_grace=pause.grace if pause else None,
    )
