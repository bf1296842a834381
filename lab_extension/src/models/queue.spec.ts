import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IQueueTask } from '../api/types';
import { aQueueTask, FakeStream, queueOf } from '../testing/queue';
import { Feed } from './feed';
import { neighboursOf, PAGE, placeOf, QueueModel } from './queue';

describe('the queue', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is read in pages, each group as far as it was asked for', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const tasks = Array.from({ length: 50 }, (_, n) => aQueueTask(n + 1));
    const queue = vi.fn(queueOf(tasks));
    const model = new QueueModel({ queue, reorder: vi.fn() }, feed);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(model.groups.map(group => [group.items.length, group.next])).toEqual([[PAGE, PAGE]]);
    await model.more('training');
    await vi.advanceTimersByTimeAsync(10);
    expect(model.groups[0]!.items.map(task => task.task_id)).toEqual(tasks.slice(0, 40).map(t => t.task_id));
    await model.more('training');
    await vi.advanceTimersByTimeAsync(10);
    expect([model.groups[0]!.items.length, model.groups[0]!.next]).toEqual([50, null]);
    model.dispose();
    feed.dispose();
  });

  it('asks for the own tasks alone, and is read again after a move', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const queue = vi.fn(queueOf([aQueueTask(1), aQueueTask(2)]));
    const reorder = vi.fn(async () => ({}) as never);
    const model = new QueueModel({ queue, reorder }, feed, true);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(queue.mock.calls[0]![0]).toEqual({ limit: PAGE, mine: true });
    await model.move(2, { before: 1 });
    await vi.advanceTimersByTimeAsync(10);
    expect(reorder).toHaveBeenCalledExactlyOnceWith(2, { before: 1 });
    expect(queue).toHaveBeenCalledTimes(2);
    model.dispose();
    feed.dispose();
  });
});

describe('places among the own tasks', () => {
  const items: IQueueTask[] = [
    aQueueTask(1),
    aQueueTask(2, { user: 'bob', name: '' }),
    aQueueTask(3, { priority: 'LOW' }),
    aQueueTask(4)
  ];

  it('are beside tasks of the same user and priority', () => {
    const { before, after } = neighboursOf(items, items[3]!);
    expect([before?.task_id, after]).toEqual([1, null]);
    expect(neighboursOf(items, items[2]!)).toEqual({ before: null, after: null });
  });

  it('come from where a task is dropped', () => {
    expect(placeOf(items, 4, 1)).toEqual({ before: 1 });
    expect(placeOf(items, 1, 4)).toEqual({ after: 4 });
    expect(placeOf(items, 4, 2)).toBeNull();
    expect(placeOf(items, 4, 3)).toBeNull();
    expect(placeOf(items, 4, 4)).toBeNull();
  });
});
