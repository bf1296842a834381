/** Bodies that the service sends and accepts. Written by `make reference` from the models of the service: change those, not this. Times are RFC 3339, `_s` fields are seconds. */

import type { AUTO, PRIORITIES, PROFILES, TASK_STATES, VERDICT_KINDS } from './constants';

export type PriorityName = (typeof PRIORITIES)[number];
export type TaskState = (typeof TASK_STATES)[number];
export type ProfileName = (typeof PROFILES)[number];
export type VerdictKind = (typeof VERDICT_KINDS)[number];
export type PriorityChoice = typeof AUTO | PriorityName;

/** One action of an admin, or of a user on their own quota. */
export interface IAuditEntry {
  number: number;
  at: string;
  /** Who did it. */
  actor: string;
  action: string;
  /** What was changed: its kind, a colon and its name. */
  subject: string;
  /** What was there before, and is there now, without secrets and long values; null: there was or is nothing. */
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  /** The address that the request came from; null: not known. */
  address: string | null;
}

/** A page of the audit, newest first. */
export interface IAuditPage {
  items: IAuditEntry[];
  /** null: this is the last page. */
  next_cursor: number | null;
}

/** What a run uses in the mean; null: not measured. */
export interface IMeanUse {
  /** Cores, and bytes of memory, of a rank. */
  cpu: number | null;
  memory: number | null;
  /** Per cent, bytes of memory and watts, of a GPU. */
  gpu_use: number | null;
  gpu_memory: number | null;
  gpu_power: number | null;
  /** The part of the time of its GPUs in which they did nothing, 0 to 1, of a run that has ended. */
  gpu_idle: number | null;
}

/** A task on a node. Of another user's task the name and the use are not told. */
export interface INodeTask {
  task_id: number;
  user: string;
  /** Indices of the GPUs that the task holds there; empty: the whole node. */
  gpus: number[];
  /** Its name; empty: it is not told. */
  name: string;
  /** Number of its run, and the priority that the run holds. */
  run: number | null;
  priority: PriorityName | null;
  /** What the run does: its ranks start, they run, or they were told to leave. */
  phase: 'starting' | 'running' | 'leaving' | null;
  /** When all its ranks were up. */
  running_since: string | null;
  /** Deadline of its notice; null: there is none. */
  deadline: string | null;
  /** What it uses on this node; null: nothing was measured in the last five minutes, or it was not asked for. */
  use: IMeanUse | null;
}

/** A node, its mark and what runs on it. */
export interface INode {
  name: string;
  group: string;
  leaf: string;
  zone: string;
  gpus: number;
  ready: boolean;
  mark: 'none' | 'cordoned' | 'draining' | 'quarantined';
  /** The only task that holds the node, and its user; null if no task or several tasks hold it. */
  task_id: number | null;
  user: string | null;
  /** Number of GPUs that a task can have now: no task holds them, and no pods from outside of HAI. */
  gpus_free: number;
  /** Every task that holds the node, or GPUs of it. */
  tasks: INodeTask[];
  /** The orphaned run that holds the node, which belongs to no task of the database; null: none does. */
  orphan: string | null;
  /** Its state in a word; the first of these that is so. Down: the cluster cannot reach it; closed: the cluster itself takes no new runs on it; crowded: no task is on it, and pods from outside of HAI have some of its room. */
  state:
    | 'down'
    | 'orphaned'
    | 'draining'
    | 'cordoned'
    | 'quarantined'
    | 'closed'
    | 'crowded'
    | 'held'
    | 'shared'
    | 'free';
  /** Why it takes no new runs, or not as many as it has GPUs for, as sentences; null: it does. */
  reason: string | null;
  /** Why RDMA falls back to TCP there, as a rank that runs there has found, and who can do what; null: it does not, or it is not known. */
  network: string | null;
  /** Since when it is ready or not, closed or open, and marked or not; null: not known. */
  since: string | null;
  /** The admin who has put the mark on it, or has taken it away; null: no admin has. */
  by: string | null;
  /** When the service saw it last. */
  seen_at: string | null;
}

/** All nodes, by name. */
export interface INodeList {
  items: INode[];
}

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
  /** Nodes that are cordoned, quarantined, draining or not ready, and not held. */
  unavailable: number;
  /** Held nodes that have GPUs left for tasks that share nodes. */
  shared: number;
  gpus: number;
  /** Free GPUs on nodes that take new runs. */
  gpus_free: number;
  levels: ILevelCount[];
}

/** The cluster at a glance. */
export interface ICluster {
  paused: boolean;
  groups: IGroupOverview[];
  /** Why the scheduler decides nothing now, in a sentence; null: it decides. */
  standstill: string | null;
}

/** Nodes, and the mark that they would get. */
export interface IMarkPreviewIn {
  nodes: string[];
  mark?: 'cordoned' | 'draining';
}

/** A task in a preview. */
export interface IPreviewTask {
  task_id: number;
  name: string;
  user: string;
  /** The priority that its run holds, or that was asked for; null: AUTO, and it waits. */
  priority: PriorityName | null;
  nodes: number;
  /** GPUs on each of its nodes; null: whole nodes. */
  gpus: number | null;
}

/** A task that would be told to leave. */
export interface IDisplacedTask extends IPreviewTask {
  /** Those of its nodes that would be marked. */
  node_names: string[];
  /** When it is away at the latest: the deadline of its notice; null: not known. */
  away_by: string | null;
  /** When and where it would go on; null and empty: not in the time that was computed. */
  goes_on_at: string | null;
  goes_on_nodes: string[];
  /** Whether it would end by itself instead. */
  ends: boolean;
}

/** A task on other nodes that would make room for a displaced one. */
export interface IMovedTask extends IPreviewTask {
  at: string;
  /** That one. */
  beneficiary: number;
}

/** A waiting task that would start later. */
export interface ILaterTask extends IPreviewTask {
  /** When it would start without the mark, and with it; null: not in the time that was computed. */
  without: string;
  with_mark: string | null;
}

/** Something that computed times or figures rest on, or what they cannot know. */
export interface IAssumption {
  /** Which it is. Who does not know it shows the sentence. */
  name: string;
  sentence: string;
  /** The number of tasks or nodes that it is about; null: it is about no number. */
  count: number | null;
  /** The length of time that it names, in seconds; null: it names none. */
  length_s: number | null;
}

/** What a mark on nodes would do, from the planner itself; nothing was done. */
export interface IMarkPreview {
  at: string;
  nodes: string[];
  mark: 'cordoned' | 'draining';
  /** The whole in a few sentences. */
  sentence: string;
  displaced: IDisplacedTask[];
  /** Tasks that would stay on these nodes until their runs end. */
  staying: IPreviewTask[];
  moved: IMovedTask[];
  /** The first 100 of each node group, the soonest first; and how many there are beyond them. */
  later: ILaterTask[];
  later_left_out: number;
  /** When the last task that is told to leave is away at the latest; null: none is told. */
  empty_by: string | null;
  /** Up to when the planner was run, and the precision of its times, in seconds. */
  computed_until: string;
  step_s: number;
  /** What the times rest on. */
  assumptions: IAssumption[];
}

/** A rate. Amounts are decimal texts, so that no program rounds them. */
export interface IRate {
  node_group: string | null;
  priority: PriorityName | null;
  valid_from: string;
  per_node_hour: string;
  per_gpu_hour: string;
  currency: string;
  /** Sent back in `If-Match`, it makes a change fail if the rate has changed in the meantime. */
  version: string;
  /** In the answer to a change: what is probably a mistake. */
  warning: string | null;
}

