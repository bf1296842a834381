/** The words of the wire as users read them: numbers of things, states, priorities, reasons. */

import type { ITaskSummary, PriorityChoice, TaskState } from '../api/types';
import { numberFormat } from './intl';
import { trans } from './translate';

/** A number with the marks of the user's language: `1,200`. */
export function numberText(n: number): string {
  return numberFormat().format(n);
}

/** The things that are counted. */
export type Counted = 'GPU' | 'file' | 'hit' | 'node' | 'package' | 'rank' | 'run' | 'suspension' | 'task';

/** `1 node`, `3 nodes`, `1,200 nodes`. */
export function count(n: number, noun: Counted): string {
  const shown = numberText(n);
  switch (noun) {
    case 'GPU':
      return trans._n('%2 GPU', '%2 GPUs', n, shown);
    case 'file':
      return trans._n('%2 file', '%2 files', n, shown);
    case 'hit':
      return trans._n('%2 hit', '%2 hits', n, shown);
    case 'node':
      return trans._n('%2 node', '%2 nodes', n, shown);
    case 'package':
      return trans._n('%2 package', '%2 packages', n, shown);
    case 'rank':
      return trans._n('%2 rank', '%2 ranks', n, shown);
    case 'run':
      return trans._n('%2 run', '%2 runs', n, shown);
    case 'suspension':
      return trans._n('%2 suspension', '%2 suspensions', n, shown);
    case 'task':
      return trans._n('%2 task', '%2 tasks', n, shown);
  }
}

/** `EXTREME_HIGH` as `Extreme high`. */
export function priorityLabel(priority: PriorityChoice): string {
  switch (priority) {
    case 'AUTO':
      return trans.__('Auto');
    case 'EXTREME_HIGH':
      return trans.__('Extreme high');
    case 'VERY_HIGH':
      return trans.__('Very high');
    case 'HIGH':
      return trans.__('High');
    case 'ABOVE_NORMAL':
      return trans.__('Above normal');
    case 'NORMAL':
      return trans.__('Normal');
    case 'BELOW_NORMAL':
      return trans.__('Below normal');
    case 'LOW':
      return trans.__('Low');
  }
}

/** What a task counts as now; `Auto · High` where it was chosen for it. */
export function priorityOf(task: Pick<ITaskSummary, 'priority' | 'effective_priority'>): string {
  const label = priorityLabel(task.priority);
  return task.priority === 'AUTO' && task.effective_priority
    ? `${label} · ${priorityLabel(task.effective_priority)}`
    : label;
}

/** Whether a task has no nodes and wants some. */
export function isWaiting(state: TaskState): boolean {
  return state === 'queued' || state === 'suspended';
}

/** The state in a word; a held waiting task is `queued, held`. */
export function stateLabel(task: Pick<ITaskSummary, 'state' | 'held'>): string {
  const state = stateWord(task.state);
  return task.held && isWaiting(task.state) ? trans.__('%1, held', state) : state;
}

function stateWord(state: TaskState): string {
  switch (state) {
    case 'queued':
      return trans._p('state', 'queued');
    case 'starting':
      return trans._p('state', 'starting');
    case 'running':
      return trans._p('state', 'running');
    case 'suspending':
      return trans._p('state', 'suspending');
    case 'suspended':
      return trans._p('state', 'suspended');
    case 'stopping':
      return trans._p('state', 'stopping');
    case 'succeeded':
      return trans._p('state', 'succeeded');
    case 'failed':
      return trans._p('state', 'failed');
    case 'stopped':
      return trans._p('state', 'stopped');
  }
}
