/** What the service sends and takes. Written by `make reference` from the models of the service: change those, not this. Times are RFC 3339, `_s` fields are seconds. */

import type { AUTO, PRIORITIES, PROFILES, TASK_STATES, VERDICT_KINDS } from './constants';

export type PriorityName = (typeof PRIORITIES)[number];
export type TaskState = (typeof TASK_STATES)[number];
export type ProfileName = (typeof PROFILES)[number];
export type VerdictKind = (typeof VERDICT_KINDS)[number];
export type PriorityChoice = typeof AUTO | PriorityName;

/** Tasks and nodes at one priority. */
export interface ILevelCount {
  priority: PriorityName;
  running_tasks: number;
  running_nodes: number;
  waiting_tasks: number;
  waiting_nodes: number;
}

/** A node group at a glance. */
export interface IGroupOverview {
  group: string;
  nodes: number;
  held: number;
  free: number;
  /** Cordoned, quarantined, draining or not ready, and not held. */
  unavailable: number;
  /** Of those held: nodes that have GPUs left for tasks that share nodes. */
  shared: number;
  gpus: number;
  /** On nodes that take new runs. */
  gpus_free: number;
  levels: ILevelCount[];
}

/** The cluster at a glance. */
export interface ICluster {
  paused: boolean;
  groups: IGroupOverview[];
}

/** One line of history. */
export interface IEvent {
  seq: number;
  at: string;
  kind: string;
  actor: string;
  user: string | null;
  task_id: number | null;
  data: Record<string, unknown>;
}

/** One change that would let a waiting task start, as the scheduler itself plans it. */
export interface IWhatIf {
  /** What is changed: its priority, how many nodes or GPUs of each node it takes, or the limit of a row of quota. */
  kind: 'PRIORITY' | 'NODES' | 'GPUS' | 'LIMIT';
  sentence: string;
  /** The level to ask for; with LIMIT, the level of the row. */
  priority: PriorityName | null;
  nodes: number | null;
  gpus: number | null;
  /** The limit that the row of `subject` would need. */
  limit: number | null;
  subject: string | null;
  /** Whether it would start at once; else nodes would be freed for it, and it would start then. */
  starts_now: boolean;
  /** By when at the latest the nodes would be free, if that can be said. */
  starts_by: string | null;
  /** Who would be told to leave for it; names of other users' tasks are left out. */
  suspends: IHolder[];
}

/** Why a task waits, or what it does. */
export interface IExplanation {
  task_id: number;
  state: TaskState;
  sentence: string;
  /** Kind, data, position, earliest start and holders. */
  verdict: IVerdict | null;
  /** How many waiting tasks of its group go before it; null for one that does not wait, or is held. */
  ahead: number | null;
  /** What would let it start. */
  what_if: IWhatIf[];
}

/** A line of the decision log: a change of what a task waits for, a start, a notice, an end, a change by hand. */
export interface IDecision {
  seq: number;
  at: string;
  /** `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`. */
  kind: string;
  /** Who decided: `scheduler`, or a user. */
  actor: string;
  sentence: string;
  data: Record<string, unknown>;
}

/** Decisions on a task, in order. */
export interface IDecisionPage {
  items: IDecision[];
}

/** One line of a log. Lines of the platform itself (`rank` null) mark starts and ends of runs. */
export interface ILogLine {
  run: number;
  rank: number | null;
  /** When the line was written. */
  at: string | null;
  text: string;
}

/** Lines of one rank over the runs of a task, in order, as one story. */
export interface ILogPage {
  lines: ILogLine[];
  /** Hand it on, unchanged, to read further: `<run>:<offset>`, or `<run>:start` before a run's first line. */
  next_cursor: string;
  /** Nothing will ever be added. */
  final: boolean;
}

/** How often a text occurs, by run and rank, and the first lines that hold it. */
export interface ILogHits {
  counts: ILogCount[];
  lines: ILogLine[];
  /** False: the log is so long that only a part was searched. */
  complete: boolean;
}

/** Hits in one rank of one run. */
export interface ILogCount {
  run: number;
  rank: number;
  hits: number;
}

/** A number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers. */
export interface IPolicyValue {
  value: unknown;
  /** A length of time in seconds; null for other kinds of numbers. */
  length_s: number | null;
  source: 'default' | 'configuration' | 'admin';
  /** For which node group it was written; null: for all of them. */
  group: string | null;
  /** The admin who has set it, and when. */
  by: string | null;
  at: string | null;
}

