/** Why a task waits, in a few words. The ids are those of the service (`core/explaining/short.py`). */

import type { IShortWait } from '../api/types';
import { size } from './format';
import { trans } from './translate';
import { priorityLabel } from './words';

/** What the words of an id need. */
interface IGiven {
  /** `2 nodes of training`. */
  gang: string;
  data: IShortWait['data'];
}

const WORDS: Record<string, (given: IGiven) => string> = {
  quota: ({ data }) => quotaText(data),
  quota_of_others: () => trans.__('waits for quota'),
  capacity: ({ gang }) => trans.__('waits for %1', gang),
  turn: ({ gang }) => trans.__('waits for its turn on %1', gang),
  reserved: ({ gang, data }) =>
    isNumber(data.first)
      ? trans.__('waits for %1, after task %2', gang, data.first)
      : trans.__('waits for %1, after a task that goes first', gang),
  draining: ({ gang }) => trans.__('starts when it has %1', gang),
  topology: ({ gang }) => trans.__('waits for %1 close together', gang),
  retry: ({ data }) =>
    isNumber(data.retry) && isNumber(data.of)
      ? trans.__('waits for retry %1 of %2', data.retry, data.of)
      : trans.__('waits for its next start'),
  held: () => trans.__('held by its owner'),
  paused: () => trans.__('waits: the platform is paused'),
  never: ({ gang }) => trans.__('can never start with %1', gang),
  next: () => trans.__('will be looked at in a moment')
};

/** `waits for 2 nodes of training`, without the time; what a newer service says is shown as it is. */
export function waitText(short: IShortWait): string {
  const { nodes, gpus, group } = short.data;
  const gang =
    isNumber(nodes) && typeof group === 'string'
      ? trans.__('%1 of %2', size({ nodes, gpus: isNumber(gpus) ? gpus : null }), group)
      : '';
  return WORDS[short.id]?.({ gang, data: short.data }) ?? short.text;
}

function quotaText(data: IShortWait['data']): string {
  const { used, limit, level } = data;
  if (!isNumber(used) || !isNumber(limit) || typeof level !== 'string') {
    return trans.__('waits for quota');
  }
  return trans.__(
    'waits for quota: %1 of %2 nodes are in use at %3',
    Math.round(used * 100) / 100,
    limit,
    priorityLabel(level as Parameters<typeof priorityLabel>[0])
  );
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}
