"""The use cases that handlers call; `app` creates them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hai_scheduler.api.server.encoded import SharedAnswers
from hai_scheduler.api.server.metrics import Metrics
from hai_scheduler.service.accounting.containers import ContainerBooks
from hai_scheduler.service.accounting.costs import Costs
from hai_scheduler.service.accounting.reports import Reports
from hai_scheduler.service.insight.audit import AuditReading
from hai_scheduler.service.insight.decisions import Decisions
from hai_scheduler.service.insight.explanations import Explanations
from hai_scheduler.service.insight.feed import Feed
from hai_scheduler.service.insight.forecasts import Forecasts
from hai_scheduler.service.insight.node_map import NodeMap
from hai_scheduler.service.insight.overview import Overviews
from hai_scheduler.service.insight.people import People
from hai_scheduler.service.insight.platform_details import PlatformDetails
from hai_scheduler.service.insight.previews import Previews
from hai_scheduler.service.insight.queries import Queries
from hai_scheduler.service.insight.queue_lists import QueueLists
from hai_scheduler.service.insight.task_lists import TaskLists
from hai_scheduler.service.logs.failures import Failures
from hai_scheduler.service.logs.rank_logs import RankLogs
from hai_scheduler.service.logs.reading import Logs
from hai_scheduler.service.metrics.following import NewestPoints
from hai_scheduler.service.metrics.now import NewestUse
from hai_scheduler.service.metrics.reading import Series
from hai_scheduler.service.metrics.taking import MetricsIntake
from hai_scheduler.service.notifying.own_rules import OwnNotifications
from hai_scheduler.service.origin.orphans import Orphans
from hai_scheduler.service.people.archiving import Archiving
from hai_scheduler.service.platform.admin import Administration
from hai_scheduler.service.platform.health import Health
from hai_scheduler.service.platform.readiness import Readiness
from hai_scheduler.service.policy.changes import PolicyChanges
from hai_scheduler.service.profiling.intake import RecordingIntake
from hai_scheduler.service.profiling.recordings import Recordings
from hai_scheduler.service.quota.own import OwnQuotas
from hai_scheduler.service.runs.image_reports import ImageReports
from hai_scheduler.service.runs.rank_reports import RankReports
from hai_scheduler.service.runs.rendezvous import Rendezvous
from hai_scheduler.service.runs.run_facts import RunRegistry
from hai_scheduler.service.tasks.builds import EnvironmentBuilds
from hai_scheduler.service.tasks.experiments import Experiments
from hai_scheduler.service.tasks.labels import Labels
from hai_scheduler.service.tasks.many import ManyTasks
from hai_scheduler.service.tasks.submissions import Submissions
from hai_scheduler.service.workspace.catalogue import Catalogue
from hai_scheduler.service.workspace.code_snapshots import CodeSnapshots
from hai_scheduler.service.workspace.mount_rules import MountRules
from hai_scheduler.service.workspace.named_environments import NamedEnvironments
from hai_scheduler.service.workspace.runtime_env import RuntimeEnvs
from hai_scheduler.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases that handlers call, and what they need besides."""

    store: Store
    submissions: Submissions
    administration: Administration
    archiving: Archiving
    audit: AuditReading
    people: People
    platform_details: PlatformDetails
    rank_reports: RankReports
    image_reports: ImageReports
    run_registry: RunRegistry
    rendezvous: Rendezvous
    rank_logs: RankLogs
    rank_metrics: MetricsIntake
    reports: Reports
    container_books: ContainerBooks
    costs: Costs
    queries: Queries
    task_lists: TaskLists
    node_map: NodeMap
    overviews: Overviews
    queue_lists: QueueLists
    previews: Previews
    labels: Labels
    many_tasks: ManyTasks
    readiness: Readiness
    health: Health
    explanations: Explanations
    decisions: Decisions
    experiments: Experiments
    forecasts: Forecasts
    logs: Logs
    series: Series
    newest_points: NewestPoints
    recordings: Recordings
    recording_intake: RecordingIntake
    cluster_use: NewestUse
    failures: Failures
    feed: Feed
    notifications: OwnNotifications
    orphans: Orphans
    own_quotas: OwnQuotas
    policy: PolicyChanges
    mount_rules: MountRules
    environments: NamedEnvironments
    catalogue: Catalogue
    builds: EnvironmentBuilds
    runtime_envs: RuntimeEnvs
    code: CodeSnapshots
    metrics: Metrics
    shared_answers: SharedAnswers = field(default_factory=SharedAnswers)