/** All rates. */
export interface IRateList {
  items: IRate[];
}

/** A budget and how much of it is used. */
export interface IGroupBudget {
  group: string;
  measure: 'node_hours' | 'gpu_hours' | 'amount';
  limit: string;
  window_days: number;
  currency: string | null;
  /** What the group has used in the window; null: it has not been counted yet. */
  used: string | null;
  /** `near`: four fifths are used. `over`: all; tasks of the members count as LOW, and go on running. */
  standing: 'good' | 'near' | 'over' | null;
  /** Sent back in `If-Match`, it makes a change fail if the budget, not its use, has changed in the meantime. */
  version: string;
  /** In the answer to a change: what is probably a mistake. */
  warning: string | null;
}

/** The budgets that the caller may see, by group. */
export interface IBudgetList {
  items: IGroupBudget[];
}

/** An environment of haienv: facts of one of its generations. */
export interface IHaienvFacts {
  /** `users/ann`, `groups/cv` or `base`. */
  owner: string;
  /** The current generation; null: there is none that can be read. */
  generation: number | null;
  /** Its complete generations, in order; at most the last hundred. */
  generations: number[];
  /** The digest of the files of the generation. */
  digest: string;
  /** The version of Python, such as 3.11.7. */
  python: string;
  /** The version of CUDA that its packages are for. */
  cuda: string | null;
  files: number | null;
  /** In bytes. */
  size: number | null;
  /** The generation that it extends, such as `base/torch@3`. */
  extends: string | null;
  built_by: string;
  built_at: string;
  /** Whether Jupyter offers it as a kernel. */
  kernel: boolean;
  /** Whether there is a draft with changes that no generation has yet. */
  draft: boolean;
  /** What is wrong with it; empty: nothing. */
  trouble: string;
  /** Whether the caller may have it built. */
  may_build: boolean;
}

/** What a task can run in: an image, which admins set up, or an environment of haienv, which lives in one. */
export interface IEnvironment {
  kind: 'image' | 'haienv';
  /** The name of an image; the full name of an environment: `users/ann/vision`, `groups/cv/vision`, `base/torch`. */
  name: string;
  /** The name that means nothing else: `images/torch`, `users/ann/vision`. */
  full_name: string;
  image: string | null;
  /** Of an image: the path of its Python program. */
  python: string | null;
  /** Variables as they were written, with `{user}` and `{task}`. */
  variables: Record<string, string>;
  subjects: string[];
  description: string;
  default: boolean;
  /** Whether the caller gets it when the caller chooses none. */
  chosen: boolean;
  /** Of an image: its architecture and its glibc, as far as an admin has given them; empty: not known. */
  machine: string;
  glibc: string;
  /** The facts of an environment; null: it is an image. */
  haienv: IHaienvFacts | null;
  /** Of an image: sent back in `If-Match`, it makes a change fail if the image has changed in the meantime. */
  version: string;
  /** In the answer to a change: warnings on values that are probably mistakes. */
  warnings: string[];
}

/** Images by name, then environments: the caller's own, their groups', base ones, those of others. */
export interface IEnvironmentList {
  items: IEnvironment[];
  /** The owners whose environments the caller may have built: `users/ann`, `groups/cv`, `base`. */
  owners: string[];
  /** The folder of all environments of haienv, as the service and tasks see it; null: there are none. */
  root: string | null;
  /** What is missing in the list, and why. */
  warnings: string[];
}

/** A change of an environment of haienv, which a task makes. */
export interface IBuildSubmit {
  verb: 'create' | 'install' | 'uninstall' | 'rebuild' | 'rollback' | 'share' | 'unshare' | 'remove';
  /** `create`: the full name of an environment whose packages it has too, perhaps with a generation: `base/torch@3`. */
  extend?: string | null;
  /** `create`: the version of Python, such as 3.11. */
  python?: string | null;
  /** `create`: whether Jupyter offers it as a kernel. */
  kernel?: boolean;
  /** `create`: what it is for. */
  description?: string;
  /** `create`, `install`: requirements, such as `timm==1.0.20`. `uninstall`: names of packages. */
  requirements?: string[];
  /** `rollback`: the generation; null: the one before. */
  generation?: number | null;
  /** `share`, `unshare`: groups, users, or everybody. */
  groups?: string[];
  users?: string[];
  everyone?: boolean;
}

/** One event of the history. */
export interface IEvent {
  seq: number;
  at: string;
  kind: string;
  actor: string;
  user: string | null;
  task_id: number | null;
  data: Record<string, unknown>;
}

/** One change that would let a waiting task start, found by the scheduler's own plan. */
export interface IWhatIf {
  /** What is changed: the task's priority, its number of nodes or of GPUs per node, or the limit of a row of quota. */
  kind: 'PRIORITY' | 'NODES' | 'GPUS' | 'LIMIT';
  sentence: string;
  /** The level to ask for; with LIMIT, the level of the row. */
  priority: PriorityName | null;
  nodes: number | null;
  gpus: number | null;
  /** The limit that the row of `subject` would need. */
  limit: number | null;
  subject: string | null;
  /** Whether the task would start at once; else it would start when nodes have been freed for it. */
  starts_now: boolean;
  /** The latest time at which the nodes would be free; null: not known. */
  starts_by: string | null;
  /** The tasks that would be told to leave for it; names of other users' tasks are left out. */
  suspends: IHolder[];
}

/** What a user has had of a node group among the users with tasks there, and what the weights entitle to (O3). */
export interface IGroupShare {
  user: string;
  node_group: string;
  /** The user's part of the decayed use of all of them, 0 to 1; null: none of them has used the group lately. */
  given: number | null;
  /** The user's weight, and the sum of the weights of all of them. */
  weight: number;
  weights: number;
  /** The part that the weights give to the user, 0 to 1. */
  entitled: number;
  /** Users who have had less for their weight: of tasks of equal priority and level, theirs go first. */
  users_before: number;
  sentence: string;
}

/** Why a task waits, or what it does. */
export interface IExplanation {
  task_id: number;
  state: TaskState;
  sentence: string;
  /** Kind, data, position, earliest start and holders; null for a task that does not wait. */
  verdict: IVerdict | null;
  /** How many waiting tasks of its group go before it; null for a task that does not wait, or is held. */
  ahead: number | null;
  /** Changes that would let the task start. */
  what_if: IWhatIf[];
  /** Null for a task that does not wait for a turn. */
  share: IGroupShare | null;
  /** Why the task counts as LOW (Q7): a sentence for each budget of its user's groups that is used up. */
  budgets: string[];
}

/** A line of the decision log: a new verdict, a start, a notice, an end, or a change by a user. */
export interface IDecision {
  seq: number;
  at: string;
  /** `task.verdict`, `task.state`, `run.notice`, `task.priority`, `task.held`, `task.order`, `task.alarm`. */
  kind: string;
  /** Who has decided: `scheduler`, or the name of a user. */
  actor: string;
  sentence: string;
  data: Record<string, unknown>;
}

/** Decisions on a task, in order. */
export interface IDecisionPage {
  items: IDecision[];
}

/** A group of accounts. */
export interface IUnixGroup {
  gid: number;
  /** Empty: it is not known. */
  name: string;
}

/** The account that a user's processes run as. */
export interface IIdentity {
  name: string;
  uid: number;
  /** New files are of the first one. */
  groups: IUnixGroup[];
  /** Empty: none is known. */
  home: string;
  shell: string;
}

