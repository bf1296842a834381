"""The kinds of events in the history of a task, in the feed and in the audit trail."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class EventKind(StrEnum):
    """The kind of an event.

    A database may hold kinds that this version of the service does not know: code that reads history accepts any text.
    """

    meaning: str  #: One sentence that explains the kind to readers of events.

    def __new__(cls, value: str, meaning: str) -> Self:
        """Make a member with its value and its meaning."""
        made = str.__new__(cls, value)
        made._value_ = value
        made.meaning = meaning
        return made

    TASK_SUBMITTED = "task.submitted", "A task was submitted."
    TASK_STATE = "task.state", "A task has another state."
    TASK_PRIORITY = "task.priority", "A task was given another priority by hand."
    TASK_ORDER = "task.order", "A user has moved a waiting task among their others."
    TASK_TAGS = "task.tags", "A task was given other tags."
    TASK_HELD = "task.held", "A task was held or released."
    TASK_CHECKPOINT = "task.checkpoint", "A task has saved its state."
    TASK_VERDICT = "task.verdict", "A task waits for something else than before; the feed leaves these out."
    TASK_ALARM = "task.alarm", "Something about a task needs a look of its owner."
    TASK_GPUS_IDLE = "task.gpus_idle", "GPUs of a running task are idle, or work again."
    NOTIFICATION = "notification.sent", "A user is told something, by their own rules; only this user gets it."
    NOTIFICATION_RULES = "notification.rules", "A user has changed what they are told, and where."
    RUN_NOTICE = "run.notice", "A run was told to leave, or its deadline has changed."
    RUN_ORPHANED = "run.orphaned", "A run was found on the cluster that belongs to no task."
    RUN_ORPHAN_ENDED = "run.orphan_ended", "A run that belongs to no task has ended."
    RUN_ORPHAN_KILLED = "run.orphan_killed", "An admin has asked for the end of a run that belongs to no task."
    RUNS_ASIDE = "runs.aside", "Folders of runs of another database were put aside."
    NODE_MARK = "node.mark", "A node was cordoned, drained, quarantined or taken back into use."
    NODE_CONDITION = "node.condition", "A node is there, ready, not ready, closed, open again, or gone."
    QUOTA_PUT = "quota.put", "A row of quota was written."
    QUOTA_DELETED = "quota.deleted", "A row of quota was removed."
    POLICY_CHANGED = "policy.changed", "An admin has changed policy numbers."
    USER_ARCHIVED = "user.archived", "A user was archived: they may not use the platform until they are restored."
    USER_RESTORED = "user.restored", "A user who was archived may use the platform again."
    SECRET_SET = "secret.set", "A user has set a secret; its value is nowhere to be read."
    SECRET_REMOVED = "secret.removed", "A user has removed a secret."
    SECRETS_USED = "secret.used", "A run is given secrets of its user, each in its newest version."
    LEDGER_ERASED = "ledger.erased", "An admin has taken the name of a user out of the ledger."
    MOUNT_PUT = "mount.put", "A mount rule was written."
    MOUNT_DELETED = "mount.deleted", "A mount rule was removed."
    FABRIC_PUT = "fabric.put", "A fabric was written."
    FABRIC_DELETED = "fabric.deleted", "A fabric was removed."
    ENVIRONMENT_PUT = "environment.put", "An environment was written."
    ENVIRONMENT_DELETED = "environment.deleted", "An environment was removed."
    RATE_PUT = "rate.put", "A rate was written."
    RATE_DELETED = "rate.deleted", "A rate was removed."
    BUDGET_PUT = "budget.put", "A budget of a user group was written."
    BUDGET_DELETED = "budget.deleted", "A budget of a user group was removed."
    BUDGET_STANDING = "budget.standing", "A user group has come near its budget, over it, or back."
    CLUSTER_PAUSED = "cluster.paused", "The platform was paused."
    CLUSTER_RESUMED = "cluster.resumed", "The platform goes on after a pause."
    DATABASE_EPOCH = "database.epoch", "The database begins a new epoch: it was restored."
