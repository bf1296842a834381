"""Who has live tasks: the Hub does not take the servers of these users for idle."""

from __future__ import annotations

from hai_scheduler.core.model.task import Task
from hai_scheduler.ports.store import Store, Tx

#: The tag of the task that is a user's own spot container, and how its name begins: it keeps no server alive.
_SPOT = "spot"


async def owners(store: Store) -> list[str]:
    """Users with at least one task that is not ended and not held, spot containers aside; by name."""
    async with store.read() as tx:
        tasks = [task for task in await tx.unfinished_tasks() if not task.held]
        return sorted({task.user for task in tasks if not await _is_spot(tx, task)})


async def _is_spot(tx: Tx, task: Task) -> bool:
    # Only few are looked at closely: this is asked every half minute.
    return task.name.startswith(_SPOT) and _SPOT in (await tx.get_spec(task.id)).tags