/** One line of a log. Lines of the platform itself (`rank` null) mark starts and ends of runs. */
export interface ILogLine {
  run: number;
  rank: number | null;
  /** When the line was written. */
  at: string | null;
  text: string;
  /** The position behind the line: the log goes on there (`cursor`), and the line is the last one that ends there (`before`). */
  cursor: string;
  /** True: a state of a line that is being written again, such as a progress bar. The next line of the rank takes its place. */
  rewritten: boolean;
}

/** Lines of one rank over all runs of a task, in order. */
export interface ILogPage {
  lines: ILogLine[];
  /** Send it back as `cursor` to read further: `<run>:<offset>`, or `<run>:start` before a run's first line. */
  next_cursor: string;
  /** Send it back as `before` to read the lines before these; null: there are none. */
  prev_cursor: string | null;
  /** True: no line will be added any more. */
  final: boolean;
}

/** How much is kept of a rank's log of one run: positions `<run>:<start>` to `<run>:<end>`, in bytes. */
export interface ILogExtent {
  run: number;
  start: number;
  end: number;
}

/** How much is kept of a rank's log: one entry for each of the latest thousand runs. */
export interface ILogExtents {
  items: ILogExtent[];
}

/** How often a text occurs, by run and rank, and the first lines that contain it. */
export interface ILogHits {
  counts: ILogCount[];
  lines: ILogLine[];
  /** False: the log is so long that only a part was searched. */
  complete: boolean;
}

/** Number of hits in one rank of one run. */
export interface ILogCount {
  run: number;
  rank: number;
  hits: number;
}

/** What the ranks of a task use together, at their newest points; null: not measured. */
export interface ITaskUse {
  /** Processor cores. */
  cpu: number | null;
  /** Bytes of memory. */
  memory: number | null;
  /** Bytes a second, of disks and of networks. */
  disk_read: number | null;
  disk_written: number | null;
  net_received: number | null;
  net_sent: number | null;
  /** The mean of all GPUs, %. */
  gpu_use: number | null;
  /** Bytes of memory, and watts, of all GPUs. */
  gpu_memory: number | null;
  gpu_power: number | null;
}

/** A task that holds nodes now. Of another user's task only the id, the user and the nodes are told. */
export interface IHolderUse {
  task_id: number;
  user: string;
  /** Number of nodes, and GPUs on each of them; null: whole nodes. */
  nodes: number;
  gpus: number | null;
  /** Whether the rest is told. */
  known: boolean;
  name: string;
  state: TaskState | null;
  priority: PriorityName | null;
  /** When its run was up. */
  running_since: string | null;
  /** How long no equal may have its nodes, in seconds; 0: one may; null: not known, as while it starts or leaves. */
  turn_left_s: number | null;
  /** Deadline of its notice; null: there is none. */
  deadline: string | null;
  progress: ITaskProgress | null;
  /** Null: nothing was measured in the last five minutes. */
  use: ITaskUse | null;
}

/** The tasks that hold nodes now: the caller's own first, then those with most nodes. */
export interface IClusterUse {
  items: IHolderUse[];
  /** How many further tasks there are, which the answer leaves out. */
  left_out: number;
}

/** The metrics of a rank in one run: of each metric a list, with null where a point has no value. */
export interface IRankSeries {
  rank: number;
  node: string;
  /** Ends of the spans, Unix time in seconds. */
  at: number[];
  least: Record<string, (number | null)[]>;
  mean: Record<string, (number | null)[]>;
  greatest: Record<string, (number | null)[]>;
}

/** The metrics of one run. */
export interface IRunSeries {
  run: number;
  started_at: string;
  running_at: string | null;
  /** When the run was told to leave. */
  noticed_at: string | null;
  ended_at: string | null;
  ranks: IRankSeries[];
}

/** The metrics of a task, run by run. */
export interface ITaskSeries {
  /** The length of the spans, seconds; old points may be of a coarser step. */
  step: number;
  /** The unit of each metric that occurs. */
  units: Record<string, string>;
  runs: IRunSeries[];
}

/** Over which channels a kind of notification is to be told. */
export interface INotificationRuleIn {
  kind: string;
  /** `lab`, `browser`, `mail`, `webhook`, or `sink:` and the name of a sink; none: it is not told. */
  channels: string[];
}

/** Write what the caller is told, and where. */
export interface INotificationRulesPut {
  /** Kinds that are left out stay as they are. */
  rules?: INotificationRuleIn[];
  /** How long a task waits before `waiting` is told, seconds; from a minute to 30 days. */
  waits_longer_s?: number;
  /** The address that mail goes to; null: none. */
  mail?: string | null;
  /** The address of the webhook, `https://...`; null: none. */
  webhook?: string | null;
  /** Whether the webhook gets a new key; the old one does not count any more. */
  new_secret?: boolean;
}

/** Over which channels a kind of notification is told. */
export interface INotificationRule {
  kind:
    | 'started'
    | 'resumed'
    | 'interrupted'
    | 'ended'
    | 'failed'
    | 'waiting'
    | 'gpus_idle'
    | 'environment_built'
    | 'test';
  channels: string[];
}

/** A channel, as the caller may use it. */
export interface INotificationChannel {
  /** `lab`, `browser`, `mail`, `webhook`, or `sink:` and the name of a sink. */
  name: string;
  /** Why it cannot be used now, and what to do; null: it can. */
  missing: string | null;
  /** Why the newest message with trouble was not delivered at once; null: there was none in the last seven days. */
  error: string | null;
  error_at: string | null;
}

/** What the caller is told, and where. */
export interface INotificationRules {
  /** All kinds, in the order in which they are shown. */
  rules: INotificationRule[];
  waits_longer_s: number;
  mail: string | null;
  webhook: string | null;
  /** The key of the webhook's signatures, in the answer that has made it; else null. */
  webhook_secret: string | null;
  channels: INotificationChannel[];
}

/** What came of a notification over one channel. */
export interface IDelivery {
  /** `feed` is JupyterLab and the browser. */
  channel: string;
  state: 'pending' | 'sent' | 'given_up';
  attempts: number;
  /** When it was sent or given up; null: neither yet. */
  ended_at: string | null;
  /** Why the newest attempt failed; null: it did not. */
  error: string | null;
  /** Whether it was sent together with others. */
  digest: boolean;
}

/** What a user was told. */
export interface INotification {
  id: number;
  kind:
    | 'started'
    | 'resumed'
    | 'interrupted'
    | 'ended'
    | 'failed'
    | 'waiting'
    | 'gpus_idle'
    | 'environment_built'
    | 'test';
  at: string;
  task_id: number | null;
  /** The id of the sentence, with its parameters: what `text` says, for programs. */
  sentence: string;
  params: Record<string, unknown>;
  /** The sentence. */
  text: string;
  /** The last lines of a failed task. */
  lines: string[];
  read: boolean;
  deliveries: IDelivery[];
}

/** What a user was told, the newest first. */
export interface INotificationPage {
  items: INotification[];
  /** How many notifications of the user are not read, on all pages. */
  unread: number;
  /** `before` of the next page; null: this is the last one. */
  next_before: number | null;
}

/** Why a task waits, in a few words. */
export interface IShortWait {
  id:
    | 'quota'
    | 'quota_of_others'
    | 'capacity'
    | 'turn'
    | 'reserved'
    | 'draining'
    | 'topology'
    | 'retry'
    | 'held'
    | 'paused'
    | 'never'
    | 'next';
  /** What the words need: `nodes`, `gpus`, `group`; also `used`, `limit` and `level` (quota), `first` (reserved), and `retry` and `of` (retry). */
  data: Record<string, unknown>;
  /** About when that is over, if it can be said; the words then end with it. */
  until: string | null;
  /** The words, without capital, full stop and that time. */
  words: string;
  /** The words with that time. */
  text: string;
}

