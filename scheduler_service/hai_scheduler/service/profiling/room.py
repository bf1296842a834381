"""The room of recordings."""

from __future__ import annotations

from hai_scheduler.service.profiling.intake import RecordingIntake
from hai_scheduler.service.profiling.recordings import Recordings
from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.world import World


class ProfilingRoom:
    """Recordings of what tasks do."""

    def __init__(self, world: World, workers: ComputePool) -> None:
        self.intake = RecordingIntake(world)
        self.recordings = Recordings(world, workers)
