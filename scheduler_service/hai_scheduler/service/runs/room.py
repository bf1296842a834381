"""The room of runs."""

from __future__ import annotations

from hai_scheduler.service.runs.image_reports import ImageReports
from hai_scheduler.service.runs.rank_reports import RankReports
from hai_scheduler.service.runs.rendezvous import Rendezvous
from hai_scheduler.service.runs.run_facts import RunRegistry
from hai_scheduler.service.runs.supervisors import Supervisors
from hai_scheduler.service.shared.world import World


class RunsRoom:
    """What ranks tell and ask."""

    def __init__(self, world: World) -> None:
        self.images = ImageReports(world)
        self.registry = RunRegistry(world)
        self.rendezvous = Rendezvous(world)
        self.reports = RankReports(world)
        self.supervisors = Supervisors()