/** A task that waits. Of another user's task the name is not told, and of its quota nothing. */
export interface IQueueTask {
  /** Its number in this list. */
  number: number;
  /** Its place among the waiting tasks of its group, from 1; null: its owner holds it. */
  position: number | null;
  task_id: number;
  user: string;
  /** Its name; empty: it is not told. */
  name: string;
  /** The priority that counts now. */
  priority: PriorityName;
  /** The priority that was asked for: tasks of one user change places where it is the same. Null: it is not told. */
  asked: PriorityChoice | null;
  nodes: number;
  /** GPUs on each of its nodes; null: whole nodes. */
  gpus: number | null;
  state: 'queued' | 'suspended';
  submitted_at: string;
  waiting_since: string;
  short: IShortWait;
}

/** The queue of a node group. */
export interface IGroupQueue {
  group: string;
  /** How many tasks wait for a turn, and how many are held by their owners. */
  waiting: number;
  held: number;
  items: IQueueTask[];
  /** `after` of the next page; null: this is the last one. */
  next: number | null;
}

/** The queues of node groups, as the latest plan has them; groups in which nothing waits are left out. */
export interface IQueue {
  /** When that plan was made. */
  at: string | null;
  groups: IGroupQueue[];
}

/** What the nodes do now, in nodes; k GPUs of a node count k / GPUs-of-the-node. */
export interface IUseNow {
  nodes: number;
  /** Nodes that runs hold: the sum of the four below. */
  held: number;
  /** Those of runs that start, that compute, whose GPUs are idle, and that were told to leave. */
  starting: number;
  useful: number;
  idle: number;
  leaving: number;
  /** The parts of all nodes that are held, and that compute, 0 to 1; null: there is no node. */
  occupancy: number | null;
  useful_share: number | null;
}

/** What the nodes did in an hour. Lengths of time are seconds of nodes. */
export interface IHour {
  hour: string;
  /** Up to when it is counted: its end, but for the present hour. */
  until: string;
  /** All node time there was, and in it that of nodes which took no new runs; null: it was not recorded. */
  capacity_s: number | null;
  down_s: number | null;
  /** Node time that runs held, and in it that of their starts, of work, of saving and of lost work. */
  held_s: number;
  starting_s: number;
  useful_s: number;
  saving_s: number;
  lost_s: number;
  /** Seconds of GPUs in which they did nothing, as far as runs have ended: of those that go on it is not known yet. */
  gpu_idle_s: number;
  /** The parts of all node time that were held, and useful, 0 to 1; null: not known. */
  occupancy: number | null;
  useful_share: number | null;
}

/** How many tasks ended in some time. */
export interface IEndedCount {
  succeeded: number;
  failed: number;
  stopped: number;
}

/** The cluster now and over the last day, the same for every reader. */
export interface IOverview {
  at: string;
  /** The number of the last event before: with `after` of it, `GET /events` tells all that has changed since. */
  change: number;
  paused: boolean;
  /** Why the scheduler decides nothing now, in a sentence; null: it decides. */
  standstill: string | null;
  now: IUseNow;
  /** The last 24 hours and the present one, the oldest first. */
  hours: IHour[];
  /** Running and waiting tasks by priority, over all node groups; the highest first. */
  levels: ILevelCount[];
  groups: IGroupOverview[];
  /** How many tasks were submitted, and ended, in the last three hours. */
  submitted_3h: number;
  ended_3h: IEndedCount;
}

/** Since when a user is archived, by whom, and why. */
export interface IArchived {
  at: string;
  by: string;
  /** In the admin's words; may be empty. */
  note: string;
}

/** A user that the service has seen, or that tasks, quota or the ledger name. */
export interface IUser {
  name: string;
  /** The groups that the Hub last named. */
  groups: string[];
  /** Whether a token of theirs had the right of admins within the last day on which they were seen. */
  admin: boolean;
  /** null: the user is not archived. */
  archived: IArchived | null;
  /** When they last used the service, to about ten minutes; null: never, as far as is known. */
  seen_at: string | null;
  running_tasks: number;
  running_nodes: number;
  waiting_tasks: number;
  waiting_nodes: number;
  /** The same by priority, highest first; levels without unfinished tasks are left out. */
  levels: ILevelCount[];
  /** Levels with a row of quota or held nodes, by node group, highest priority first. */
  quota: IUserQuota[];
}

/** A page of users. */
export interface IUserList {
  items: IUser[];
  /** How many users match, on all pages. */
  total: number;
  /** null: this is the last page. */
  next_cursor: string | null;
}

/** One user. */
export interface IUserDetail extends IUser {
  /** Rows of quota that can count for the user, with their versions. */
  rows: IQuota[];
  /** The latest entries of the audit about the user, newest first. */
  audit: IAuditEntry[];
}

/** A user who is archived now. */
export interface IArchive extends IArchived {
  name: string;
  /** How many tasks were told to stop. */
  stopped: number;
}

/** How the scheduling loop does. */
export interface ISchedulerHealth {
  /** Whether it decides. While it does not, no task starts, none is interrupted, and running tasks go on. */
  deciding: boolean;
  /** What is wrong, in a sentence; null: all is well. */
  detail: string | null;
  /** Whether an admin has paused the platform. */
  paused: boolean;
  /** The loop that leads, and until when without a renewal; null: none does, or it is not known. */
  leader: string | null;
  lease_until: string | null;
  /** When the last tick succeeded, and seconds since; null: not known. */
  last_tick: string | null;
  last_tick_s: number | null;
  /** Ticks since the loop started. */
  ticks: number;
  /** Seconds within which half, and 95 of 100, of its latest ticks were done. */
  tick_p50_s: number;
  tick_p95_s: number;
}

/** How the database does. */
export interface IDatabaseHealth {
  reachable: boolean;
  /** `sqlite`, `postgresql` or `memory`; null: it does not answer. */
  kind: string | null;
  /** Seconds that it took for an answer. */
  answer_s: number | null;
  /** In bytes; null: not known. */
  size: number | null;
  /** The revision of its tables. */
  revision: string | null;
}

/** How the cluster does. */
export interface IClusterHealth {
  reachable: boolean;
  /** Seconds that it took to name its nodes. */
  answer_s: number | null;
  /** The number of nodes in each state: free, held, lost, closed, crowded, orphan, cordoned, draining, quarantined. */
  nodes: Record<string, number>;
}

/** An alarm in force, by the rule of the alert of that name. */
export interface IAlarm {
  name: string;
  severity: 'critical' | 'warning' | 'info';
  summary: string;
  detail: string;
  /** The node group that it is about, and how many of its nodes; null: it is about no node group. */
  group: string | null;
  count: number | null;
  /** The page that says what to do, from the root of the documentation. */
  runbook: string;
}

/** A number that several users have: they can read and change the files of each other. */
export interface IDoubledUid {
  uid: number;
  users: string[];
}

/** The health of the platform for admins. `status` is `ok` or `degraded`. */
export interface IPlatformHealth {
  status: 'ok' | 'degraded';
  scheduler: ISchedulerHealth;
  database: IDatabaseHealth;
  cluster: IClusterHealth;
  /** Versions by part: service, loop, jupyterhub, platform, lab, client, environments, python; null: not known. */
  versions: Record<string, string | null>;
  alarms: IAlarm[];
  /** Numbers that several users have; empty: each has one of their own, or all are one account on purpose. */
  doubled_uids: IDoubledUid[];
}

