import { describe, expect, it } from 'vitest';
import type { ITaskDetail } from '../../api/types';
import { aTask } from '../../testing/fakes';
import { ASKED_FIELDS, SUBMIT_FIELDS } from '../../text/askedFields';
import type { IAskedField, Said } from '../../text/askedField';
import { factsOf } from './Compare';

/** A value of a field that is not the usual one. */
function another(field: IAskedField): Said {
  switch (field.kind) {
    case 'flag':
      return field.default !== true;
    case 'number':
    case 'length':
      return Number(field.default ?? 0) + 1;
    default:
      return 'another';
  }
}

/** Another value of each field of a submission that is compared. */
const COMPARED: Partial<ITaskDetail> = {
  name: 'other',
  command: ['other'],
  cwd: '/other',
  nodes: 5,
  gpus: 3,
  priority: 'LOW',
  effective_priority: 'LOW',
  group: 'other',
  env: { OTHER: '1' },
  environment: 'other',
  secrets: ['OTHER'],
  snapshot: { digest: 'e'.repeat(64), files: 1, size: 2, commit: null, dirty: false },
  ...Object.fromEntries(ASKED_FIELDS.map(field => [field.name, another(field)]))
};
/** Those that say little of why one task did better than another. */
const LEFT_OUT = [
  'profile',
  'signal',
  'grace_s',
  'time_limit_s',
  'checkpoint_dir',
  'watch',
  'tags',
  'retry_backoff_s',
  'retry_exit_codes',
  'ranks_per_node'
];

describe('tasks that are compared', () => {
  it('are compared by every field of a submission, or it is left out here', () => {
    const known = SUBMIT_FIELDS.filter(name => name in aTask() && !LEFT_OUT.includes(name));
    expect(known.filter(name => !(name in COMPARED))).toEqual([]);
  });

  it.each(Object.keys(COMPARED).filter(name => name !== 'effective_priority'))('differ by %s', name => {
    const { effective_priority, ...others } = COMPARED;
    const value = others[name as keyof typeof others];
    const priority = name === 'priority' ? { effective_priority } : {};
    expect(factsOf(aTask({ [name]: value, ...priority } as Partial<ITaskDetail>))).not.toEqual(
      factsOf(aTask())
    );
  });
});
