"""What users may hold and hold, by node group and level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.core.model.task import Task
from hai_scheduler.core.ordering.quota import LEVELS, QuotaTable
from hai_scheduler.core.ordering.usage import share_of


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaView:
    """The limit of a user at a level, the row that sets it, and the nodes that the user holds."""

    group: str
    priority: Priority
    limit: int | None
    source: str
    #: Nodes; k GPUs of a node count k / GPUs-of-the-node (Q1).
    used: float
    #: Up to where users may raise the limit themselves (Q3).
    ceiling: int | None = None
    #: When that row expires.
    expires_at: datetime | None = None


def quota_views(
    rows: Sequence[Quota],
    live: Iterable[Task],
    groups_of: Mapping[str, Collection[str]],
    *,
    now: datetime,
    node_groups: Collection[str],
    gpus_per_node: Callable[[str], int],
) -> Mapping[str, Sequence[QuotaView]]:
    """The limits and held nodes of users, for levels with a row or a held node; highest level first.

    Args:
        rows: All rows of quota.
        live: The tasks with a live run, of any users.
        groups_of: The user groups of each user that is asked for.
        now: The time: expired rows do not count.
        node_groups: The known node groups; those of rows and of tasks are added.
        gpus_per_node: Returns the number of GPUs of the largest node of a node group.
    """
    table = QuotaTable(rows, groups_of, now)
    ends = {(row.subject, row.group, row.priority): row.expires_at for row in rows}
    used: defaultdict[tuple[str, str, Priority], float] = defaultdict(float)
    places = {*node_groups, *(row.group for row in rows)}
    for task in live:
        if task.user in groups_of and task.live_run:
            used[task.user, task.group, task.live_run.priority] += share_of(task, gpus_per_node(task.group))
            places.add(task.group)
    views: dict[str, list[QuotaView]] = {user: [] for user in groups_of}
    for user, found in views.items():
        for group in sorted(places):
            for level in LEVELS:
                cap, held = table.cap(user, group, level), used.get((user, group, level), 0.0)
                if cap.source != "none" or held:
                    view = QuotaView(
                        group=group,
                        priority=level,
                        limit=cap.limit,
                        source=cap.source,
                        used=held,
                        ceiling=cap.ceiling,
                        expires_at=ends.get((cap.source, group, level)),
                    )
                    found.append(view)
    return views