/** A policy number in force. Lengths of time are texts such as `15m`; weights are an object of users and numbers. */
export interface IPolicyValue {
  value: unknown;
  /** A length of time in seconds; null for other kinds of numbers. */
  length_s: number | null;
  source: 'default' | 'configuration' | 'admin';
  /** The node group for which it was set; null: all groups. */
  group: string | null;
  /** The admin who has set it, and the time; null: no admin has set it. */
  by: string | null;
  at: string | null;
}

/** One of the words that a number of kind `choice` may be. */
export interface INumberChoice {
  word: string;
  /** What happens then, in a few words. */
  meaning: string;
}

/** A number of a rule of scheduling that admins may change. */
export interface IPolicyNumber {
  name: string;
  kind: 'duration' | 'float' | 'int' | 'weights' | 'choice';
  /** The ids of the rules that use it (docs/scheduling.md). */
  rule: string;
  /** What the number does, in one sentence. */
  help: string;
  /** All its words, if its kind is `choice`; no other value is allowed then. */
  choices: INumberChoice[];
  /** Its value when neither the configuration nor an admin sets it. */
  default: unknown;
  /** The value in force in node groups that have no value of their own. */
  common: IPolicyValue;
  /** The value in force in each node group. */
  groups: Record<string, IPolicyValue>;
}

/** The policy numbers that the scheduler uses. */
export interface IPolicy {
  numbers: IPolicyNumber[];
  /** Names of the node groups. */
  groups: string[];
  /** Why the values that admins have set are not used; null: they are used. */
  trouble: string | null;
  /** Warnings on values that are probably mistakes. */
  warnings: string[];
  /** Of all that admins have set: sent back in `If-Match`, it makes a change fail if an admin has changed numbers in the meantime. */
  version: string;
}

/** The tasks of a trial that ask for one priority. Waits are those for the first turn, in seconds. */
export interface ILevelTrial {
  level: PriorityChoice;
  tasks: number;
  wait_p50_s: number | null;
  wait_p90_s: number | null;
  interruptions: number;
}

/** The tasks of a trial in one node group. */
export interface IGroupTrial {
  group: string;
  nodes: number;
  tasks: number;
  /** The parts of the node time that runs held, and that was useful, 0 to 1. */
  occupancy: number | null;
  useful: number | null;
  wait_p50_s: number | null;
  wait_p90_s: number | null;
  interruptions: number;
}

/** What happens with some policy numbers, or what has happened. */
export interface ITrialSide {
  /** The parts of the node time that runs held, and that was useful, 0 to 1; null: not known. */
  occupancy: number | null;
  useful: number | null;
  turns: number;
  interruptions: number;
  /** Node time whose work was lost, in seconds; null: not known. */
  lost_node_s: number | null;
  /** Tasks that never end, because they never can start. */
  unfinished: number;
  levels: ILevelTrial[];
  groups: IGroupTrial[];
}

/** The tasks of the last days, simulated with the policy numbers in force and with others. */
export interface ITrial {
  since: string;
  until: string;
  /** How many tasks were simulated. */
  tasks: number;
  old: ITrialSide;
  new: ITrialSide;
  /** What has happened, as the ledger has it: it tells how near the simulation with the old numbers comes. */
  measured: ITrialSide;
  /** What the figures rest on, and what they cannot know. */
  assumptions: IAssumption[];
}

/** How far a trial has come. */
export interface ITrialProgress {
  /** From 0 to 1. */
  done: number;
}

/** Set some numbers, and reset others to the configuration or the default. Either all changes are made or none. */
export interface IPolicyChange {
  /** The node group; null: all groups that have no value of their own. */
  group?: string | null;
  /** New values, by name of the number. Lengths of time are texts such as `15m`, or seconds. */
  set?: Record<string, unknown>;
  /** Names of the numbers to reset. */
  unset?: string[];
}

/** A change of policy numbers that is tried on the tasks of the last days, and not made. */
export interface IPolicyTrial extends IPolicyChange {
  /** How many days back, from a midnight in UTC on. */
  days?: number;
}

/** An error (RFC 9457, `application/problem+json`). */
export interface IProblem {
  type: string;
  title: string;
  status: number;
  /** What is wrong and what to do, in one sentence. */
  detail: string;
  /** Machine-readable code: invalid, not_found, forbidden, unauthorized, conflict, quota, too_large, unavailable; also gone (410), method_not_allowed (405), unsupported_media_type (415), too_many (429), internal (500). */
  code: string;
  errors: IFieldError[];
}

/** A refused change of something that somebody else has changed in the meantime (409). */
export interface ICollisionProblem extends IProblem {
  /** What is there now, as reading it shows it; null: nothing is. */
  current: unknown;
}

/** An error in one field. */
export interface IFieldError {
  field: string;
  value: unknown;
  message: string;
}

/** What to record of a running task. */
export interface IRecordingSubmit {
  /** trace: each operator, by PyTorch's profiler. stacks: the Python stacks of all threads at this moment. */
  kind?: 'trace' | 'stacks';
  /** The length of a trace; null: 5 seconds, unless `steps` is given. */
  seconds?: number | null;
  /** The length of a trace in steps of the optimizer. */
  steps?: number | null;
  /** The ranks; null: all of them, or 16 that are spread over a larger gang. */
  ranks?: number[] | null;
  /** Whether allocations of memory are part of the trace. */
  memory?: boolean;
}

/** Where the time of a step goes, in seconds; together they are the step. */
export interface IPhases {
  /** Waiting for the next batch. */
  data: number;
  forward: number;
  backward: number;
  optimizer: number;
  /** Communication with other ranks while nothing is computed. */
  communication: number;
  /** Nothing of the above. */
  idle: number;
}

/** One operator, or kernel of a GPU, in all of a trace. */
export interface IOperator {
  name: string;
  calls: number;
  /** Its time without that of operators inside it, seconds. */
  self_s: number;
  /** The part of it in the time of all operators, 0 to 1. */
  share: number;
}

/** What the trace of one process says. */
export interface ITraceSummary {
  /** The process's number in `torch.distributed`, and how many there are; null: the trace does not say. */
  process_rank: number | null;
  world: number | null;
  /** Where most was computed. */
  device: 'cpu' | 'gpu';
  /** The length of the trace, seconds. */
  seconds: number;
  /** Whole steps in it; 0: no step of an optimizer was seen, and the phases are those of the whole trace. */
  steps: number;
  /** The mean length of a step, seconds. */
  step_s: number;
  phases: IPhases;
  /** The part of the time in which kernels ran on a GPU, 0 to 1; null: none was seen. */
  gpu_busy: number | null;
  operators: IOperator[];
  /** What a reader should know of these numbers. */
  notes: string[];
}

/** The trace of one process. `GET .../ranks/{rank}/traces/{number}` has it. */
export interface IProcessTrace {
  number: number;
  pid: number;
  /** The program with its arguments, shortened. */
  name: string;
  /** Compressed bytes. */
  size: number;
  /** Null until all ranks have ended, and where the trace cannot be summed up. */
  summary: ITraceSummary | null;
  /** Why it cannot be summed up. */
  fault: string | null;
}

/** The Python stacks of one process. */
export interface IStack {
  pid: number;
  name: string;
  /** Which program has read them; null: none could. */
  how: 'py-spy' | 'faulthandler' | null;
  /** What the kernel says of the process. */
  kernel: string;
  text: string;
}

/** What one rank was told to record, and what it has sent. */
export interface IRecordingPart {
  rank: number;
  node: string;
  state: 'ordered' | 'done' | 'failed';
  message: string | null;
  traces: IProcessTrace[];
  stacks: IStack[];
}

