/** Which tasks a table shows, and in which order: both are in the address, and the service finds them. Pure functions. */

import type { ITaskQuery } from '../../api/client';
import { AUTO, PRIORITIES } from '../../api/constants';
import { TASK_SORTS, type TaskSort } from '../../api/operations';
import type { PriorityChoice } from '../../api/types';
import type { Query } from './router';

/** Groups of states that are chosen with one word, as the service names them. */
export const STATES = {
  live: 'live',
  running: 'starting,running,suspending,stopping',
  waiting: 'queued,suspended',
  ended: 'succeeded,failed,stopped',
  failed: 'failed'
} as const;

export type StateChoice = keyof typeof STATES;

/** What can be asked for, the highest first. */
export const PRIORITY_CHOICES: readonly PriorityChoice[] = [AUTO, ...PRIORITIES];

/** The words of an address that filter. */
export const FILTERS = ['q', 'state', 'priority', 'group', 'tag', 'starred'] as const;

export interface ISort {
  by: string;
  down: boolean;
}

/** The order that an address asks for: `name`, or `-name` with the last one first; null: the newest first. */
export function sortOf(text: string | undefined): ISort | null {
  const by = (text ?? '').replace(/^-/, '');
  return (TASK_SORTS as readonly string[]).includes(by) ? { by, down: text?.startsWith('-') === true } : null;
}

/** The next order after a click on a column: up, down, as before. */
export function nextSort(sort: ISort | null, by: string): string {
  if (sort?.by !== by) {
    return by;
  }
  return sort.down ? '' : `-${by}`;
}

/** What the service is asked for; words of the address that say nothing are left out. */
export function taskQuery(query: Query, all: boolean): ITaskQuery {
  const { q, state, priority, group, tag } = query;
  const sort = sortOf(query.sort);
  return {
    ...(all ? { user: '*' } : {}),
    ...(q === undefined ? {} : { text: q.trim().replace(/^#(?=\d+$)/, '') }),
    ...(state !== undefined && state in STATES ? { state: STATES[state as StateChoice] } : {}),
    ...(isPriority(priority) ? { priority } : {}),
    ...(group === undefined ? {} : { group }),
    ...(tag === undefined ? {} : { tag }),
    ...(query.starred === undefined ? {} : { starred: true }),
    ...(sort === null ? {} : { sort: sort.by as TaskSort, order: sort.down ? 'falling' : 'rising' })
  };
}

function isPriority(text: string | undefined): text is PriorityChoice {
  return (PRIORITY_CHOICES as readonly (string | undefined)[]).includes(text);
}

/** Tags as a user writes them: between commas, each once. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split(/[,，]/).map(tag => tag.trim()))].filter(tag => tag !== '');
}
