"""The room of tasks."""

from __future__ import annotations

from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.world import World
from hai_scheduler.service.tasks.builds import EnvironmentBuilds
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.labels import Labels
from hai_scheduler.service.tasks.many import ManyTasks
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.room import WorkspaceRoom


class TasksRoom:
    """What users do with tasks."""

    def __init__(self, world: World, workspace: WorkspaceRoom, workers: ComputePool) -> None:
        self.submissions = Submissions(world, workspace)
        self.builds = EnvironmentBuilds(world, self.submissions)
        self.experiments = Experiments(workers=workers)
        self.labels = Labels(world)
        self.many = ManyTasks(submissions=self.submissions)
