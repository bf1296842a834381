"""The room of what users and admins see."""

from __future__ import annotations

from hai_scheduler.service.insight.audit import AuditReading
from hai_scheduler.service.insight.decisions import Decisions
from hai_scheduler.service.insight.explanations import Explanations
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.forecasts import Forecasts
from hai_scheduler.service.insight.node_map import NodeMap
from hai_scheduler.service.insight.overview import Overviews
from hai_scheduler.service.insight.part_versions import PartVersions
from hai_scheduler.service.insight.people import People
from hai_scheduler.service.insight.platform_details import PlatformDetails
from hai_scheduler.service.insight.previews import Previews
from hai_scheduler.service.insight.queries import Queries
from hai_scheduler.service.insight.queue_lists import QueueLists
from hai_scheduler.service.insight.task_lists import TaskLists
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.policy_changes import PolicyChanges
from hai_scheduler.service.runs.supervisors import Supervisors
from hai_scheduler.service.shared.news import News
from hai_scheduler.service.shared.orders import ComputePool
from hai_scheduler.service.shared.world import World
from hai_scheduler.service.tasks.submissions import Submissions


class InsightRoom:
    """What users and admins see."""

    def __init__(
        self,
        world: World,
        *,
        news: News,
        workers: ComputePool,
        health: Health,
        policy: PolicyChanges,
        submissions: Submissions,
        supervisors: Supervisors,
    ) -> None:
        self.queries = Queries(world)
        self.audit = AuditReading(world)
        self.decisions = Decisions(world)
        self.explanations = Explanations(world, self.queries, workers, submissions.workspace.fabrics)
        self.feed = Feed(world, news)
        self.forecasts = Forecasts(world, submissions, workers)
        self.node_map = NodeMap(world, self.queries)
        self.overviews = Overviews(world, self.queries)
        self.part_versions = PartVersions(world, health, supervisors)
        self.people = People(world)
        self.platform_details = PlatformDetails(world, health, self.queries)
        self.previews = Previews(world, policy, workers)
        self.queue_lists = QueueLists(world)
        self.task_lists = TaskLists(world, self.queries)
