import { describe, expect, it, vi } from 'vitest';
import { aTask, aWaitingTask } from '../../testing/fakes';
import { actOnAll, resultText, stopAll, suits } from './bulk';

describe('one action on several tasks', () => {
  it('is for those for which it makes sense', () => {
    expect(suits('suspend', aTask())).toBe(true);
    expect(suits('suspend', aWaitingTask(1, 1))).toBe(false);
    expect(suits('resume', aWaitingTask(1, null, { held: true }))).toBe(true);
    expect(suits('hold', aWaitingTask(1, null, { held: true }))).toBe(false);
    expect(suits('stop', aTask({ state: 'failed' }))).toBe(false);
    expect(suits('stop', aTask({ state: 'stopping' }))).toBe(false);
  });

  it('is done some at a time, and says what went wrong', async () => {
    let [now, most] = [0, 0];
    const act = vi.fn(async (id: number) => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now -= 1;
      if (id === 7) {
        throw new Error('It has ended.');
      }
      return aTask({ id });
    });
    const tasks = Array.from({ length: 10 }, (_, n) => aTask({ id: n + 1 }));
    const result = await actOnAll({ act }, 'stop', tasks);
    expect(most).toBe(3);
    expect(result.done).toHaveLength(9);
    expect(resultText('stop', result)).toBe('Stopping 9 tasks. Task 7: It has ended.');
  });

  it('asks before it stops, with the names of the first ones', () => {
    const tasks = Array.from({ length: 7 }, (_, n) => aTask({ id: n + 1, name: `t${n}` }));
    const question = stopAll(tasks);
    expect(question.title).toBe('Stop 7 tasks?');
    expect(question.body).toContain('t4 (#5) and 2 more.');
  });
});