/** The process that the others wait for. */
export interface ISlowest {
  rank: number;
  trace: number;
  /** What it does itself in each step, without waiting for others, seconds. */
  own_s: number;
  /** The same of the process in the middle of the others. */
  median_s: number;
}

/** What all traces of a recording say together. */
export interface IRecordingSummary {
  processes: number;
  step_s: number;
  /** The mean over all processes. */
  phases: IPhases;
  operators: IOperator[];
  /** Null: there is one process, or all are equally fast. */
  slowest: ISlowest | null;
}

/** A recording of a task. */
export interface IRecording {
  id: number;
  task: number;
  /** The number of the run that was recorded. */
  run: number;
  kind: 'trace' | 'stacks';
  /** recording: ranks still have to answer. done: at least one rank has recorded something. failed: none has. */
  state: 'recording' | 'done' | 'failed';
  /** Who has ordered it. */
  by: string;
  at: string;
  /** When the ranks begin, and by when they must have answered. */
  starts_at: string;
  ends_by: string;
  seconds: number;
  steps: number | null;
  memory: boolean;
  /** Compressed bytes of all traces. */
  size: number;
  parts: IRecordingPart[];
  /** Null until it is done, and for stacks. */
  summary: IRecordingSummary | null;
}

/** The recordings of a task, the newest first. */
export interface IRecordingList {
  items: IRecording[];
}

/** A row of quota. `limit` null is no limit. */
export interface IQuota {
  subject: string;
  group: string;
  priority: PriorityName;
  limit: number | null;
  /** The highest limit to which users for whom the row counts may raise their own row; null: they may not. */
  ceiling: number | null;
  /** From this time on the row does not count; null: it does not expire. */
  expires_at: string | null;
  /** Whether that time has come. Admins see such rows for 30 days. */
  expired: boolean;
  /** Sent back in `If-Match`, it makes a change fail if the row has changed in the meantime. */
  version: string;
  /** In the answer to a change: a warning, if the row is probably a mistake. */
  warning: string | null;
}

/** Rows of quota. */
export interface IQuotaList {
  items: IQuota[];
}

/** How much a user may hold at a level, and how much the user holds. */
export interface IOwnQuota {
  group: string;
  priority: PriorityName;
  /** The limit in nodes; null: no limit. */
  limit: number | null;
  /** Nodes that the user holds; k GPUs of a node count as k / GPUs-of-the-node. */
  used: number;
  /** The row that gives the limit: `user:NAME`, `group:NAME`, `public` or `none`. */
  source: string;
  /** The highest limit to which users may raise it themselves (PUT /me/quota); null: they may not. */
  ceiling: number | null;
  /** When that row expires; null: never. */
  expires_at: string | null;
}

/** What a user may hold and holds at a level. */
export interface IUserQuota extends IOwnQuota {
  /** The limit of the row `user:NAME` itself; null: it has no limit, or there is no such row. */
  own_limit: number | null;
  /** The version of the row `user:NAME`, for `If-Match`; null: there is none, and `If-null-Match: *` writes the first. */
  own_version: string | null;
}

/** The user or service that asks. */
export interface IMe {
  name: string;
  kind: 'user' | 'service';
  admin: boolean;
  groups: string[];
  scopes: string[];
  quota: IOwnQuota[];
  /** Who the caller's processes are; null: the platform's one account, or nobody. */
  identity: IIdentity | null;
  /** Why nothing of the caller starts; empty: it does. */
  no_identity: string;
}

/** What some tasks took. Node time is running time times nodes; lengths of time are seconds. */
export interface IReportRow {
  /** The user, the group, the priority, ..., or the first day; `total` in the sum of all. */
  key: string;
  /** Runs that started in this time, and runs that ended. */
  starts: number;
  ends: number;
  /** Node time, and GPU time. */
  node_s: number;
  gpu_s: number;
  /** Core time of development containers: the cores that each had for itself. Tasks have none, they take whole nodes. */
  core_s: number;
  /** Node time until all ranks were up, while they were, from a notice to the end, and of work that was lost. */
  starting_s: number;
  useful_s: number;
  saving_s: number;
  lost_s: number;
  /** Node time of runs that failed; the four above have it too. */
  failed_s: number;
  /** GPU time in which GPUs did nothing, as far as it was measured. */
  gpu_idle_s: number;
  /** Energy of the GPUs in joules, as far as it was measured. */
  energy_j: number;
  /** The useful part of the node time, 0 to 1; null: there was none. */
  useful_share: number | null;
  /** How long tasks had waited for the runs that started; null: none did. The mean is exact; median and 90 % quantile are right to within 2 %. */
  wait_mean_s: number | null;
  wait_median_s: number | null;
  wait_p90_s: number | null;
  /** Tasks that ended by themselves in this time. */
  tasks: number;
  /** Their slowdown: time from submission to end, by running time (of at least 10 s), at least 1; null: none ended. The mean is exact; median and 90 % quantile are right to within 2 %. */
  slowdown_mean: number | null;
  slowdown_median: number | null;
  slowdown_p90: number | null;
  /** Runs that ended because they were told to leave or broke; of these those that broke. */
  interruptions: number;
  broken: number;
  /** Runs whose command failed or reached its time limit, and their part of the runs that ended. */
  failures: number;
  failure_rate: number | null;
  /** Runs of less than 15 minutes that were not interrupted. */
  short_runs: number;
  /** What the rates make of it: decimal numbers by currency; without rates there are none. */
  amounts: Record<string, string>;
}

/** What tasks took in some time. */
export interface IUsageReport {
  by: 'user' | 'group' | 'priority' | 'node_group' | 'kind' | 'day' | 'month';
  /** The time that the report is about: full hours. */
  since: string;
  until: string;
  /** Whose tasks: `all`, `user:NAME` or `group:NAME`; with `by=group`, `groups`: those of the caller. */
  scope: string;
  rows: IReportRow[];
  /** All tasks together, each counted once: with `by=group` less than the sum of the rows where users are in several. */
  total: IReportRow;
  /** What readers have to know about these figures, as sentences. */
  notes: string[];
}

/** What the nodes of a group did, or all nodes on a day or in a month. Lengths of time are seconds of nodes. */
export interface INodesRow {
  /** The node group, or the first day; `total` in the sum of all. */
  key: string;
  /** All node time there was, and in it that of nodes which took no new runs; null: it was not recorded. */
  capacity_s: number | null;
  down_s: number | null;
  /** Node time that runs held, and the useful part of it. */
  held_s: number;
  useful_s: number;
  /** The part of all node time that runs held, 0 to 1; null: it is not known. */
  occupancy: number | null;
  useful_share: number | null;
}

/** How the nodes were used in some time, by all users together. */
export interface INodesReport {
  by: 'node_group' | 'day' | 'month';
  since: string;
  until: string;
  rows: INodesRow[];
  total: INodesRow;
  notes: string[];
}

/** What is known of a checkpoint. */
export interface ICheckpoint {
  at: string;
  step: number | null;
  path: string | null;
  /** told: the job reported it. seen: its files have changed. */
  source: 'told' | 'seen';
}

/** A notice: tells every rank of a run that it must leave. */
export interface INotice {
  /** `suspend` or `stop`. */
  kind: 'suspend' | 'stop';
  reason: string;
  /** Why the run must leave, in one sentence. */
  message: string;
  beneficiary: number | null;
  at: string;
  deadline: string;
  revision: number;
  /** When every rank's supervisor sends the signals of the notice, at most 50 ms ahead; null: at once. */
  signal_at: string | null;
}

