/** Lists of tasks as the platform finds, orders and pages them, for tests. */

import type { IApi } from '../api/client';
import type { ITaskSummary } from '../api/types';

const ENDED = ['succeeded', 'failed', 'stopped'];

/** Answers as `GET /tasks` does, as far as tests ask for it; the cursor is the place. */
export function taskPagesOf(tasks: () => readonly ITaskSummary[]): IApi['tasks'] {
  return async query => {
    const states = query.state?.split(',');
    const found = tasks().filter(
      task =>
        (states === undefined ||
          states.includes(task.state) ||
          (states.includes('live') && !ENDED.includes(task.state))) &&
        (query.text === undefined || `${task.name} ${task.id}`.includes(query.text)) &&
        (query.tag === undefined || task.tags.includes(query.tag)) &&
        (query.starred !== true || task.starred === true)
    );
    found.sort((a, b) => (query.sort === 'name' ? a.name.localeCompare(b.name) : a.id - b.id));
    if (query.order !== 'rising') {
      found.reverse();
    }
    const from = Number(query.cursor ?? 0);
    const to = from + (query.limit ?? 50);
    return {
      items: found.slice(from, to),
      next_cursor: to < found.length ? String(to) : null,
      total: query.total === true ? found.length : null,
      notes: []
    };
  };
}
