import { describe, expect, it } from 'vitest';
import { channelText, digestText, kindText, toldText } from './notifications';

const said = (sentence: string, params: Record<string, unknown>): string =>
  toldText({ sentence, params: { task: 41, name: 'train', ...params }, text: 'as the service says it' });

describe('notifications in words', () => {
  it.each([
    ['task.started', {}, 'Task 41 (train) has started.'],
    ['task.resumed', { run: 3 }, 'Task 41 (train) goes on: run 3 has started.'],
    [
      'task.broke',
      { reason: 'node_lost' },
      'Task 41 (train) was interrupted and goes on later: a node was lost.'
    ],
    ['task.succeeded', {}, 'Task 41 (train) has ended well.'],
    ['task.stopped', { reason: null }, 'Task 41 (train) has been stopped: no reason was kept.'],
    [
      'task.failed',
      { reason: 'failed', exit_codes: [1, 137] },
      'Task 41 (train) has failed: its command failed (status 1, 137).'
    ],
    [
      'task.failed',
      { reason: 'failed', exit_codes: [137], message: 'out of memory' },
      'Task 41 (train) has failed: its command failed (status 137: out of memory).'
    ],
    ['task.failed', { reason: 'failed', exit_codes: [] }, 'Task 41 (train) has failed: its command failed.'],
    ['task.waiting', { waited_s: 5400 }, 'Task 41 (train) has waited for 1 h 30 min.'],
    [
      'task.idle_gpus',
      { minutes: 30, ranks: [0, 1], of_ranks: 2 },
      'Task 41 (train): GPUs of all ranks have been idle for 30 min. Stop or suspend the task if it hangs.'
    ],
    [
      'task.idle_gpus',
      { minutes: 60, ranks: [1], of_ranks: 2 },
      'Task 41 (train): GPUs of rank 1 have been idle for 60 min. Stop or suspend the task if it hangs.'
    ],
    ['environment.built', { environment: 'users/ann/v' }, 'The environment users/ann/v is built (task 41).'],
    ['test', { user: 'ann' }, 'This is a test of notifications, asked for by ann.'],
    ['task.unheard_of', {}, 'as the service says it']
  ])('says %s with %j', (sentence, params, text) => {
    expect(said(sentence, params)).toBe(text);
  });

  it('says by when a task must leave in the reader’s time zone', () => {
    const deadline = '2026-11-21T04:00:00Z';
    const text = said('task.interrupted', { deadline, reason: 'turn_over' });
    expect(text).toMatch(
      /^Task 41 \(train\) must leave its nodes by .*\d\d:00:00 and goes on later: its turn/
    );
    expect(said('task.ending', { deadline, reason: 'time_limit' })).toMatch(/must end by .*: it reached/);
  });

  it('names channels and kinds', () => {
    expect(channelText('lab')).toBe('JupyterLab and Studio');
    expect(channelText('sink:ops')).toBe('ops');
    expect(kindText('failed')).toBe('A task has failed, with its last lines');
    expect(digestText(1200)).toBe('1,200 more notifications');
  });
});
