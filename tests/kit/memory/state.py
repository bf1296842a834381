"""All that a memory store holds, as one immutable value."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.core.ledger.row import LedgerRow
from hai_scheduler.core.model.ids import RunId
from hai_scheduler.core.model.marks import LostPast
from hai_scheduler.core.model.node import NodeCondition, NodeMark, Strike
from hai_scheduler.core.model.priority import Priority
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.notifying.values import Delivery, Notification, NotificationRules
from hai_scheduler.core.profiling.recordings import Recording
from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.ports.values import ArchivedUser, AuditEntry, HistoryEvent, UserRecord, UserVisit
from kit.memory.paged_map import PagedMap

QuotaKey = tuple[str, str, Priority]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """The lease's row: it stays when no loop holds the lease, so that tokens only grow."""

    holder: str | None = None
    token: int = 0
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One consistent state of the store. A change makes a new state."""

    #: The last task id, event seq, recording, entry of the audit, notification and delivery that were given;
    #: none is given twice.
    last_task: int = 0
    last_event: int = 0
    last_recording: int = 0
    last_audit: int = 0
    last_notification: int = 0
    last_delivery: int = 0
    tasks: PagedMap[Task] = field(default_factory=PagedMap)
    #: The tasks that have not ended, once more: a tick must not walk through all history.
    open: PagedMap[Task] = field(default_factory=PagedMap)
    specs: PagedMap[TaskSpec] = field(default_factory=PagedMap)
    #: By task id: all runs of the task, by number.
    runs: PagedMap[Mapping[int, Run]] = field(default_factory=PagedMap)
    #: By task id.
    progress: PagedMap[StepProgress] = field(default_factory=PagedMap)
    #: The tasks that a user has starred: pairs of user and task id.
    stars: frozenset[tuple[str, int]] = frozenset()
    #: Task ids by user and idempotency key.
    keys: Mapping[tuple[str, str], int] = field(default_factory=dict)
    events: PagedMap[HistoryEvent] = field(default_factory=PagedMap)
    notification_rules: Mapping[str, NotificationRules] = field(default_factory=dict)
    notifications: Mapping[int, Notification] = field(default_factory=dict)
    deliveries: Mapping[int, Delivery] = field(default_factory=dict)
    #: All rows of each run.
    ledger: Mapping[RunId, tuple[LedgerRow, ...]] = field(default_factory=dict)
    #: Development containers that live, by id.
    containers: Mapping[str, DevelopmentContainer] = field(default_factory=dict)
    recordings: Mapping[int, Recording] = field(default_factory=dict)
    #: By recording, rank and number: the trace.
    traces: Mapping[tuple[int, int, int], bytes] = field(default_factory=dict)
    quotas: Mapping[QuotaKey, Quota] = field(default_factory=dict)
    #: Decayed use, by user and node group.
    uses: Mapping[tuple[str, str], Usage] = field(default_factory=dict)
    #: In the order in which they were added.
    strikes: tuple[Strike, ...] = ()
    users: Mapping[str, UserRecord] = field(default_factory=dict)
    visits: Mapping[str, UserVisit] = field(default_factory=dict)
    archived: Mapping[str, ArchivedUser] = field(default_factory=dict)
    audit: tuple[AuditEntry, ...] = ()
    mount_rules: Mapping[str, MountRule] = field(default_factory=dict)
    environments: Mapping[str, Environment] = field(default_factory=dict)
    #: By key of the image.
    found_machines: Mapping[str, FoundMachine] = field(default_factory=dict)
    rates: Mapping[tuple[str, int, date], Rate] = field(default_factory=dict)
    budgets: Mapping[str, GroupBudget] = field(default_factory=dict)
    #: By hour and node group.
    capacity: Mapping[tuple[datetime, str], NodeTime] = field(default_factory=dict)
    marks: Mapping[str, NodeMark] = field(default_factory=dict)
    conditions: Mapping[str, NodeCondition] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    lease: HeldLease = field(default_factory=HeldLease)
    #: The mark of the store but for the last task; and the past it must not use again (decision 0016).
    database: str = field(default_factory=lambda: secrets.token_hex(8))
    epoch: int = 1
    steps: int = 0
    number: int = 0
    past: LostPast = field(default_factory=LostPast)
