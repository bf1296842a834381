import { describe, expect, it } from 'vitest';
import type { IShortWait } from '../api/types';
import { waitText } from './waits';

function short(id: string, data: Record<string, unknown> = {}): IShortWait {
  return {
    id: id as IShortWait['id'],
    data: { nodes: 2, gpus: null, group: 'training', ...data },
    until: null,
    text: 'as the service says it'
  };
}

describe('why a task waits', () => {
  it('is said in a few words, from the data of the service', () => {
    expect(waitText(short('capacity'))).toBe('waits for 2 nodes of training');
    expect(waitText(short('turn', { nodes: 1, gpus: 4 }))).toBe(
      'waits for its turn on 1 node × 4 GPUs of training'
    );
    expect(waitText(short('reserved', { first: 7 }))).toBe('waits for 2 nodes of training, after task 7');
    expect(waitText(short('quota', { used: 1.5, limit: 2, level: 'VERY_HIGH' }))).toBe(
      'waits for quota: 1.5 of 2 nodes are in use at Very high'
    );
    expect(waitText(short('quota_of_others'))).toBe('waits for quota');
    expect(waitText(short('retry', { retry: 1, of: 3 }))).toBe('waits for retry 1 of 3');
    expect(waitText(short('retry'))).toBe('waits for its next start');
  });

  it('is what a newer service says where the id is unknown here', () => {
    expect(waitText(short('budget'))).toBe('as the service says it');
  });
});
