/** Waiting tasks and the queue, for tests. */

import type { IOperations } from '../api/operations';
import type { IQueueTask } from '../api/types';

export { FakeStream } from './fakes';

/** A task of alice's that waits; give what differs. */
export function aQueueTask(id: number, given: Partial<IQueueTask> = {}): IQueueTask {
  return {
    number: id,
    position: id,
    task_id: id,
    user: 'alice',
    name: `train-${id}`,
    priority: 'HIGH',
    asked: 'HIGH',
    nodes: 2,
    gpus: null,
    state: 'queued',
    submitted_at: '2026-11-21T04:00:00Z',
    waiting_since: '2026-11-21T04:00:00Z',
    short: {
      id: 'capacity',
      data: { nodes: 2, gpus: null, group: 'training' },
      until: null,
      words: 'waits for 2 nodes of training',
      text: 'waits for 2 nodes of training'
    },
    ...given
  };
}

/** The pages of a queue of one group, as the platform gives them. */
export function queueOf(tasks: readonly IQueueTask[]): IOperations['queue'] {
  return async ({ after = 0, limit = 50 }) => {
    const end = after + limit;
    const group = {
      group: 'training',
      waiting: tasks.length,
      held: 0,
      items: tasks.slice(after, end),
      next: end < tasks.length ? end : null
    };
    return { at: '2026-11-21T04:00:00Z', groups: tasks.length === 0 ? [] : [group] };
  };
}