/** One rank of a run. */
export interface IRank {
  rank: number;
  node: string;
  /** Indices of the GPUs that the rank holds there; empty: the whole node. */
  gpus: number[];
  state: 'pending' | 'running' | 'exited' | 'lost';
  exit_code: number | null;
  /** The signal that ended the rank's command. */
  signal: number | null;
  notified_at: string | null;
  /** Whether all processes that were sent a signal caught it; null: none was sent one, or it is not known. */
  caught: boolean | null;
  done: boolean;
  message: string | null;
  /** Since when all GPUs of the rank are idle (I1); null: they are not, or it is not known. */
  idle_gpus_since: string | null;
  /** Why its RDMA falls back to TCP; null: it does not, or it is not known. */
  fallback: 'memlock' | 'no_device' | 'no_port' | 'variable' | null;
}

/** A generation of an environment of haienv. */
export interface IHaienv {
  /** The full name: `users/ann/vision`, `groups/cv/vision` or `base/torch`. */
  name: string;
  generation: number;
  /** The digest of its files. */
  digest: string;
  /** The program that the environment was made with. */
  interpreter: string;
  /** The version of its Python. */
  python: string;
  flavour: 'venv' | 'conda';
  /** Whether each run takes the generation that is current at its start; else all runs use this one. */
  latest: boolean;
}

/** The mean over time and the greatest value of a metric. */
export interface IUsageLevel {
  mean: number;
  peak: number;
}

/** What a run used: levels of one rank and of one GPU, and sums over all of them; null: not measured. */
export interface IRunSummary {
  /** For how long its ranks were sampled, seconds of all ranks together. */
  seconds: number;
  /** Cores, of a rank. */
  cpu: IUsageLevel | null;
  /** Bytes, of a rank. */
  memory: IUsageLevel | null;
  /** How many GPUs were seen. */
  gpus: number;
  /** Seconds of all GPUs together. */
  gpu_seconds: number;
  /** Those in which a GPU did nothing. */
  gpu_idle_seconds: number;
  /** Per cent, of a GPU. */
  gpu_use: IUsageLevel | null;
  /** Bytes, of a GPU. */
  gpu_memory: IUsageLevel | null;
  /** Watts, of a GPU. */
  gpu_power: IUsageLevel | null;
  /** The energy of all GPUs together. */
  joules: number;
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
  /** Why the run ended; a value of `Reason`. */
  reason: string | null;
  /** Why it ended or has to leave, as a part of a sentence; null: it does neither. */
  because: string | null;
  /** How a run that was told to leave has left. saved: it said so, or a checkpoint after the notice exists. unknown: it left by itself, and nothing shows that it had saved. ended: it was ended before it left. */
  left: 'saved' | 'unknown' | 'ended' | null;
  /** Node-seconds of work that were lost at its end; null: none were, or it is not known how many were. */
  lost_s: number | null;
  /** Ranks whose own failure ended the run; ranks that were ended because of that are not listed. */
  failed_ranks: number[];
  /** The generation of an environment of haienv that the run was started with; null: none. */
  haienv: IHaienv | null;
  /** What its ranks used; null until it has ended, and where nothing was measured. */
  summary: IRunSummary | null;
}

/** The rank of a run that failed first, and the last lines of its log. */
export interface IFailure {
  /** Number of the run. */
  run: number;
  rank: number;
  node: string;
  exit_code: number | null;
  /** The signal that ended the rank's command. */
  signal: number | null;
  /** When the rank ended, by the clock of its node. */
  at: string | null;
  /** The worker that failed first, of those that torchrun names: `rank 1 (local_rank: 1), exitcode 1`. */
  worker: string | null;
  /** The last lines of the log that say why, 20 at most, without torchrun's own; empty without a log. */
  lines: string[];
}

/** A secret of the caller, without its value, which nobody is shown. */
export interface IOwnSecret {
  name: string;
  /** How often it was set. */
  version: number;
  /** Whether it can be a variable, as its value is UTF-8 without NUL; else it can be a file. */
  text: boolean;
  /** Whether it is looked for in logs: it has 8 bytes or more. */
  redacted: boolean;
  set_at: string;
  /** When a run has got it last, and the task of that run; null: none has. */
  used_at: string | null;
  used_by: number | null;
}

/** The caller's secrets, by name. */
export interface ISecretList {
  items: IOwnSecret[];
}

/** A mount rule. */
export interface IMountRule {
  name: string;
  subject: string;
  action: 'add' | 'remove';
  kind: 'host_path' | 'pvc' | null;
  source: string;
  mount_path: string;
  read_only: boolean;
  priority: number;
  node_group: string | null;
  description: string;
  /** Sent back in `If-Match`, it makes a change fail if the rule has changed in the meantime. */
  version: string;
  /** In the answer to a change: warnings on values that are probably mistakes. */
  warnings: string[];
}

/** One folder that a container sees; all placeholders are filled in. */
export interface IMounted {
  /** Name of the mount rule that it comes from. */
  rule: string;
  kind: 'host_path' | 'pvc';
  /** The folder of the node, or the claim. */
  source: string;
  /** Folder in the claim; empty: all of it. */
  sub_path: string;
  mount_path: string;
  read_only: boolean;
}

/** A mount path of a rule that a stronger rule overrules. */
export interface IOverruled {
  rule: string;
  mount_path: string;
  /** The reason, as a part of a sentence. */
  why: string;
}

/** What a user sees on nodes of a group, by the mount rules. */
export interface IResolvedMounts {
  user: string;
  /** The groups of the user that count. */
  groups: string[];
  node_group: string;
  /** Folders by mount path, each before the folders below it. */
  mounts: IMounted[];
  /** Rules for the user that stronger rules overrule. */
  left_out: IOverruled[];
  warnings: string[];
}

/** All mount rules, by name. */
export interface IMountRuleList {
  items: IMountRule[];
  /** What they mean for the user that was asked about; null: no user was named. */
  resolved: IResolvedMounts | null;
}

/** A task that holds nodes which another one needs. */
export interface IHolder {
  task_id: number;
  name: string;
  user: string;
  priority: PriorityName;
  nodes: number;
  /** GPUs on each of the nodes; null: whole nodes. */
  gpus: number | null;
}

/** Why a task waits. */
export interface IVerdict {
  kind: VerdictKind;
  sentence: string;
  /** Place among the waiting tasks of its group, from 1; null for a held task. */
  position: number | null;
  /** The earliest time at which the task can start; null: not known. */
  earliest_start: string | null;
  /** Data that depend on the kind: needs, free, limit, used, subject, until, deadline, ... */
  data: Record<string, unknown>;
  /** The tasks that hold the nodes it needs, those with most nodes first. In a list of tasks only the first ten; `GET /tasks/{task}` and `GET /tasks/{task}/explain` have all. */
  holders: IHolder[];
  /** How many tasks hold the nodes it needs, those that `holders` leaves out included. */
  holder_count: number;
}

/** How far a job has come, as it reports it itself. */
export interface ITaskProgress {
  /** Steps that are done, over all runs. */
  step: number;
  /** After how many steps it is done; null: it did not say. */
  total: number | null;
  /** When it has said so. */
  at: string;
  /** How long it still has to run at this pace, in seconds, without the time that it waits; null: not known. */
  left_s: number | null;
}

