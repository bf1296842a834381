/** Words and numbers as users read them. Pure functions. */

import type { ICodeSnapshot, IHaienv, IRun, ITaskProgress, TaskState } from '../api/types';
import { momentFormat } from './intl';
import { trans } from './translate';
import { count, numberText } from './words';

const ENDED: readonly TaskState[] = ['succeeded', 'failed', 'stopped'];

/** Whether a task can still run. */
export function isUnfinished(state: TaskState): boolean {
  return !ENDED.includes(state);
}

/** What a task takes: `3 nodes`, `1 node × 2 GPUs`. */
export function size(task: { nodes: number; gpus: number | null }): string {
  const nodes = count(task.nodes, 'node');
  return task.gpus === null ? nodes : `${nodes} × ${count(task.gpus, 'GPU')}`;
}

/** A length of time with its two largest units: `3 d 4 h`, `2 h 5 min`, `42 s`. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(s / 86_400), trans._p('unit', 'd')],
    [Math.floor((s % 86_400) / 3_600), trans._p('unit', 'h')],
    [Math.floor((s % 3_600) / 60), trans._p('unit', 'min')],
    [s % 60, trans._p('unit', 's')]
  ];
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) {
    return `0 ${trans._p('unit', 's')}`;
  }
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(' ');
}

/** `71 %` of a part of a whole, with up to `digits` digits after the point; a dash for what is not known. */
export function percent(share: number | null | undefined, digits = 0): string {
  return share === null || share === undefined ? '–' : `${Number((100 * share).toFixed(digits))} %`;
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
    return trans.__('just now');
  }
  return seconds > 0 ? trans.__('%1 ago', length) : trans.__('in %1', length);
}

/** How far a job has come: `step 1,200 of 10,000, about 2 h left`. */
export function progressText(progress: ITaskProgress): string {
  const step = numberText(progress.step);
  const done =
    progress.total === null
      ? trans.__('step %1', step)
      : trans.__('step %1 of %2', step, numberText(progress.total));
  return progress.left_s === null ? done : trans.__('%1, about %2 left', done, duration(progress.left_s));
}

/** A moment in the reader's time zone: the time, the day if it is another one than today, and the year if that is another one. */
export function moment(at: string | number, now: number = Date.now()): string {
  const date = new Date(at);
  const today = new Date(now);
  const time = momentFormat({
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false
  }).format(date);
  if (date.toDateString() === today.toDateString()) {
    return time;
  }
  const year = date.getFullYear() === today.getFullYear() ? {} : { year: 'numeric' as const };
  return `${momentFormat({ day: 'numeric', month: 'short', ...year }).format(date)} ${time}`;
}

const UTC_TIME = /(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d(?::\d\d)?) UTC\b/g;
const DAY = 86_400_000;

/** A sentence of the service with its times, which are UTC, as `moment` shows them. Those without a day are of today. */
export function localTimes(sentence: string, now: number = Date.now()): string {
  return sentence.replace(UTC_TIME, (found, day?: string, time?: string) => {
    const at = Date.parse(`${day ?? new Date(now).toISOString().slice(0, 10)}T${time}Z`);
    return Number.isNaN(at) ? found : moment(at, now);
  });
}

/** The same for a line of a log that was written at `at`: times without a day are those next to it. */
export function localLogTimes(line: string, at: string): string {
  const written = Date.parse(at);
  return localTimes(
    line.replace(UTC_TIME, (found, day?: string, time?: string) => {
      const same = Date.parse(`${day ?? at.slice(0, 10)}T${time}Z`);
      const off = day === undefined ? Math.round((written - same) / DAY) * DAY : 0;
      return Number.isNaN(same) ? found : `${new Date(same + off).toISOString().slice(0, 10)} ${time} UTC`;
    }),
    written
  );
}

/** An image with a short digest: `registry.example/torch:2@sha256:1234...`. */
export function imageText(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1...');
}

/** An environment of haienv in one line: `users/ann/vision@3 (sha256:1234...)`. */
export function environmentText(haienv: IHaienv): string {
  const generation = `${haienv.name}@${haienv.generation} (${haienv.digest.slice(0, 19)}...)`;
  return haienv.latest ? trans.__('%1; each run takes the newest', generation) : generation;
}

/** A snapshot of code in one line: `1a2b3c4d5e6f (812 files; commit 9f8e7d6c5b4a, with changes)`. */
export function snapshotText(snapshot: ICodeSnapshot): string {
  const { digest, files, commit, dirty } = snapshot;
  const parts = [count(files, 'file')];
  if (commit !== null) {
    const short = commit.slice(0, 12);
    parts.push(dirty ? trans.__('commit %1, with changes', short) : trans.__('commit %1', short));
  }
  return `${digest.slice(0, 12)} (${parts.join('; ')})`;
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
    : trans.__('%1 and %2 more', nodes.slice(0, most).join(', '), nodes.length - most);
}

// eslint-disable-next-line no-control-regex
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
// eslint-disable-next-line no-control-regex
const STYLE = /^\u001b\[[0-9;:]{0,64}m$/;

/** A log line without the codes that move cursors and set colours on a terminal. */
export function plainText(text: string): string {
  return text.includes('\u001b') ? text.replace(ANSI, '') : text;
}

/** A log line with the codes that set colours, and no others. */
export function colouredText(text: string): string {
  return text.replace(ANSI, found => (STYLE.test(found) ? found : ''));
}
