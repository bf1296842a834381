"""What everybody may use on a new platform, until an admin says otherwise (Q1): decided once for each database."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.ports.store import Store, Tx

log = logging.getLogger(__name__)

#: Name of the setting in the store that says how far the decision is.
SETTING: Final = "default_quota"
#: The database is new and no node has been seen yet, so that there is no node group to write rows for.
PENDING: Final = "pending"
#: Decided for good: rows that an admin deletes do not come back.
DONE: Final = "done"

#: The highest level that a number of nodes opens; above it there is nothing without a row of an admin's.
HIGHEST: Final = Priority.NORMAL
#: Nodes for each user on a cluster whose configuration says nothing else.
ON_A_CLUSTER: Final = 4


async def decide(store: Store, groups: Collection[str], nodes: int | None) -> bool:
    """Write the `public` rows of a new database, once; whether that is decided.

    A database with rows, and one that an earlier version has served, is decided as it is.

    Args:
        store: The store. Raises what it raises.
        groups: The node groups that are there; while there are none the decision waits for them.
        nodes: How many nodes each user may hold at NORMAL, and at each level below it; 0 is nothing, None is no
            limit at any level.
    """
    async with store.write() as tx:
        if await tx.setting(SETTING) == DONE:
            return True
        old = bool(await tx.quotas()) or (await tx.setting(SETTING) is None and await _has_served(tx))
        if not old and not groups:
            await tx.put_setting(SETTING, PENDING)
            return False
        rows = [] if old else rows_of(groups, nodes)
        for row in rows:
            await tx.put_quota(row)
        await tx.put_setting(SETTING, DONE)
    if not old:
        log.info("quota of a new platform: %s; admins change it with `hai admin quota set`", in_words(nodes))
    return True


def rows_of(groups: Collection[str], nodes: int | None) -> list[Quota]:
    """The rows of a new platform; see `decide`."""
    levels = [level for level in Priority if nodes is None or (nodes and level <= HIGHEST)]
    return [
        Quota(subject="public", group=group, priority=level, limit=nodes)
        for group in sorted(groups)
        for level in levels
    ]


def in_words(nodes: int | None) -> str:
    """What the rows of a new platform say."""
    if nodes is None:
        return "everybody may hold any number of nodes at every priority"
    if not nodes:
        return "nobody may hold any node"
    return (
        f"each user may hold {nodes} nodes at {HIGHEST.name}, and as many at each priority below it, "
        "and none at the priorities above it"
    )


async def warn_if_closed(store: Store) -> None:
    """Say so when there is not one row of quota: then no task of anybody can start."""
    async with store.read() as tx:
        closed = await tx.setting(SETTING) == DONE and not await tx.quotas()
    if closed:
        log.warning("there is no quota, so that no task can start: `hai admin quota set public NORMAL 4` gives some")


async def _has_served(tx: Tx) -> bool:
    """Whether a service that knew nothing of this decision has used the database: whoever deletes rows leaves an event.

    Secrets and users do not count: another process of a new platform may have been the first to look at the database.
    """
    return await tx.last_event_seq() > 0
