/** Which tasks a table shows, and in which order: both are in the address. Pure functions. */

import type { ITaskSummary, TaskState } from '../../api/types';
import { isUnfinished } from '../../text/format';
import { isWaiting } from '../../text/words';
import { filterTasks } from '../overview/TaskList';
import type { Query } from './router';

/** Groups of states that are chosen with one word. */
export const STATES = {
  live: isUnfinished,
  running: (state: TaskState) => isUnfinished(state) && !isWaiting(state),
  waiting: isWaiting,
  ended: (state: TaskState) => !isUnfinished(state),
  failed: (state: TaskState) => state === 'failed'
} as const;

export type StateChoice = keyof typeof STATES;

const PRIORITIES = ['LOW', 'BELOW_NORMAL', 'NORMAL', 'ABOVE_NORMAL', 'HIGH', 'VERY_HIGH', 'EXTREME_HIGH'];

/** What the columns are sorted by; texts by the alphabet, `null` last. */
const KEYS: Record<string, (task: ITaskSummary) => string | number | null> = {
  id: task => task.id,
  name: task => task.name.toLowerCase(),
  user: task => task.user,
  state: task => task.state,
  priority: task => PRIORITIES.indexOf(task.effective_priority ?? task.priority),
  group: task => task.group,
  nodes: task => task.nodes,
  served: task => task.served_s,
  since: task => Date.parse(task.ended_at ?? task.running_since ?? task.submitted_at)
};

export interface ISort {
  by: string;
  down: boolean;
}

/** The order that an address asks for: `name`, or `-name` with the last one first; null: as the model has it. */
export function sortOf(text: string | undefined): ISort | null {
  const by = (text ?? '').replace(/^-/, '');
  return by in KEYS ? { by, down: text?.startsWith('-') === true } : null;
}

/** The next order after a click on a column: up, down, as before. */
export function nextSort(sort: ISort | null, by: string): string {
  if (sort?.by !== by) {
    return by;
  }
  return sort.down ? '' : `-${by}`;
}

/** The tasks that an address asks for, in its order. */
export function rowsOf(tasks: readonly ITaskSummary[], query: Query): readonly ITaskSummary[] {
  const { q = '', state, priority } = query;
  const matches = state !== undefined && state in STATES ? STATES[state as StateChoice] : null;
  let rows = filterTasks(tasks, q);
  if (matches !== null || priority !== undefined) {
    rows = rows.filter(
      task =>
        (matches === null || matches(task.state)) &&
        (priority === undefined || (task.effective_priority ?? task.priority) === priority)
    );
  }
  const sort = sortOf(query.sort);
  const key = sort && KEYS[sort.by];
  return key ? sorted(rows, key, sort.down) : rows;
}

function sorted(
  rows: readonly ITaskSummary[],
  key: (task: ITaskSummary) => string | number | null,
  down: boolean
): readonly ITaskSummary[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    if (one === other) {
      return b.id - a.id;
    }
    if (one === null || other === null) {
      return one === null ? 1 : -1;
    }
    return (one < other ? -1 : 1) * sign;
  });
}
