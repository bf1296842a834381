import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IDecision, IExplanation, ITaskDetail } from '../api/types';
import { aChange, aDecision, aTask, aWaitingTask, FakeStream } from '../testing/fakes';
import { Feed } from './feed';
import { TaskModel } from './task';

const SHARE = {
  user: 'ann',
  node_group: 'training',
  given: 0.62,
  weight: 1,
  weights: 4,
  entitled: 0.25,
  users_before: 2,
  sentence: 'ann has had 62 % of the recent use.'
};

describe('the model of a task', () => {
  let task: ITaskDetail;
  let decisions: IDecision[];
  let feed: Feed;
  let model: TaskModel;
  const api = {
    task: vi.fn(async () => task),
    explain: vi.fn(async (): Promise<IExplanation> => ({
      task_id: 41,
      state: task.state,
      sentence: '',
      verdict: task.verdict,
      ahead: 0,
      what_if: [aChange()],
      share: SHARE,
      budgets: ['group cv has used 5 of 5 GPU hours']
    })),
    decisions: vi.fn(async (_: number, after: number, limit: number) => ({
      items: decisions.filter(each => each.seq > after).slice(0, limit)
    })),
    act: vi.fn(),
    setPriority: vi.fn(),
    metrics: vi.fn(async () => ({
      step: 10,
      units: { job_loss: '' },
      runs: [
        {
          run: 1,
          started_at: '2026-11-21T04:00:00Z',
          running_at: null,
          noticed_at: null,
          ended_at: null,
          ranks: [
            {
              rank: 0,
              node: 'n-1',
              at: [10, 20],
              least: {},
              mean: { job_loss: [2, 1] },
              greatest: {}
            }
          ]
        }
      ]
    }))
  };

  beforeEach(() => {
    vi.clearAllMocks();
    task = aWaitingTask(41, 1);
    decisions = [aDecision(3, 'Needs 2 nodes.')];
    feed = new Feed({ events: () => new FakeStream() });
    model = new TaskModel(41, api, feed);
  });

  afterEach(() => {
    model.dispose();
    feed.dispose();
  });

  it('asks what would let a task start while it waits, and forgets it when it runs', async () => {
    void model.refresh();
    await vi.waitFor(() => expect(model.whatIf.map(each => each.kind)).toEqual(['PRIORITY']));
    expect(model.facts).toEqual(['group cv has used 5 of 5 GPU hours', SHARE.sentence]);
    task = aTask({ id: 41 });
    void model.refresh();
    await vi.waitFor(() => expect(model.whatIf).toEqual([]));
    expect(model.facts).toEqual([]);
    expect(api.explain).toHaveBeenCalledTimes(1);
  });

  it('shows the task before it is known what would let it start', async () => {
    let explained = (): void => undefined;
    api.explain.mockImplementationOnce(
      () =>
        new Promise(resolve => {
          explained = () =>
            resolve({
              task_id: 41,
              state: 'queued',
              sentence: '',
              verdict: null,
              ahead: 0,
              what_if: [],
              share: null,
              budgets: []
            });
        })
    );
    const shown = new Promise(resolve => model.changed.connect(() => resolve(model.task?.id)));
    void model.refresh();
    await expect(shown).resolves.toBe(41);
    explained();
  });

  it('reads the numbers of a job that reports, and not at each look', async () => {
    task = aTask({ id: 41 });
    void model.refresh();
    await vi.waitFor(() => expect(model.ready).toBe(true));
    expect(api.metrics).not.toHaveBeenCalled();
    task = aTask({ id: 41, progress: { step: 1, total: 2, at: '2026-11-21T04:00:00Z', left_s: null } });
    void model.refresh();
    await vi.waitFor(() => expect(model.curves.map(({ name, last }) => [name, last])).toEqual([['loss', 1]]));
    const readings = api.task.mock.calls.length;
    void model.refresh();
    await vi.waitFor(() => expect(api.task.mock.calls.length).toBeGreaterThan(readings));
    expect(api.metrics).toHaveBeenCalledTimes(1);
    expect(api.metrics).toHaveBeenCalledWith(41, {
      ranks: Array.from({ length: 16 }, (_, n) => n),
      names: ['job_*']
    });
  });

  it('reads decisions only when the decision log is open, and each once', async () => {
    const seqs = (): number[] => model.decisions.map(each => each.seq);
    void model.refresh();
    await vi.waitFor(() => expect(model.ready).toBe(true));
    expect(api.decisions).not.toHaveBeenCalled();
    model.showDecisions(true);
    await vi.waitFor(() => expect(seqs()).toEqual([3]));
    decisions.push(aDecision(9, 'Run 1 starts on n-1.', 'task.state'));
    void model.refresh();
    await vi.waitFor(() => expect(seqs()).toEqual([3, 9]));
    expect(api.decisions).toHaveBeenLastCalledWith(41, 3, 1000);
    model.showDecisions(false);
    const readings = api.task.mock.calls.length;
    void model.refresh();
    await vi.waitFor(() => expect(api.task.mock.calls.length).toBeGreaterThan(readings));
    expect(api.decisions).toHaveBeenCalledTimes(2);
  });
});
