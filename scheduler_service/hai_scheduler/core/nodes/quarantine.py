"""Which nodes get no new runs because runs keep failing on them (rule H3)."""

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
    """The nodes of one group that are to be put in quarantine: most failures first, ties by name.

    A node that an admin has marked is left to him. Nodes that are in quarantine already count against the share.
    Of a strike whose task has been deleted nobody knows the user: it counts, but for no user.
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
    """Whether so many failures, of so many tasks and users, speak against the node and not against one of them."""
    users = {strike.user for strike in seen} - {None}
    return (
        len(seen) >= policy.strikes
        and len({strike.task_id for strike in seen}) >= policy.strike_tasks
        and len(users) >= policy.strike_users
    )
