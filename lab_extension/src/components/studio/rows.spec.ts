import { describe, expect, it } from 'vitest';
import { aTask, aWaitingTask } from '../../testing/fakes';
import { nextSort, rowsOf, sortOf } from './rows';
import { ROW, windowOf } from './VirtualTable';

const tasks = [
  aTask({ id: 1, name: 'b', priority: 'LOW', effective_priority: 'LOW' }),
  aWaitingTask(2, 1, { name: 'a' }),
  aTask({ id: 3, name: 'c', state: 'failed', ended_at: '2026-11-21T05:00:00Z' })
];
const ids = (query: Record<string, string>): number[] => rowsOf(tasks, query).map(task => task.id);

describe('the rows of an address', () => {
  it('are all tasks in the order of the model without a filter', () => {
    expect(ids({})).toEqual([1, 2, 3]);
    expect(ids({ state: 'nonsense', sort: 'nonsense' })).toEqual([1, 2, 3]);
  });

  it('are those with the state, the priority and the words', () => {
    expect(ids({ state: 'live' })).toEqual([1, 2]);
    expect(ids({ state: 'running' })).toEqual([1]);
    expect(ids({ state: 'waiting' })).toEqual([2]);
    expect(ids({ state: 'failed' })).toEqual([3]);
    expect(ids({ priority: 'LOW' })).toEqual([1]);
    expect(ids({ q: '#2', state: 'waiting' })).toEqual([2]);
  });

  it('are sorted as asked, priorities by their height', () => {
    expect(ids({ sort: 'name' })).toEqual([2, 1, 3]);
    expect(ids({ sort: '-name' })).toEqual([3, 1, 2]);
    expect(ids({ sort: 'priority' })[0]).toBe(1);
  });

  it('go up, down and back by clicks', () => {
    expect([
      nextSort(null, 'name'),
      nextSort(sortOf('name'), 'name'),
      nextSort(sortOf('-name'), 'name')
    ]).toEqual(['name', '-name', '']);
    expect(nextSort(sortOf('-name'), 'id')).toBe('id');
  });
});

describe('the rows that are drawn', () => {
  it('are those that can be seen and some beyond', () => {
    expect(windowOf(0, 300, 10_000)).toEqual([0, 22]);
    const [first, last] = windowOf(5_000 * ROW, 300, 10_000);
    expect([first, last]).toEqual([4_988, 5_022]);
    expect(windowOf(5_000 * ROW, 300, 10)).toEqual([10, 10]);
  });
});
