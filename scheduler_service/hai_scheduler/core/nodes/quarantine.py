"""Quarantine: nodes that get no new runs because runs keep failing on them (rule H3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from hai_scheduler.core.model.decisions import Quarantine
from hai_scheduler.core.model.node import Node, NodeMark, Strike
from hai_scheduler.core.model.policy import Policy


def quarantines(
    nodes: Collection[Node], strikes: Sequence[Strike], policy: Policy, now: datetime
) -> tuple[Quarantine, ...]:
    """Choose the nodes of one group to put in quarantine: most failures first, ties by name.

    A node that an admin has marked is left as it is. Nodes already in quarantine count against `quarantine_share`.
    A strike whose task has been deleted has no known user: it counts as a strike, but not towards `strike_users`.

    Args:
        nodes: All nodes of the group.
        strikes: Recent strikes; those older than `strike_window` are ignored.
        policy: The policy numbers of the group.
        now: The time of the plan.
    """
    if not strikes:
        return ()
    recent: defaultdict[str, list[Strike]] = defaultdict(list)
    for strike in strikes:
        if now - strike.at < policy.strike_window:
            recent[strike.node].append(strike)
    struck = {name: sorted({strike.task_id for strike in seen}) for name, seen in recent.items() if _bad(seen, policy)}
    if not struck:
        return ()
    room = int(len(nodes) * policy.quarantine_share) - sum(node.mark is NodeMark.QUARANTINED for node in nodes)
    bad = [node.name for node in nodes if node.mark is NodeMark.NONE and node.name in struck]
    bad.sort(key=lambda name: (-len(recent[name]), name))
    return tuple(Quarantine(node=name, tasks=tuple(struck[name])) for name in bad[: max(0, room)])


def _bad(seen: Sequence[Strike], policy: Policy) -> bool:
    """Whether the failures are of enough tasks and users that the node, and not one of these, is the likely cause."""
    users = {strike.user for strike in seen} - {None}
    return (
        len(seen) >= policy.strikes
        and len({strike.task_id for strike in seen}) >= policy.strike_tasks
        and len(users) >= policy.strike_users
    )
