import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IEvent, ITaskSummary } from '../api/types';
import { aTask, anEvent, aWaitingTask, FakeStream, pagesOf } from '../testing/fakes';
import { Feed } from './feed';
import { compareTasks, TasksModel } from './tasks';

describe('the order of tasks', () => {
  it('is running, waiting by place in line, held, then ended with the latest first', () => {
    const ended = (id: number, at: string): ITaskSummary => aTask({ id, state: 'succeeded', ended_at: at });
    const tasks = [
      ended(1, '2026-11-20T00:00:00Z'),
      aWaitingTask(2, 2),
      aWaitingTask(3, 1, { state: 'suspended' }),
      aWaitingTask(4, null, { held: true }),
      aTask({ id: 5 }),
      ended(6, '2026-11-21T00:00:00Z'),
      aTask({ id: 7, state: 'suspending' })
    ];
    expect(tasks.sort(compareTasks).map(task => task.id)).toEqual([7, 5, 3, 2, 4, 6, 1]);
  });
});

describe('the tasks model', () => {
  let stream: FakeStream;
  let feed: Feed;
  let all: ITaskSummary[];
  let model: TasksModel;
  const api = { tasks: vi.fn<TasksModel['api']['tasks']>(), task: vi.fn<TasksModel['api']['task']>() };

  beforeEach(async () => {
    vi.useFakeTimers();
    stream = new FakeStream();
    feed = new Feed({ events: () => stream });
    feed.start();
    all = [aTask({ id: 1, state: 'failed', ended_at: '2026-11-21T04:00:00Z' }), aTask({ id: 2 })];
    api.tasks.mockReset().mockImplementation(query => pagesOf(all)(query));
    api.task.mockReset().mockImplementation(async id => all.find(task => task.id === id) as never);
    model = new TasksModel(api, feed, 5_000);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
  });

  afterEach(() => {
    model.dispose();
    feed.dispose();
    vi.useRealTimers();
  });

  const happen = async (...events: IEvent[]): Promise<void> => {
    events.forEach(event => stream.send(event.kind, event, String(event.seq)));
    await vi.advanceTimersByTimeAsync(50);
  };

  it('lists unfinished and recent tasks', () => {
    expect(model.items.map(task => task.id)).toEqual([2, 1]);
    expect(model.ready).toBe(true);
  });

  it('reads all pages of a thousand tasks with few requests', async () => {
    all = Array.from({ length: 1000 }, (_, i) => aWaitingTask(i + 1, i + 1));
    api.tasks.mockClear();
    await model.refresh();
    await vi.advanceTimersByTimeAsync(10);
    expect(model.items).toHaveLength(1000);
    expect(api.tasks.mock.calls.length).toBeLessThanOrEqual(6);
  });

  it('reads only the changed task after an event', async () => {
    await happen(anEvent(1, 'hello'));
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
    all[1] = aTask({ id: 2, state: 'suspending' });
    await happen(anEvent(2, 'task.state', 2));
    expect(api.task).toHaveBeenCalledExactlyOnceWith(2);
    expect(api.tasks).not.toHaveBeenCalled();
    expect(model.items[0]).toMatchObject({ id: 2, state: 'suspending' });
  });

  it('makes a storm of events few readings', async () => {
    await happen(anEvent(1, 'hello'));
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
    api.task.mockClear();
    await happen(...Array.from({ length: 1000 }, (_, i) => anEvent(i + 2, 'task.state', i + 1)));
    await vi.advanceTimersByTimeAsync(1_500);
    expect(api.tasks.mock.calls.length + api.task.mock.calls.length).toBeLessThanOrEqual(12);
  });

  it('keeps the object of a task that has not changed, so that its row is not drawn again', async () => {
    const before = model.items[0];
    all = all.map(task => structuredClone(task));
    await model.refresh();
    await vi.advanceTimersByTimeAsync(10);
    expect(model.items[0]).toBe(before);
  });

  it('falls back to its timer without a live connection, and says what is wrong', async () => {
    api.tasks.mockRejectedValue(new Error('It is away.'));
    await vi.advanceTimersByTimeAsync(6_000);
    expect(model.error).toBe('It is away.');
    expect(model.items).toHaveLength(2);
    api.tasks.mockImplementation(query => pagesOf([...all, aTask({ id: 3 })])(query));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(model.error).toBeNull();
    expect(model.items).toHaveLength(3);
  });

  it('reads everything when the connection is live again', async () => {
    api.tasks.mockClear();
    stream.send('hello', { seq: 1 });
    await vi.advanceTimersByTimeAsync(50);
    expect(api.tasks).toHaveBeenCalled();
  });

  it('tells one failure where all requests fail; vitest reports one that nothing handles', async () => {
    // Not a mock: that would handle the failure itself.
    const away = { tasks: () => Promise.reject(new Error('The login has ended.')), task: api.task };
    const refused = new TasksModel(away, feed, 5_000);
    void refused.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(refused.error).toBe('The login has ended.');
    refused.dispose();
    vi.useRealTimers();
    await new Promise(resolve => setTimeout(resolve, 0));
  });

  it('shows the first of many pages before the last has come', async () => {
    all = Array.from({ length: 450 }, (_, n) => aTask({ id: n + 1 }));
    const many = new TasksModel(api, feed, 5_000);
    const seen: number[] = [];
    many.changed.connect(() => void seen.push(many.items.length));
    void many.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual([200, 400, 450]);
    many.dispose();
  });
});
