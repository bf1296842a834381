import { describe, expect, it } from 'vitest';
import { nextSort, sortOf, tagsOf, taskQuery } from './rows';
import { ROW, windowOf } from './VirtualTable';

describe('what an address asks the service for', () => {
  it('is everything of the user, the newest first, where it says nothing', () => {
    expect(taskQuery({}, false)).toEqual({});
    expect(taskQuery({ state: 'nonsense', sort: 'nonsense', priority: 'nonsense' }, false)).toEqual({});
  });

  it('is what the filters say', () => {
    expect(
      taskQuery(
        { q: ' vit ', state: 'waiting', priority: 'LOW', group: 'eval', tag: 'nightly', starred: '1' },
        true
      )
    ).toEqual({
      user: '*',
      text: 'vit',
      state: 'queued,suspended',
      priority: 'LOW',
      group: 'eval',
      tag: 'nightly',
      starred: true
    });
    expect(taskQuery({ q: '#41' }, false)).toEqual({ text: '41' });
  });

  it('is the order of a column', () => {
    expect(taskQuery({ sort: 'name' }, false)).toEqual({ sort: 'name', order: 'rising' });
    expect(taskQuery({ sort: '-ran' }, false)).toEqual({ sort: 'ran', order: 'falling' });
  });

  it('goes up, down and back by clicks', () => {
    expect([
      nextSort(null, 'name'),
      nextSort(sortOf('name'), 'name'),
      nextSort(sortOf('-name'), 'name')
    ]).toEqual(['name', '-name', '']);
    expect(nextSort(sortOf('-name'), 'id')).toBe('id');
  });
});

describe('tags as they are written', () => {
  it('are between commas, each once', () => {
    expect(tagsOf(' nightly, big run,nightly ,,')).toEqual(['nightly', 'big run']);
    expect(tagsOf('  ')).toEqual([]);
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
