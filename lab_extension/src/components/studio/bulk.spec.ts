import { describe, expect, it, vi } from 'vitest';
import { aTask, aWaitingTask } from '../../testing/fakes';
import { actOnAll, commandOf, resultText, stopAll, suits } from './bulk';

describe('one action on several tasks', () => {
  it('is for those for which it makes sense', () => {
    expect(suits('suspend', aTask())).toBe(true);
    expect(suits('suspend', aWaitingTask(1, 1))).toBe(false);
    expect(suits('resume', aWaitingTask(1, null, { held: true }))).toBe(true);
    expect(suits('hold', aWaitingTask(1, null, { held: true }))).toBe(false);
    expect(suits('stop', aTask({ state: 'failed' }))).toBe(false);
    expect(suits('stop', aTask({ state: 'stopping' }))).toBe(false);
  });

  it('is asked for as many at once as the service takes, and has a result for each', async () => {
    const actions = vi.fn(async (_: string, ids: readonly number[]) => ({
      items: ids.map(id => ({
        task: String(id),
        task_id: id === 7 ? null : id,
        state: id === 7 ? null : ('stopping' as const),
        held: false,
        code: id === 7 ? 'conflict' : null,
        detail: id === 7 ? 'It has ended.' : null
      })),
      done: ids.length,
      refused: 0
    }));
    const tasks = Array.from({ length: 250 }, (_, n) => aTask({ id: n + 1, name: `t${n + 1}` }));
    const outcomes = await actOnAll({ actions }, 'stop', tasks);
    expect(actions.mock.calls.map(([, ids]) => ids.length)).toEqual([200, 50]);
    expect(outcomes).toHaveLength(250);
    expect(outcomes[0]).toMatchObject({ now: { id: 1, state: 'stopping' }, text: 't1 (#1): stopping' });
    expect(outcomes[6]).toMatchObject({ now: null, text: 't7 (#7): It has ended.' });
    expect(resultText('stop', outcomes)).toBe('Stopping 249 tasks. 1 task was refused.');
  });

  it('goes on after a request that failed', async () => {
    const actions = vi.fn(async () => Promise.reject(new Error('The service is away.')));
    const outcomes = await actOnAll({ actions }, 'hold', [aTask({ id: 1, name: 'a' })]);
    expect(outcomes.map(each => each.text)).toEqual([expect.stringContaining('The service is away.')]);
    expect(resultText('hold', outcomes)).toBe('1 task was refused.');
  });

  it('is a command where the command has the same filters', () => {
    expect(commandOf({ tag: 'sweep', q: "it's 1", state: 'waiting', starred: '1', sort: 'name' })).toBe(
      `hai stop --tag=sweep '--text=it'"'"'s 1' --state=queued,suspended --starred`
    );
    // The command takes unfinished ones by itself.
    expect(commandOf({ tag: 'sweep', state: 'live' })).toBe('hai stop --tag=sweep');
    const without = [{}, { state: 'live' }, { tag: 'a', group: 'b' }, { tag: 'a', whose: 'all' }];
    expect([...without, { tag: 'a', state: 'failed' }, { tag: 'a', priority: 'LOW' }].map(commandOf)).toEqual(
      new Array(6).fill(null)
    );
  });

  it('asks before it stops, with the names of all', () => {
    const tasks = Array.from({ length: 7 }, (_, n) => aTask({ id: n + 1, name: `t${n}` }));
    const question = stopAll(tasks);
    expect(question.title).toBe('Stop 7 tasks?');
    expect(question.details![0]!.lines).toHaveLength(7);
    expect(question.details![0]!.lines[4]).toBe('t4 (#5)');
  });
});
