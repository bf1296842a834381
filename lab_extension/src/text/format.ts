/** Words and numbers as users read them. Pure functions. */

import type {
  IHaienv,
  ITaskProgress,
  IRun,
  ICodeSnapshot,
  ITaskSummary,
  PriorityChoice,
  TaskState
} from '../api/types';

const ENDED: readonly TaskState[] = ['succeeded', 'failed', 'stopped'];

/** Whether a task can still run. */
export function isUnfinished(state: TaskState): boolean {
  return !ENDED.includes(state);
}

/** Whether a task has no nodes and wants some. */
export function isWaiting(state: TaskState): boolean {
  return state === 'queued' || state === 'suspended';
}

/** `1 node`, `3 nodes`. */
export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
}

/** What a task takes: `3 nodes`, `1 node × 2 GPUs`. */
export function size(task: { nodes: number; gpus: number | null }): string {
  const nodes = count(task.nodes, 'node');
  return task.gpus === null ? nodes : `${nodes} × ${count(task.gpus, 'GPU')}`;
}

/** `EXTREME_HIGH` as `Extreme high`. */
export function priorityLabel(priority: PriorityChoice): string {
  if (priority === 'AUTO') {
    return 'Auto';
  }
  const words = priority.toLowerCase().replace('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a task counts as now; `Auto · High` where it was chosen for it. */
export function priorityOf(task: Pick<ITaskSummary, 'priority' | 'effective_priority'>): string {
  const label = priorityLabel(task.priority);
  return task.priority === 'AUTO' && task.effective_priority
    ? `${label} · ${priorityLabel(task.effective_priority)}`
    : label;
}

/** The state in a word; a held waiting task is `held`. */
export function stateLabel(task: Pick<ITaskSummary, 'state' | 'held'>): string {
  return task.held && isWaiting(task.state) ? `${task.state}, held` : task.state;
}

/** A length of time with its two largest units: `3 d 4 h`, `2 h 5 min`, `42 s`. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(s / 86_400), 'd'],
    [Math.floor((s % 86_400) / 3_600), 'h'],
    [Math.floor((s % 3_600) / 60), 'min'],
    [s % 60, 's']
  ];
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) {
    return '0 s';
  }
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
}

/** Seconds between two moments. */
export function between(from: string, to: string | number): number {
  return ((typeof to === 'number' ? to : Date.parse(to)) - Date.parse(from)) / 1000;
}

/** `just now`, `5 min ago`, `in 2 h`: one unit. */
export function relative(at: string, now: number): string {
  const seconds = between(at, now);
  const length = duration(Math.abs(seconds)).split(' ').slice(0, 2).join(' ');
  if (Math.abs(seconds) < 5) {
    return 'just now';
  }
  return seconds > 0 ? `${length} ago` : `in ${length}`;
}

/** How far a job has come: `step 1,200 of 10,000, about 2 h left`. */
export function progressText(progress: ITaskProgress): string {
  const of = progress.total === null ? '' : ` of ${progress.total.toLocaleString('en')}`;
  const left = progress.left_s === null ? '' : `, about ${duration(progress.left_s)} left`;
  return `step ${progress.step.toLocaleString('en')}${of}${left}`;
}

/** A moment in the reader's time zone: the time, and the day if it is another one than today. */
export function moment(at: string | number, now: number = Date.now()): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false
  });
  return date.toDateString() === new Date(now).toDateString()
    ? time
    : `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })} ${time}`;
}

/** A sentence of the service with its times, which are UTC, as `moment` shows them. Those without a day are of today. */
export function localTimes(sentence: string, now: number = Date.now()): string {
  return sentence.replace(
    /(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d(?::\d\d)?) UTC\b/g,
    (found, day?: string, time?: string) => {
      const at = Date.parse(`${day ?? new Date(now).toISOString().slice(0, 10)}T${time}Z`);
      return Number.isNaN(at) ? found : moment(at, now);
    }
  );
}

/** Why a run ended, as a part of a sentence. The words are `Reason`'s of the scheduler. */
const REASONS: Record<string, string> = {
  succeeded: 'every rank exited with status 0',
  failed: 'its command failed',
  time_limit: 'it reached its time limit',
  preempted: 'a task of higher priority needed its nodes',
  turn_over: 'its turn was over and an equal waited',
  drained: 'a node was being drained',
  paused: 'the platform was paused',
  user_suspended: 'it was suspended by hand',
  user_stopped: 'it was stopped by hand',
  owner_archived: 'its owner was archived by an admin',
  yielded: 'it gave its nodes back',
  gpus_idle: 'its GPUs were idle and another task waited',
  node_lost: 'a node was lost',
  supervisor_killed: 'the supervisor of a rank was killed',
  evicted: 'the cluster took a node of it away',
  restored: 'the database was restored',
  start_failed: 'it could not be started on its nodes'
};

/** A sentence part for a reason; unknown ones are shown as they are. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll('_', ' ');
}

/** An image with a short digest: `registry.example/torch:2@sha256:1234...`. */
export function imageText(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1...');
}

/** An environment of haienv in one line: `users/ann/vision@3 (sha256:1234...)`. */
export function environmentText(haienv: IHaienv): string {
  const generation = `${haienv.name}@${haienv.generation} (${haienv.digest.slice(0, 19)}...)`;
  return haienv.latest ? `${generation}; each run takes the newest` : generation;
}

/** A snapshot of code in one line: `1a2b3c4d5e6f (812 files; commit 9f8e7d6c5b4a, with changes)`. */
export function snapshotText(snapshot: ICodeSnapshot): string {
  const { digest, files, commit, dirty } = snapshot;
  const git = commit === null ? '' : `; commit ${commit.slice(0, 12)}${dirty ? ', with changes' : ''}`;
  return `${digest.slice(0, 12)} (${files} ${files === 1 ? 'file' : 'files'}${git})`;
}

/** How a run ended, for its colour. */
export type RunEnding = 'running' | 'leaving' | 'saved' | 'unknown' | 'ended' | 'failed' | 'succeeded';

/** The ending of a run: a failed command or a lost node is `failed`, a suspension as far as its saving is known. */
export function endingOf(run: Pick<IRun, 'state' | 'reason' | 'left'>): RunEnding {
  if (run.state !== 'ended') {
    return run.state === 'leaving' ? 'leaving' : 'running';
  }
  if (run.reason === 'succeeded') {
    return 'succeeded';
  }
  if (['failed', 'node_lost', 'start_failed', 'supervisor_killed', 'time_limit'].includes(run.reason ?? '')) {
    return 'failed';
  }
  return run.left ?? 'unknown';
}

/** `n-1, n-2, n-3 and 5 more`. */
export function nodeList(nodes: readonly string[], most = 4): string {
  return nodes.length <= most
    ? nodes.join(', ')
    : `${nodes.slice(0, most).join(', ')} and ${nodes.length - most} more`;
}

// eslint-disable-next-line no-control-regex
const ANSI = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/** A log line without the codes that move cursors and set colours on a terminal. */
export function plainText(text: string): string {
  return text.includes('\u001b') ? text.replace(ANSI, '') : text;
}
