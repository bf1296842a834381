"""The room of the metrics of tasks."""

from __future__ import annotations

from hai_scheduler.service.metrics.following import NewestPoints
from hai_scheduler.service.metrics.idle_gpus import IdleGpus
from hai_scheduler.service.metrics.now import NewestUse
from hai_scheduler.service.metrics.pace import Pace
from hai_scheduler.service.metrics.reading import Series
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.shared.world import World


class MetricsRoom:
    """What ranks measure."""

    def __init__(self, world: World) -> None:
        pace = Pace()
        self.intake = MetricsIntake(world, pace, IdleGpus(world))
        self.series = Series(world, pace)
        self.newest_points = NewestPoints(world, pace)
        self.newest_use = NewestUse(world)
