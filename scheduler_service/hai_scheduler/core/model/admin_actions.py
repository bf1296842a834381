"""The actions that the audit keeps: what an admin, or a user for themselves, has changed on the platform."""

from __future__ import annotations

from enum import StrEnum

from hai_scheduler.core.model.event_kinds import EventKind


class AdminAction(StrEnum):
    """An action in the audit. Where the feed has an event for it, both have the same word.

    A database may hold actions that this version of the service does not know: readers accept any text.
    """

    QUOTA_PUT = EventKind.QUOTA_PUT.value
    QUOTA_DELETED = EventKind.QUOTA_DELETED.value
    POLICY_CHANGED = EventKind.POLICY_CHANGED.value
    NODE_CORDONED = "node.cordoned"
    NODE_DRAINED = "node.drained"
    NODE_UNCORDONED = "node.uncordoned"
    CLUSTER_PAUSED = EventKind.CLUSTER_PAUSED.value
    CLUSTER_RESUMED = EventKind.CLUSTER_RESUMED.value
    USER_ARCHIVED = EventKind.USER_ARCHIVED.value
    USER_RESTORED = EventKind.USER_RESTORED.value
    #: Who a user's processes are, by the user's logins: the Hub writes it.
    IDENTITY_PUT = "identity.put"
    IDENTITY_DELETED = "identity.deleted"
    SECRET_SET = EventKind.SECRET_SET.value
    SECRET_REMOVED = EventKind.SECRET_REMOVED.value
    SECRETS_RESEALED = "secrets.resealed"
    LEDGER_ERASED = EventKind.LEDGER_ERASED.value
    MOUNT_PUT = EventKind.MOUNT_PUT.value
    MOUNT_DELETED = EventKind.MOUNT_DELETED.value
    FABRIC_PUT = EventKind.FABRIC_PUT.value
    FABRIC_DELETED = EventKind.FABRIC_DELETED.value
    ENVIRONMENT_PUT = EventKind.ENVIRONMENT_PUT.value
    ENVIRONMENT_DELETED = EventKind.ENVIRONMENT_DELETED.value
    RATE_PUT = EventKind.RATE_PUT.value
    RATE_DELETED = EventKind.RATE_DELETED.value
    BUDGET_PUT = EventKind.BUDGET_PUT.value
    BUDGET_DELETED = EventKind.BUDGET_DELETED.value
    RUN_ORPHAN_KILLED = EventKind.RUN_ORPHAN_KILLED.value
    #: A task of another user: what its owner could have done too.
    TASK_STOPPED = "task.stopped"
    TASK_SUSPENDED = "task.suspended"
    TASK_RESUMED = "task.resumed"
    TASK_HELD = EventKind.TASK_HELD.value
    TASK_PRIORITY = EventKind.TASK_PRIORITY.value
    TASK_ORDER = EventKind.TASK_ORDER.value
    TASK_TAGS = EventKind.TASK_TAGS.value
    RECORDING_ORDERED = "recording.ordered"
    RECORDING_DELETED = "recording.deleted"
    #: An environment of haienv that is not the user's own, nor a group's of theirs: a task changes it.
    ENVIRONMENT_BUILD = "environment.build"
