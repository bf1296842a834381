"""Words, numbers and patterns that the service, the client and the panel have in common.

Written by `make reference` from the models of the service: change those, not this.
"""

from __future__ import annotations

#: The levels, the lowest first, with the numbers that the original command line used for them.
PRIORITIES: dict[str, int] = {
    "LOW": 0,
    "BELOW_NORMAL": 5,
    "NORMAL": 10,
    "ABOVE_NORMAL": 20,
    "HIGH": 30,
    "VERY_HIGH": 40,
    "EXTREME_HIGH": 50,
}
#: Asks for the highest level that still has quota.
AUTO = "AUTO"
#: The states of a task.
TASK_STATES = (
    "queued",
    "starting",
    "running",
    "suspending",
    "suspended",
    "stopping",
    "succeeded",
    "failed",
    "stopped",
)
#: States that nothing follows.
ENDED_STATES = (
    "succeeded",
    "failed",
    "stopped",
)
#: How a task can be told to leave, the default first.
PROFILES = (
    "auto",
    "sigterm",
    "cooperative",
    "slurm",
    "kill",
)
#: What a task can wait for.
VERDICT_KINDS = (
    "QUOTA",
    "CAPACITY",
    "TURN",
    "RESERVED",
    "DRAINING",
    "TOPOLOGY",
    "RETRY",
    "HELD",
    "PAUSED",
    "NEVER",
    "NEXT",
)
#: The most characters of a name.
NAME_LENGTH = 63
#: A character that controls, ends a line, or changes the direction of text: no name may have one.
HIDDEN_PATTERN = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
#: How often a task may be started again when it fails.
MAX_RETRIES = 100
#: How often a command may run on each node at most.
MAX_RANKS_PER_NODE = 1024
#: The name of a secret, as a regular expression.
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
#: The most bytes of a user's secret.
MAX_SECRET_BYTES = 65536
#: Bytes of the shortest secret that is looked for in logs: shorter ones would be found in words.
LEAST_REDACTED = 8
#: The tag of a task that is a user's spot container, and the beginning of its name.
SPOT = "spot"
#: Names of numbers that a job may report, by process and by run.
MAX_JOB_NUMBERS = 50
#: The name of such a number matches it as a whole.
JOB_NUMBER_PATTERN = "[A-Za-z_][A-Za-z0-9_./-]{0,35}"
#: The greatest of these numbers, whatever the sign.
MAX_JOB_NUMBER = 1000000000000000000
#: The most steps that a job may report.
MAX_STEP = 1000000000000000


class EventKind:
    """What an event tells of. A service of another version may send other kinds."""

    #: A task was submitted.
    TASK_SUBMITTED = "task.submitted"
    #: A task has another state.
    TASK_STATE = "task.state"
    #: A task was given another priority by hand.
    TASK_PRIORITY = "task.priority"
    #: A user has moved a waiting task among their others.
    TASK_ORDER = "task.order"
    #: A task was given other tags.
    TASK_TAGS = "task.tags"
    #: A task was held or released.
    TASK_HELD = "task.held"
    #: A task has saved its state.
    TASK_CHECKPOINT = "task.checkpoint"
    #: A task waits for something else than before; the feed leaves these out.
    TASK_VERDICT = "task.verdict"
    #: Something about a task needs a look of its owner.
    TASK_ALARM = "task.alarm"
    #: GPUs of a running task are idle, or work again.
    TASK_GPUS_IDLE = "task.gpus_idle"
    #: A user is told something, by their own rules; only this user gets it.
    NOTIFICATION = "notification.sent"
    #: A user has changed what they are told, and where.
    NOTIFICATION_RULES = "notification.rules"
    #: A run was told to leave, or its deadline has changed.
    RUN_NOTICE = "run.notice"
    #: A run was found on the cluster that belongs to no task.
    RUN_ORPHANED = "run.orphaned"
    #: A run that belongs to no task has ended.
    RUN_ORPHAN_ENDED = "run.orphan_ended"
    #: An admin has asked for the end of a run that belongs to no task.
    RUN_ORPHAN_KILLED = "run.orphan_killed"
    #: Folders of runs of another database were put aside.
    RUNS_ASIDE = "runs.aside"
    #: A node was cordoned, drained, quarantined or taken back into use.
    NODE_MARK = "node.mark"
    #: A node is there, ready, not ready, closed, open again, or gone.
    NODE_CONDITION = "node.condition"
    #: A row of quota was written.
    QUOTA_PUT = "quota.put"
    #: A row of quota was removed.
    QUOTA_DELETED = "quota.deleted"
    #: An admin has changed policy numbers.
    POLICY_CHANGED = "policy.changed"
    #: A user was archived: they may not use the platform until they are restored.
    USER_ARCHIVED = "user.archived"
    #: A user who was archived may use the platform again.
    USER_RESTORED = "user.restored"
    #: A user has set a secret; its value is nowhere to be read.
    SECRET_SET = "secret.set"
    #: A user has removed a secret.
    SECRET_REMOVED = "secret.removed"
    #: A run is given secrets of its user, each in its newest version.
    SECRETS_USED = "secret.used"
    #: An admin has taken the name of a user out of the ledger.
    LEDGER_ERASED = "ledger.erased"
    #: A mount rule was written.
    MOUNT_PUT = "mount.put"
    #: A mount rule was removed.
    MOUNT_DELETED = "mount.deleted"
    #: A fabric was written.
    FABRIC_PUT = "fabric.put"
    #: A fabric was removed.
    FABRIC_DELETED = "fabric.deleted"
    #: An environment was written.
    ENVIRONMENT_PUT = "environment.put"
    #: An environment was removed.
    ENVIRONMENT_DELETED = "environment.deleted"
    #: A rate was written.
    RATE_PUT = "rate.put"
    #: A rate was removed.
    RATE_DELETED = "rate.deleted"
    #: A budget of a user group was written.
    BUDGET_PUT = "budget.put"
    #: A budget of a user group was removed.
    BUDGET_DELETED = "budget.deleted"
    #: A user group has come near its budget, over it, or back.
    BUDGET_STANDING = "budget.standing"
    #: The platform was paused.
    CLUSTER_PAUSED = "cluster.paused"
    #: The platform goes on after a pause.
    CLUSTER_RESUMED = "cluster.resumed"
    #: The database begins a new epoch: it was restored.
    DATABASE_EPOCH = "database.epoch"
