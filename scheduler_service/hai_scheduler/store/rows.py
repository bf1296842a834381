"""The codecs of tables. `tests/unit/store` checks that no column is forgotten."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import CursorResult, Row, Select, and_, select

from hai_scheduler.core.costs.budgets import GroupBudget
from hai_scheduler.core.costs.capacity import NodeTime
from hai_scheduler.core.costs.rates import Rate
from hai_scheduler.core.ledger.development import DevelopmentContainer
from hai_scheduler.core.model.node import NodeCondition, Strike
from hai_scheduler.core.model.progress import StepProgress
from hai_scheduler.core.model.quota import Quota, Usage
from hai_scheduler.core.model.run import Run
from hai_scheduler.core.model.secret_refs import SecretFacts
from hai_scheduler.core.model.task import Task, TaskSpec
from hai_scheduler.core.notifying.values import Delivery, Notification
from hai_scheduler.core.profiling.recordings import Recording
from hai_scheduler.core.workspace.abi import FoundMachine
from hai_scheduler.core.workspace.environments import Environment
from hai_scheduler.core.workspace.fabrics import Fabric
from hai_scheduler.core.workspace.identity import Identity
from hai_scheduler.core.workspace.mounts import MountRule
from hai_scheduler.ports.values import ArchivedUser, AuditEntry, HistoryEvent, UserRecord, UserVisit
from hai_scheduler.store.codec import RowCodec
from hai_scheduler.store.label_tables import NODE_CONDITIONS
from hai_scheduler.store.ledger_tables import BUDGETS, CAPACITY, CONTAINERS, RATES
from hai_scheduler.store.notification_tables import DELIVERIES, NOTIFICATIONS
from hai_scheduler.store.secret_tables import SECRETS
from hai_scheduler.store.tables import (
    ARCHIVED_USERS,
    AUDIT,
    ENVIRONMENTS,
    EVENTS,
    FABRICS,
    FOUND_MACHINES,
    IDENTITIES,
    MOUNT_RULES,
    PROGRESS,
    QUOTAS,
    RECORDINGS,
    RUNS,
    SPECS,
    STRIKES,
    TASKS,
    USERS,
    USES,
    VISITS,
)

TASK: Final = RowCodec(Task, TASKS, given=("run",), user="user_name", group="group_name")
RUN: Final = RowCodec(Run, RUNS, id="run_id")
SPEC: Final = RowCodec(TaskSpec, SPECS)
EVENT: Final = RowCodec(HistoryEvent, EVENTS, user="user_name")
#: Its size is what its parts have together.
RECORDING: Final = RowCodec(Recording, RECORDINGS, user="user_name")
REPORTED: Final = RowCodec(StepProgress, PROGRESS, run="run_number")
AUDITED: Final = RowCodec(AuditEntry, AUDIT, number="id")
BUDGET: Final = RowCodec(GroupBudget, BUDGETS, group="user_group", limit="most")
CONDITION: Final = RowCodec(NodeCondition, NODE_CONDITIONS, by="changed_by")
CONTAINER: Final = RowCodec(DevelopmentContainer, CONTAINERS, user="user_name", node_group="group_name")
DELIVERY: Final = RowCodec(Delivery, DELIVERIES, user="user_name")
ENVIRONMENT: Final = RowCodec(Environment, ENVIRONMENTS, default="is_default")
FABRIC: Final = RowCodec(Fabric, FABRICS, group="group_name")
FOUND: Final = RowCodec(FoundMachine, FOUND_MACHINES, task="task_id")
IDENTITY: Final = RowCodec(Identity, IDENTITIES)
MOUNT_RULE: Final = RowCodec(MountRule, MOUNT_RULES)
NODE_TIME: Final = RowCodec(NodeTime, CAPACITY)
NOTIFICATION: Final = RowCodec(Notification, NOTIFICATIONS, user="user_name", read="seen")
QUOTA: Final = RowCodec(Quota, QUOTAS, group="group_name", limit="node_limit")
#: A rate for all groups or priorities has no NULL in its key.
RATE: Final = RowCodec(Rate, RATES, given=("node_group", "priority"))
SECRET: Final = RowCodec(SecretFacts, SECRETS, user="user_name")
#: The user of a strike is in the row of its task; None for a task that was deleted.
STRIKE: Final = RowCodec(Strike, STRIKES, given=("user",))
USE: Final = RowCodec(Usage, USES, user="user_name", group="group_name")
USER: Final = RowCodec(UserRecord, USERS)
ARCHIVED_USER: Final = RowCodec(ArchivedUser, ARCHIVED_USERS, by="by_name")
VISIT: Final = RowCodec(UserVisit, VISITS)

#: The query for all tasks with their latest runs.
TASKS_WITH_RUNS: Select[Any] = select(
    *TASKS.c, *(column.label(f"run__{column.name}") for column in RUNS.c)
).select_from(TASKS.outerjoin(RUNS, and_(RUNS.c.task_id == TASKS.c.id, RUNS.c.number == TASKS.c.run_number)))
_WIDTH: Final = len(TASKS.c)


def _storable(text: str | None) -> str | None:
    """Return a job's text with U+FFFD for what no database takes: NUL, and unpaired surrogates."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def task_values(task: Task) -> dict[str, Any]:
    """Return the columns of a task without its id and what the store adds."""
    return TASK.values(
        task,
        ended=task.state.ended,
        run_number=None if task.run is None else task.run.number,
        job_state=_storable(task.job_state),
    )


def task_with_run(row: Row[Any]) -> Task:
    """Return the task of a row of `TASKS_WITH_RUNS`."""
    return TASK.of(row, run=None if row[_WIDTH] is None else RUN.of(row[_WIDTH:]))


def tasks_with_runs(rows: CursorResult[Any]) -> list[Task]:
    """Return the tasks of all rows."""
    return [task_with_run(row) for row in rows]


def event_values(event: HistoryEvent) -> dict[str, Any]:
    """Return the columns of an event without seq, which the store gives."""
    # As plain text, because drivers treat enumerations in different ways.
    return EVENT.values(event, kind=str(event.kind))