/** One of the numbers that the rules leave to an admin. */
export interface IPolicyNumber {
  name: string;
  kind: 'duration' | 'float' | 'int' | 'weights';
  /** The rules that it belongs to (docs/scheduling.md). */
  rule: string;
  /** One sentence on what it does. */
  help: string;
  /** What it is when nobody writes it. */
  default: unknown;
  /** In force in node groups that have no number of their own. */
  common: IPolicyValue;
  /** In force in each node group. */
  groups: Record<string, IPolicyValue>;
}

/** The numbers that the scheduler decides with. */
export interface IPolicy {
  numbers: IPolicyNumber[];
  /** Names of the node groups. */
  groups: string[];
  /** Why what admins have set is not used, if it is not. */
  trouble: string | null;
  /** What looks like a slip of the pen. */
  warnings: string[];
}

/** An error (RFC 9457, `application/problem+json`). */
export interface IProblem {
  type: string;
  title: string;
  status: number;
  /** One sentence: what is wrong and what to do. */
  detail: string;
  /** Machine-readable word: invalid, not_found, forbidden, unauthorized, conflict, quota, too_large, unavailable; also gone (410), method_not_allowed (405), unsupported_media_type (415), too_many (429), internal (500). */
  code: string;
  errors: IFieldError[];
}

/** What is wrong with one field. */
export interface IFieldError {
  field: string;
  value: unknown;
  message: string;
}

/** What a user may hold at a level, and holds. */
export interface IOwnQuota {
  group: string;
  priority: PriorityName;
  /** null is no limit. */
  limit: number | null;
  /** Nodes; k GPUs of a node count as k / GPUs-of-the-node. */
  used: number;
  /** The row that decides: `user:NAME`, `group:NAME`, `public` or `none`. */
  source: string;
  /** Up to what he may raise the limit himself (PUT /me/quota); null: not at all. */
  ceiling: number | null;
  /** When that row runs out; null: never. */
  expires_at: string | null;
}

/** Who asks. */
export interface IMe {
  name: string;
  kind: 'user' | 'service';
  admin: boolean;
  groups: string[];
  scopes: string[];
  quota: IOwnQuota[];
}

/** What is known of a saved state. */
export interface ICheckpoint {
  at: string;
  step: number | null;
  path: string | null;
  /** told: the job said so. seen: its files have changed. */
  source: 'told' | 'seen';
}

/** The word to every rank that it must leave. */
export interface INotice {
  /** `suspend` or `stop`. */
  kind: 'suspend' | 'stop';
  reason: string;
  /** A sentence. */
  message: string;
  beneficiary: number | null;
  at: string;
  deadline: string;
  revision: number;
  /** When every rank's supervisor sends the signals that come with it, at most 50 ms ahead; null: at once. */
  signal_at: string | null;
}

/** One rank of a run. */
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
  /** Whether all that was sent a signal caught that; null: nothing was sent one, or it is not known. */
  caught: boolean | null;
  done: boolean;
  message: string | null;
}

/** One run of a task. */
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
  /** Why it ended; a word of `Reason`. */
  reason: string | null;
  /** How a run that was told to leave did. saved: it said so, or a checkpoint of the time since is there. unknown: it left by itself, and nothing shows that it had saved. ended: it was ended before. */
  left: 'saved' | 'unknown' | 'ended' | null;
  /** Node seconds of work lost with it. */
  lost_s: number | null;
  /** Ranks whose own failure ended it; those that were ended because of it are not among them. */
  failed_ranks: number[];
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
  /** Whom torchrun names as the first of its workers that failed: `rank 1 (local_rank: 1), exitcode 1`. */
  worker: string | null;
  /** The last lines that say why, 20 at most, without those of torchrun itself; none where there is no log. */
  lines: string[];
}

