"""What the handlers use, put together by `app`."""

from __future__ import annotations

from dataclasses import dataclass

from hai_scheduler.api.metrics import Metrics
from hai_scheduler.ports import Store
from hai_scheduler.service.admin import Administration
from hai_scheduler.service.decisions import Decisions
from hai_scheduler.service.experiments import Experiments
from hai_scheduler.service.explanations import Explanations
from hai_scheduler.service.failures import Failures
from hai_scheduler.service.feed import Feed
from hai_scheduler.service.forecasts import Forecasts
from hai_scheduler.service.gangs import Gangs
from hai_scheduler.service.health import Health
from hai_scheduler.service.jobs import Jobs
from hai_scheduler.service.logs import Logs
from hai_scheduler.service.mount_rules import MountRules
from hai_scheduler.service.named_environments import NamedEnvironments
from hai_scheduler.service.orphans import Orphans
from hai_scheduler.service.own_quota import OwnQuotas
from hai_scheduler.service.policy_changes import PolicyChanges
from hai_scheduler.service.queries import Queries
from hai_scheduler.service.rank_logs import RankLogs
from hai_scheduler.service.readiness import Readiness
from hai_scheduler.service.run_facts import RunBook
from hai_scheduler.service.submissions import Submissions
from hai_scheduler.service.surroundings import Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases."""

    store: Store
    submissions: Submissions
    administration: Administration
    jobs: Jobs
    run_book: RunBook
    gangs: Gangs
    rank_logs: RankLogs
    queries: Queries
    readiness: Readiness
    health: Health
    explanations: Explanations
    decisions: Decisions
    experiments: Experiments
    forecasts: Forecasts
    logs: Logs
    failures: Failures
    feed: Feed
    orphans: Orphans
    own_quotas: OwnQuotas
    policy: PolicyChanges
    mount_rules: MountRules
    environments: NamedEnvironments
    surroundings: Surroundings
    metrics: Metrics
