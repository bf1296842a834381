/** Words, numbers and patterns that the service, the client and the panel have in common. Written by `make reference` from the models of the service: change those, not this. */

/** The levels, the highest first, as menus show them. */
export const PRIORITIES = [
  'EXTREME_HIGH',
  'VERY_HIGH',
  'HIGH',
  'ABOVE_NORMAL',
  'NORMAL',
  'BELOW_NORMAL',
  'LOW'
] as const;

/** Asks for the highest level that still has quota. */
export const AUTO = 'AUTO';

/** The states of a task. */
export const TASK_STATES = [
  'queued',
  'starting',
  'running',
  'suspending',
  'suspended',
  'stopping',
  'succeeded',
  'failed',
  'stopped'
] as const;

/** States that nothing follows. */
export const ENDED_STATES = ['succeeded', 'failed', 'stopped'] as const;

/** How a task can be told to leave, the default first. */
export const PROFILES = ['auto', 'sigterm', 'cooperative', 'slurm', 'kill'] as const;

/** What a task can wait for. */
export const VERDICT_KINDS = [
  'QUOTA',
  'CAPACITY',
  'TURN',
  'RESERVED',
  'DRAINING',
  'TOPOLOGY',
  'RETRY',
  'HELD',
  'PAUSED',
  'NEVER',
  'NEXT'
] as const;

/** The version that this was written for. */
export const VERSION = '0.1.0';

/** The most characters of a name. */
export const NAME_LENGTH = 63;

/** The name of a task matches it as a whole, with the flag `u`. */
export const TASK_NAME_PATTERN = '(?!.*\\p{DI})[\\p{L}\\p{Nd}][\\p{L}\\p{M}\\p{Nd}._-]{0,62}';

/** How often a task may be started again when it fails. */
export const MAX_RETRIES = 100;

/** How often a command may run on each node at most. */
export const MAX_RANKS_PER_NODE = 1024;

/** What an event tells of. A service of another version may send other kinds. */
export const EventKind = {
  /** A task was submitted. */
  TASK_SUBMITTED: 'task.submitted',
  /** A task has another state. */
  TASK_STATE: 'task.state',
  /** A task was given another priority by hand. */
  TASK_PRIORITY: 'task.priority',
  /** A user has moved a waiting task among their others. */
  TASK_ORDER: 'task.order',
  /** A task was given other tags. */
  TASK_TAGS: 'task.tags',
  /** A task was held or released. */
  TASK_HELD: 'task.held',
  /** A task has saved its state. */
  TASK_CHECKPOINT: 'task.checkpoint',
  /** A task waits for something else than before; the feed leaves these out. */
  TASK_VERDICT: 'task.verdict',
  /** Something about a task needs a look of its owner. */
  TASK_ALARM: 'task.alarm',
  /** GPUs of a running task are idle, or work again. */
  TASK_GPUS_IDLE: 'task.gpus_idle',
  /** A user is told something, by their own rules; only this user gets it. */
  NOTIFICATION: 'notification.sent',
  /** A user has changed what they are told, and where. */
  NOTIFICATION_RULES: 'notification.rules',
  /** A run was told to leave, or its deadline has changed. */
  RUN_NOTICE: 'run.notice',
  /** A run was found on the cluster that belongs to no task. */
  RUN_ORPHANED: 'run.orphaned',
  /** A run that belongs to no task has ended. */
  RUN_ORPHAN_ENDED: 'run.orphan_ended',
  /** An admin has asked for the end of a run that belongs to no task. */
  RUN_ORPHAN_KILLED: 'run.orphan_killed',
  /** Folders of runs of another database were put aside. */
  RUNS_ASIDE: 'runs.aside',
  /** A node was cordoned, drained, quarantined or taken back into use. */
  NODE_MARK: 'node.mark',
  /** A node is there, ready, not ready, closed, open again, or gone. */
  NODE_CONDITION: 'node.condition',
  /** A row of quota was written. */
  QUOTA_PUT: 'quota.put',
  /** A row of quota was removed. */
  QUOTA_DELETED: 'quota.deleted',
  /** An admin has changed policy numbers. */
  POLICY_CHANGED: 'policy.changed',
  /** A user was archived: they may not use the platform until they are restored. */
  USER_ARCHIVED: 'user.archived',
  /** A user who was archived may use the platform again. */
  USER_RESTORED: 'user.restored',
  /** A user has set a secret; its value is nowhere to be read. */
  SECRET_SET: 'secret.set',
  /** A user has removed a secret. */
  SECRET_REMOVED: 'secret.removed',
  /** A run is given secrets of its user, each in its newest version. */
  SECRETS_USED: 'secret.used',
  /** An admin has taken the name of a user out of the ledger. */
  LEDGER_ERASED: 'ledger.erased',
  /** A mount rule was written. */
  MOUNT_PUT: 'mount.put',
  /** A mount rule was removed. */
  MOUNT_DELETED: 'mount.deleted',
  /** A fabric was written. */
  FABRIC_PUT: 'fabric.put',
  /** A fabric was removed. */
  FABRIC_DELETED: 'fabric.deleted',
  /** An environment was written. */
  ENVIRONMENT_PUT: 'environment.put',
  /** An environment was removed. */
  ENVIRONMENT_DELETED: 'environment.deleted',
  /** A rate was written. */
  RATE_PUT: 'rate.put',
  /** A rate was removed. */
  RATE_DELETED: 'rate.deleted',
  /** A budget of a user group was written. */
  BUDGET_PUT: 'budget.put',
  /** A budget of a user group was removed. */
  BUDGET_DELETED: 'budget.deleted',
  /** A user group has come near its budget, over it, or back. */
  BUDGET_STANDING: 'budget.standing',
  /** The platform was paused. */
  CLUSTER_PAUSED: 'cluster.paused',
  /** The platform goes on after a pause. */
  CLUSTER_RESUMED: 'cluster.resumed',
  /** The database begins a new epoch: it was restored. */
  DATABASE_EPOCH: 'database.epoch'
} as const;
