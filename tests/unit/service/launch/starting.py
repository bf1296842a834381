"""Tasks whose runs are decided, and which the cluster has not been asked to launch yet."""

from __future__ import annotations

from hai_scheduler.core.lifecycle.transitions import Launch
from hai_scheduler.core.model.ids import RunId, TaskId
from hai_scheduler.core.model.node import Node
from hai_scheduler.ports.cluster import LaunchOrder
from hai_scheduler.ports.errors import Temporary
from unit.service.service_world import Service


async def decided(service: Service, *task_ids: TaskId) -> list[Launch]:
    """Tick once while the cluster takes nothing; returns the effects that launch the first runs of the tasks."""
    launch = service.cluster.launch

    async def refuse(_: LaunchOrder) -> None:
        raise Temporary("the nodes cannot be reached")

    service.cluster.launch = refuse  # type: ignore[method-assign]
    await service.step(0, ticks=1)
    service.cluster.launch = launch  # type: ignore[method-assign]
    assert set(await service.states(*task_ids)) == {"starting"}
    launches = [Launch(task_id, RunId(f"{task_id}.1")) for task_id in task_ids]
    for one in launches:
        service.loop.cycle.effects.troubles.clear(one.run_id)
    return launches


def by_name(service: Service) -> dict[str, Node]:
    """The nodes of the latest tick."""
    return service.loop.cycle.latest_plan.by_name()
