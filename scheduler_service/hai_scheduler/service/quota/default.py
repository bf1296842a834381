"""The default quota of a new platform (Q1), decided once for each database; later, admins change quota."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.quota import Quota
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx

log = logging.getLogger(__name__)

#: Name of the setting in the store with the state of the decision.
SETTING: Final = "default_quota"
#: The state while the database is new and no node is known, so that there is no node group to write rows for.
PENDING: Final = "pending"
#: The final state: rows that an admin deletes are not written again.
DONE: Final = "done"

#: The highest level for which the default gives nodes; higher levels need a row by an admin.
HIGHEST: Final = Priority.NORMAL
#: The default for each user on Kubernetes, in nodes.
ON_A_CLUSTER: Final = 4


async def decide(store: Store, groups: Collection[str], nodes: int | None) -> bool:
    """Write the `public` rows of a new database, once.

    A database with rows, or one that an earlier version has used, is left unchanged and counts as decided.

    Args:
        store: The store; its errors are raised.
        groups: The known node groups; while there are none, the decision waits.
        nodes: How many nodes each user may hold at NORMAL, and at each level below it; 0 is none, None is no
            limit at any level.

    Returns:
        True if the quota is decided; False if the decision waits for node groups.
    """
    async with store.write() as tx:
        if await tx.settings.get(SETTING) == DONE:
            return True
        old = bool(await tx.quotas.all()) or (await tx.settings.get(SETTING) is None and await _has_served(tx))
        if not old and not groups:
            await tx.settings.put(SETTING, PENDING)
            return False
        rows = [] if old else rows_of(groups, nodes)
        for row in rows:
            await tx.quotas.put(row)
        await tx.settings.put(SETTING, DONE)
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
    """The default quota in words, for the log."""
    if nodes is None:
        return "each user may hold any number of nodes at every priority"
    if not nodes:
        return "no user may hold any node"
    return (
        f"each user may hold {nodes} nodes at {HIGHEST.name}, and as many at each priority below it, "
        "and none at the priorities above it"
    )


async def warn_if_closed(store: Store) -> None:
    """Log a warning if there is no row of quota at all: then no task can start."""
    async with store.read() as tx:
        closed = await tx.settings.get(SETTING) == DONE and not await tx.quotas.all()
    if closed:
        log.warning("there is no quota, so that no task can start: `hai admin quota set public NORMAL 4` gives some")


async def _has_served(tx: Tx) -> bool:
    """True if a version without this decision has used the database: even a deletion of rows leaves an event.

    Secrets and users do not count: another process of the same new platform may have written them.
    """
    return await tx.events.last_seq() > 0
