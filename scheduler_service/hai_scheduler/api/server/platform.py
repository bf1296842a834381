"""The use cases of a process that answers requests."""

from __future__ import annotations

from hai_scheduler.api.server.encoded import SharedAnswers
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.service.accounting.room import AccountingRoom
from hai_scheduler.service.computing.workers import Here
from hai_scheduler.service.insight.room import InsightRoom
from hai_scheduler.service.logs.room import LogsRoom
from hai_scheduler.service.metrics.room import MetricsRoom
from hai_scheduler.service.notifying.own_rules import OwnNotifications
from hai_scheduler.service.origin.orphans import Orphans
from hai_scheduler.service.people.room import PeopleRoom
from hai_scheduler.service.platform.admin import Administration
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.policy_changes import PolicyChanges
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.profiling.room import ProfilingRoom
from hai_scheduler.service.runs.room import RunsRoom
from hai_scheduler.service.scheduling.follower import Follower
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.world import World
from hai_scheduler.service.tallies.kept import TallyReader
from hai_scheduler.service.tasks.room import TasksRoom
from hai_scheduler.service.workspace.room import WorkspaceRoom


class Platform:
    """The use cases by room; handlers call them. They read and write the store, and leave the cluster to the loop."""

    def __init__(self, world: World) -> None:
        """Build the use cases; nothing is started."""
        workers, news = world.workers or Here(world.store), News(store=world.store, bus=world.bus)
        self.world = world
        self.follower = Follower(world)
        # A reader gets the current view, even if a ring was lost.
        world.latest_plan.asked = self.follower.asked
        self.administration = Administration(world)
        self.health = Health(world)
        self.notifications = OwnNotifications(world)
        self.orphans = Orphans(world)
        self.policy = PolicyChanges(world)
        self.readiness = Readiness(world)
        self.accounting = AccountingRoom(world)
        self.logs = LogsRoom(world, news, workers)
        self.metrics = MetricsRoom(world)
        self.people = PeopleRoom(world)
        self.profiling = ProfilingRoom(world, workers)
        self.runs = RunsRoom(world)
        self.workspace = WorkspaceRoom(world)
        self.tasks = TasksRoom(world, self.workspace, workers)
        self.insight = InsightRoom(
            world,
            news=news,
            workers=workers,
            health=self.health,
            policy=self.policy,
            submissions=self.tasks.submissions,
            supervisors=self.runs.supervisors,
        )
        self.prometheus = Metrics(
            self.health.news,
            TallyReader(world.store),
            own=world.timings.tallies,
            labels=world.settings.labels,
        )
        self.shared_answers = SharedAnswers()
