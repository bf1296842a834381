/** The bodies of the REST interface, as `api/wire/tasks.py` of the scheduler service defines them. Times are RFC 3339, `_s` fields are seconds. */

export const PRIORITIES = [
  'EXTREME_HIGH',
  'VERY_HIGH',
  'HIGH',
  'ABOVE_NORMAL',
  'NORMAL',
  'BELOW_NORMAL',
  'LOW'
] as const;

export type PriorityName = (typeof PRIORITIES)[number];
export type PriorityChoice = 'AUTO' | PriorityName;

export type TaskState =
  | 'queued'
  | 'starting'
  | 'running'
  | 'suspending'
  | 'suspended'
  | 'stopping'
  | 'succeeded'
  | 'failed'
  | 'stopped';

export const PROFILES = ['auto', 'sigterm', 'cooperative', 'slurm', 'kill'] as const;
export type ProfileName = (typeof PROFILES)[number];

export interface IFieldError {
  field: string;
  value?: unknown;
  message: string;
}

export interface IProblem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors: IFieldError[];
}

export interface ITaskSubmit {
  name: string;
  command: string[];
  cwd: string;
  nodes: number;
  /** GPUs on each node, shared with other such tasks; null or left out: whole nodes. */
  gpus?: number | null;
  priority: PriorityChoice;
  group: string;
  env: Record<string, string>;
  profile: ProfileName;
  /** Such as `USR1@60`: the signal, and at will the seconds before the deadline; null: the profile's. */
  signal: string | null;
  /** Paths whose changes count as checkpoints too. */
  watch: string[];
  /** null: the group's default. */
  grace_s: number | null;
  time_limit_s: number | null;
  /** How often it is started again when its command fails; left out: never. */
  retries?: number;
  /** How often the command runs on each node, `gpu`: once for each GPU; null or left out: once. */
  ranks_per_node?: number | 'gpu' | null;
  hold: boolean;
}

export interface ICheckpoint {
  at: string;
  step: number | null;
  path: string | null;
  /** told: the job said so. seen: its files have changed. */
  source: 'told' | 'seen';
}

export interface INotice {
  kind: 'suspend' | 'stop';
  reason: string;
  message: string;
  beneficiary: number | null;
  at: string;
  deadline: string;
  revision: number;
}

export interface IRank {
  rank: number;
  node: string;
  /** Indices of the GPUs that it holds there; empty: the whole node. */
  gpus: number[];
  state: 'pending' | 'running' | 'exited' | 'lost';
  exit_code: number | null;
  /** The signal that its command died of. */
  signal: number | null;
  notified_at: string | null;
  /** Whether all that was sent a signal caught it; null: nothing was, or it is not known. */
  caught: boolean | null;
  done: boolean;
  message: string | null;
}

/** The rank of a run that failed first, and what it said last. */
export interface IFailure {
  /** Number of the run. */
  run: number;
  rank: number;
  node: string;
  exit_code: number | null;
  /** The signal that its command died of. */
  signal: number | null;
  /** When it had ended, by the clock of its node. */
  at: string | null;
  /** Whom torchrun names as the first of its workers that failed. */
  worker: string | null;
  /** The last lines that say why; none where there is no log. */
  lines: string[];
}

export interface IRun {
  id: string;
  number: number;
  state: 'starting' | 'running' | 'leaving' | 'ended';
  priority: PriorityName;
  nodes: string[];
  ranks: IRank[];
  started_at: string;
  running_at: string | null;
  ended_at: string | null;
  notice: INotice | null;
  checkpoint: ICheckpoint | null;
  reason: string | null;
  /** How it left when it was told to; unknown: by itself, and nothing shows that it saved. */
  left: 'saved' | 'unknown' | 'ended' | null;
  lost_s: number | null;
  failed_ranks: number[];
}

export interface IHolder {
  task_id: number;
  name: string;
  user: string;
  priority: PriorityName;
  nodes: number;
  /** On each of the nodes; null: whole nodes. */
  gpus: number | null;
}

export interface IVerdict {
  kind: string;
  sentence: string;
  /** Place among the waiting tasks of the group, from 1; null for a held one. */
  position: number | null;
  earliest_start: string | null;
  data: Record<string, unknown>;
  holders: IHolder[];
}

/** One change that would let a waiting task start. */
export interface IWhatIf {
  kind: 'PRIORITY' | 'NODES' | 'GPUS' | 'LIMIT';
  sentence: string;
  priority: PriorityName | null;
  nodes: number | null;
  gpus: number | null;
  limit: number | null;
  subject: string | null;
  /** Whether it would start at once; else nodes would be freed for it first. */
  starts_now: boolean;
  starts_by: string | null;
  suspends: IHolder[];
}

