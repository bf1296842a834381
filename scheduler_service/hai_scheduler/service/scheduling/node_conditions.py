"""Notes how nodes are and since when, and tells the feed of changes that no admin has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.event_kinds import EventKind
from hai_scheduler.core.model.node import Node, NodeCondition
from hai_scheduler.ports.values import HistoryEvent
from hai_scheduler.service.shared.changes import SCHEDULER
from hai_scheduler.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChanges:
    """What has changed since conditions were noted last."""

    #: The conditions to write.
    put: Sequence[NodeCondition]
    #: Nodes that are not there any more.
    gone: Sequence[str]
    #: The nodes that readers are told of, by name; None: gone. Marks have events of their own.
    told: Mapping[str, Node | None]


def changes_of(known: Mapping[str, NodeCondition], nodes: Sequence[Node], now: datetime) -> ConditionChanges:
    """Return what has changed.

    Args:
        known: The conditions as they were noted last, by node name. Where there are none, these are the first nodes
            of the platform, which are no news.
        nodes: The nodes now, with their marks.
        now: The present time.
    """
    changed = [node for node in nodes if (before := known.get(node.name)) is None or not before.fits(node)]
    there = {node.name for node in nodes}
    gone = sorted(name for name in known if name not in there)
    told: dict[str, Node | None] = {}
    for node in changed:
        before = known.get(node.name)
        if (known and before is None) or (
            before is not None and (before.ready, before.closed) != (node.ready, node.closed)
        ):
            told[node.name] = node
    return ConditionChanges(
        put=[NodeCondition.of(node, now) for node in changed],
        gone=gone,
        told={**told, **dict.fromkeys(gone)},
    )


async def note_conditions(tx: Tx, nodes: Sequence[Node], now: datetime) -> None:
    """Note how the nodes are, and add an event for each that has changed by itself.

    An answer without any node is a cluster that is being set up or could not be read as a whole: nothing is noted.
    """
    if not nodes:
        return
    changes = changes_of(await tx.nodes.conditions(), nodes, now)
    if changes.put:
        await tx.nodes.put_conditions(changes.put)
    if changes.gone:
        await tx.nodes.forget_conditions(changes.gone)
    if changes.told:
        await tx.events.add_all(
            [
                HistoryEvent(at=now, kind=EventKind.NODE_CONDITION, actor=SCHEDULER, data=_data(name, node))
                for name, node in changes.told.items()
            ]
        )


def _data(name: str, node: Node | None) -> dict[str, object]:
    if node is None:
        return {"node": name, "there": False}
    return {"node": name, "there": True, "group": node.group, "ready": node.ready, "closed": node.closed}
