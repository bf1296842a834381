"""The users with live tasks: the Hub does not count their servers as idle."""

from __future__ import annotations

from hai_scheduler.core.model.limits import SPOT
from hai_scheduler.core.model.task import Task
from hai_scheduler.store.store import Store
from hai_scheduler.store.transaction import Tx


async def active_users(store: Store) -> list[str]:
    """Users with at least one unfinished task that is not held, spot containers excluded; sorted by name."""
    async with store.read() as tx:
        tasks = [task for task in await tx.tasks.unfinished() if not task.held]
        return sorted({task.user for task in tasks if not await _is_spot(tx, task)})


async def _is_spot(tx: Tx, task: Task) -> bool:
    # The name first: reading every specification would be slow, as the Hub asks every half minute.
    return task.name.startswith(SPOT) and SPOT in (await tx.tasks.get_spec(task.id)).tags