/** A task in a list. */
export interface ITaskSummary {
  id: number;
  name: string;
  user: string;
  state: TaskState;
  held: boolean;
  /** The priority that was asked for. */
  priority: PriorityChoice;
  /** The priority that counts now: that of the run, or of the verdict while the task waits. */
  effective_priority: PriorityName | null;
  group: string;
  /** Number of nodes of the task. */
  nodes: number;
  /** GPUs on each of its nodes; null: whole nodes. */
  gpus: number | null;
  /** The nodes on which it runs now, in rank order. */
  node_names: string[];
  submitted_at: string;
  /** When its latest run was up. */
  running_since: string | null;
  /** Since when GPUs of its run are idle (I1), of the rank that is idle for longest; null: none are. */
  idle_gpus_since: string | null;
  ended_at: string | null;
  /** Running time of all runs so far, in seconds. */
  served_s: number;
  run_count: number;
  suspensions: number;
  /** Number of consecutive interruptions without evidence of a checkpoint (P8). */
  unsaved: number;
  checkpoint: ICheckpoint | null;
  /** Why the task, or its last run, ended; a value of `Reason`. */
  reason: string | null;
  /** What the task does now or why it ended, in one sentence. */
  message: string;
  verdict: IVerdict | null;
  /** Deadline of the current notice; null: there is none. */
  deadline: string | null;
  tags: string[];
  /** What the job has reported last; null: nothing so far. */
  progress: ITaskProgress | null;
  /** Why it waits, in a few words; null: it does not wait. */
  short: IShortWait | null;
  /** Whether the caller has starred it; null: not known here. */
  starred: boolean | null;
  /** In a list with `use`: what its run uses now or, of a run that has ended, used; null: nothing was measured. */
  use: IMeanUse | null;
}

/** The tags of a task, in place of those that it has. */
export interface ITagsPut {
  tags: string[];
}

/** One action on many tasks. */
export interface ITaskActions {
  action: 'stop' | 'suspend' | 'resume' | 'hold';
  /** Their ids or names, as in `GET /tasks/{task}`. */
  tasks: string[];
}

/** What became of one of the tasks. */
export interface ITaskActionResult {
  /** The task as the request has named it. */
  task: string;
  /** Its id and its state afterwards; null: it was refused. */
  task_id: number | null;
  state: TaskState | null;
  held: boolean | null;
  /** Why it was refused, as a code and a sentence; null: it was done. */
  code: string | null;
  detail: string | null;
}

/** What became of each task, in the order of the request. */
export interface ITaskActionResults {
  items: ITaskActionResult[];
  done: number;
  refused: number;
}

/** The snapshot of a task's code. */
export interface ICodeSnapshot {
  /** The SHA-256 of its manifest. */
  digest: string;
  /** How many files and links it has, and the bytes of all files. */
  files: number;
  size: number;
  /** The commit of git that was checked out, as the client has said; null: there was none. */
  commit: string | null;
  /** Whether a file was not as in that commit, as the client has said. */
  dirty: boolean;
}

/** A task with its runs and what it executes. */
export interface ITaskDetail extends ITaskSummary {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  /** The secrets that each run gets, as they were given; their values are nowhere to be read. */
  secrets: string[];
  profile: ProfileName;
  signal: string | null;
  watch: string[];
  /** Advice for the owner, as sentences. */
  hint: string | null;
  grace_s: number;
  time_limit_s: number | null;
  checkpoint_dir: string;
  job_state: string | null;
  /** How often the task may be started again when its command fails, and how often it was. */
  retries: number;
  retries_used: number;
  retry_backoff_s: number;
  retry_exit_codes: number[];
  /** While the task waits for a retry: the earliest time of that start. */
  retry_at: string | null;
  /** Name of the image that the task runs in; null: the platform's own. */
  environment: string | null;
  /** That image with its digest, to which the task is pinned; null: what its name means at each start. */
  image: string | null;
  /** The generation of an environment of haienv that the task is pinned to; null: it uses none. */
  haienv: IHaienv | null;
  /** The snapshot of the code in which all runs start; null: they start in `cwd` as it is then. */
  snapshot: ICodeSnapshot | null;
  /** How often the command runs on each node; null: once, without a launcher. */
  ranks_per_node: number | 'gpu' | null;
  /** In the answer to a submission: warnings on what will probably not work as the user expects. */
  warnings: string[];
  /** How the latest ended run has failed; null: it has not failed. */
  failure: IFailure | null;
  runs: IRun[];
}

/** A page of tasks, newest first or in the order that was asked for. */
export interface ITaskPage {
  items: ITaskSummary[];
  next_cursor: string | null;
  /** With `total`: how many tasks match, on all pages. */
  total: number | null;
  /** On the first page: what the caller should know, as sentences; now, of budgets that are almost used up. */
  notes: string[];
}

/** A task to submit. */
export interface ITaskSubmit {
  /** Letters and digits of any script, `.`, `_` and `-`, beginning with a letter or digit; not a number. */
  name: string;
  /** The program and its arguments. */
  command: string[];
  /** The folder to start in, absolute. */
  cwd: string;
  nodes?: number;
  /** GPUs on each of its nodes, which the task then shares with other such tasks; null: whole nodes. */
  gpus?: number | null;
  /** A level, or AUTO: the highest one that still has quota. */
  priority?: PriorityChoice;
  /** The node group. */
  group?: string;
  /** Environment variables; names that the platform sets are refused. */
  env?: Record<string, string>;
  /** Secrets of the user that each run gets: `NAME` or `VARIABLE=NAME` as a variable, `PATH=NAME` as a file in memory. */
  secrets?: string[];
  /** How the job is told to leave; with `auto` the platform finds out. */
  profile?: ProfileName;
  /** The signal to send and, optionally, how many seconds before the deadline: `USR1@60`; null: the profile's. */
  signal?: string | null;
  /** Seconds between the notice and its deadline; null: the group's default. */
  grace_s?: number | null;
  /** Seconds of running after which the task is ended; null: no limit. */
  time_limit_s?: number | null;
  /** Absolute path; null: a folder that the platform creates. */
  checkpoint_dir?: string | null;
  /** Paths, absolute or below cwd, whose changes count as checkpoints, beside changes in the folder for checkpoints. */
  watch?: string[];
  tags?: string[];
  /** Whether to hold the task: it does not start until it is resumed. */
  hold?: boolean;
  /** How often the task is started again when its command fails. */
  retries?: number;
  /** Seconds before the first retry; doubled before each further retry, up to a day. */
  retry_backoff_s?: number;
  /** Exit statuses after which a retry is made; empty: any failure. */
  retry_exit_codes?: number[];
  /** What to run in: the name of an image (GET /environments) or `images/NAME`, or an environment of haienv by its bare name, its full name (`users/ann/vision`) or one of its generations (`vision@3`); null: the user's default image, else the platform's own. */
  environment?: string | null;
  /** Whether each run takes the generation of the environment of haienv that is current at its start; else all runs use the generation that is current now. */
  env_latest?: boolean;
  /** The snapshot of its code, in which all runs start; null: they start in `cwd` as it is then. */
  snapshot?: ISnapshotIn | null;
  /** In the answer to `POST /tasks/parse`: the file asks for a snapshot of `cwd`. Who submits it has to send one, and to set `snapshot`. */
  take_snapshot?: boolean | null;
  /** How often the command runs on each node, with LOCAL_RANK and so on; `gpu`: once for each of its GPUs; null: once, and RANK counts nodes. */
  ranks_per_node?: number | 'gpu' | null;
}

/** A snapshot of code that the caller has sent. */
export interface ISnapshotIn {
  /** The SHA-256 of its manifest. */
  digest: string;
  /** The commit of git that was checked out; null: there is none. */
  commit?: string | null;
  /** Whether a file was not as in that commit. */
  dirty?: boolean;
}