/** A task to submit. */
export interface ITaskSubmit {
  /** Letters, digits, `.`, `_` and `-`, beginning with a letter or digit; not a number. */
  name: string;
  /** The program and its arguments. */
  command: string[];
  /** The folder to start in, absolute. */
  cwd: string;
  nodes?: number;
  /** GPUs on each of its nodes, which it then shares with other such tasks; null: whole nodes. */
  gpus?: number | null;
  /** A level, or AUTO: the highest one that still has quota. */
  priority?: PriorityChoice;
  /** The node group. */
  group?: string;
  /** Variables; names that the platform sets are refused. */
  env?: Record<string, string>;
  /** How it is told to leave; `auto` finds out by itself. */
  profile?: ProfileName;
  /** The signal to tell it with, and at will how many seconds before its deadline: `USR1@60`; null: the profile's. */
  signal?: string | null;
  /** Seconds between the notice and the end; null: the group's default. */
  grace_s?: number | null;
  /** Seconds of running after which it is ended; null: no limit. */
  time_limit_s?: number | null;
  /** Absolute; null: a folder that the platform makes. */
  checkpoint_dir?: string | null;
  /** Paths, absolute or below cwd, whose changes count as checkpoints, beside those of the folder for checkpoints. */
  watch?: string[];
  tags?: string[];
  /** Do not start it until it is resumed. */
  hold?: boolean;
  /** How often it is started again when its command fails. */
  retries?: number;
  /** Seconds before the first retry; twice as long before each further one, a day at most. */
  retry_backoff_s?: number;
  /** Exit statuses that are worth a retry; empty: any failure. */
  retry_exit_codes?: number[];
  /** Name of the environment that it runs in (GET /environments); null: one's default, else the platform's own. */
  environment?: string | null;
  /** How often the command runs on each node, with LOCAL_RANK and the like; `gpu`: once for each of its GPUs; null: once, and RANK counts nodes. */
  ranks_per_node?: number | 'gpu' | null;
}

/** A task that holds nodes which another one needs. */
export interface IHolder {
  task_id: number;
  name: string;
  user: string;
  priority: PriorityName;
  nodes: number;
  /** On each of the nodes; null: whole nodes. */
  gpus: number | null;
}

/** Why a task waits. */
export interface IVerdict {
  kind: VerdictKind;
  sentence: string;
  /** Place among the waiting tasks of its group, from 1; null for a held one. */
  position: number | null;
  /** When it can start at the earliest, if that can be said. */
  earliest_start: string | null;
  /** What the kind needs said: needs, free, limit, used, subject, until, deadline, ... */
  data: Record<string, unknown>;
  holders: IHolder[];
}

/** A task in a list. */
export interface ITaskSummary {
  id: number;
  name: string;
  user: string;
  state: TaskState;
  held: boolean;
  /** What was asked for. */
  priority: PriorityChoice;
  /** What it counts as now: of the run, or of the verdict for AUTO. */
  effective_priority: PriorityName | null;
  group: string;
  /** How many nodes it takes. */
  nodes: number;
  /** GPUs on each of them; null: whole nodes. */
  gpus: number | null;
  /** Where it runs now, in rank order. */
  node_names: string[];
  submitted_at: string;
  /** When its latest run was up. */
  running_since: string | null;
  ended_at: string | null;
  /** Running time so far over all runs. */
  served_s: number;
  run_count: number;
  suspensions: number;
  /** Interruptions in a row of which nothing shows that the task has saved (P8). */
  unsaved: number;
  checkpoint: ICheckpoint | null;
  /** Why it ended, or why its last run did; a word of `Reason`. */
  reason: string | null;
  /** One sentence on what it does now or why it ended. */
  message: string;
  verdict: IVerdict | null;
  /** Deadline of the notice that is out, if any. */
  deadline: string | null;
  tags: string[];
}

/** A task with its runs and what it executes. */
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
  job_state: string | null;
  /** How often it may be started again when its command fails, and has been. */
  retries: number;
  retries_used: number;
  retry_backoff_s: number;
  retry_exit_codes: number[];
  /** While it waits for a retry: it is not started before. */
  retry_at: string | null;
  /** Name of the environment that it runs in; null: the platform's own. */
  environment: string | null;
  /** How often the command runs on each node; null: once, without a launcher. */
  ranks_per_node: number | 'gpu' | null;
  /** In the answer to a submission: what will probably not go as its user thinks. */
  warnings: string[];
  /** Why its latest run that is over has failed; null: it has not. */
  failure: IFailure | null;
  runs: IRun[];
}

/** A page of tasks, newest first. */
export interface ITaskPage {
  items: ITaskSummary[];
  next_cursor: string | null;
}
