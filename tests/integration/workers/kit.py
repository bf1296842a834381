"""Orders to a worker process, and looks at what it does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hai_scheduler.core.model.policy import Policies
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.service.shared.orders import Bounds, ForecastOrder, SnapshotFacts
from hai_scheduler.worker.pool import ProcessWorkers
from kit.builders import a_task, at, some_nodes

FACTS = SnapshotFacts(nodes=some_nodes(4), policies=Policies())
#: What no forecast here ever comes to the end of.
ENDLESS = Bounds(horizon=timedelta(days=90), plans=10**9, seconds=10**6)


def short(task_id: int = 1) -> ForecastOrder:
    """A forecast that takes milliseconds."""
    return ForecastOrder(task=a_task(task_id, nodes=1), now=at(60), bounds=Bounds(), hypothetical=False)


def endless() -> ForecastOrder:
    """A gang on all nodes, behind three hundred tasks that never end."""
    task = a_task(400, nodes=4, priority=Priority.LOW)
    return ForecastOrder(task=task, now=at(60), bounds=ENDLESS, hypothetical=True)


def children(workers: ProcessWorkers) -> list[int]:
    """The processes that compute now."""
    if workers.pid is None:
        return []
    return [int(pid) for pid in Path(f"/proc/{workers.pid}/task/{workers.pid}/children").read_text().split()]