export interface IExplanation {
  task_id: number;
  state: TaskState;
  sentence: string;
  verdict: IVerdict | null;
  /** How many waiting tasks go before it; null for one that does not wait, or is held. */
  ahead: number | null;
  what_if: IWhatIf[];
}

/** A line of the decision log of a task. */
export interface IDecision {
  seq: number;
  at: string;
  kind: string;
  actor: string;
  sentence: string;
  data: Record<string, unknown>;
}

export interface IDecisionPage {
  items: IDecision[];
}

export interface ITaskSummary {
  id: number;
  name: string;
  user: string;
  state: TaskState;
  held: boolean;
  priority: PriorityChoice;
  effective_priority: PriorityName | null;
  group: string;
  nodes: number;
  /** On each of the nodes; null: whole nodes. */
  gpus: number | null;
  node_names: string[];
  submitted_at: string;
  running_since: string | null;
  ended_at: string | null;
  served_s: number;
  run_count: number;
  suspensions: number;
  /** Interruptions in a row of which nothing shows that it has saved. */
  unsaved: number;
  checkpoint: ICheckpoint | null;
  reason: string | null;
  message: string;
  verdict: IVerdict | null;
  deadline: string | null;
  tags: string[];
}

export interface ITaskDetail extends ITaskSummary {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  profile: ProfileName;
  signal: string | null;
  watch: string[];
  /** What its owner should know and can do, as sentences. */
  hint: string | null;
  grace_s: number;
  time_limit_s: number | null;
  checkpoint_dir: string;
  /** Name of the environment that it runs in; null: the platform's own. */
  environment: string | null;
  /** How often the command runs on each node; null: once, without a launcher. */
  ranks_per_node?: number | 'gpu' | null;
  /** In the answer to a submission: what will probably not go as its user thinks. */
  warnings: string[];
  job_state: string | null;
  /** How often it may be started again when its command fails, and has been. */
  retries: number;
  retries_used: number;
  retry_backoff_s: number;
  retry_exit_codes: number[];
  /** While it waits for a retry: it is not started before. */
  retry_at: string | null;
  /** Why its latest run that is over has failed; null: it has not. */
  failure?: IFailure | null;
  runs: IRun[];
}

export interface ITaskPage {
  items: ITaskSummary[];
  next_cursor: string | null;
}

export interface ILogLine {
  run: number;
  /** null: a line of the platform itself. */
  rank: number | null;
  at: string | null;
  text: string;
}

export interface ILogPage {
  lines: ILogLine[];
  next_cursor: string;
  final: boolean;
}

export interface ILogCount {
  run: number;
  rank: number;
  hits: number;
}

export interface ILogHits {
  counts: ILogCount[];
  lines: ILogLine[];
}

export interface IEvent {
  seq: number;
  at: string;
  kind: string;
  actor: string;
  user: string | null;
  task_id: number | null;
  data: Record<string, unknown>;
}

export interface ILevelCount {
  priority: PriorityName;
  running_tasks: number;
  running_nodes: number;
  waiting_tasks: number;
  waiting_nodes: number;
}

export interface IGroupOverview {
  group: string;
  nodes: number;
  held: number;
  free: number;
  unavailable: number;
  /** Of those held: nodes that have GPUs left for tasks that share nodes. */
  shared: number;
  gpus: number;
  /** On nodes that take new runs. */
  gpus_free: number;
  levels: ILevelCount[];
}

export interface ICluster {
  paused: boolean;
  groups: IGroupOverview[];
}

export interface IOwnQuota {
  group: string;
  priority: PriorityName;
  /** null: no limit. */
  limit: number | null;
  used: number;
  source: string;
}

export interface IMe {
  name: string;
  kind: 'user' | 'service';
  admin: boolean;
  groups: string[];
  scopes: string[];
  quota: IOwnQuota[];
}

/** A number of the policy in force; lengths of time in seconds as well. */
export interface IPolicyValue {
  value: unknown;
  length_s: number | null;
}

export interface IPolicyNumber {
  name: string;
  /** In node groups that have no number of their own. */
  common: IPolicyValue;
  groups: Record<string, IPolicyValue>;
}

export interface IPolicy {
  numbers: IPolicyNumber[];
  groups: string[];
}

/** When the user's own server ends; times are texts, null where it never does. */
export interface ILifetime {
  /** The time of whoever tells. */
  now: string | null;
  ends_at: string | null;
  reason: 'idle' | 'lifetime' | null;
  /** Whether the user is to be warned now. */
  warning: boolean;
  /** Whether more time can be had. */
  renewable: boolean;
  /** Whether it would be idle, were it not for live tasks. */
  kept_for_tasks: boolean;
}

/** What the server extension knows of a file. */
export interface ISubmitDefaults {
  name: string;
  cwd: string;
  command: string[];
  /** Variables of the task: the environment of a notebook's kernel. */
  env?: Record<string, string>;
}
