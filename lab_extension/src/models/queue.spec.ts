import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IQueueTask } from '../api/types';
import { anEvent } from '../testing/fakes';
import { aQueueTask, FakeStream, queueOf } from '../testing/queue';
import { Feed } from './feed';
import { isPartlyFixed, moved, neighboursOf, PAGE, placeOf, QueueModel } from './queue';

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

  it('is read once more when the plan is from before the event', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    feed.start();
    const at: string[] = [];
    const queue = vi.fn(async (query: Parameters<ReturnType<typeof queueOf>>[0]) => ({
      ...(await queueOf([aQueueTask(1)])(query)),
      at: at.shift() ?? '2026-11-21T03:59:59Z'
    }));
    const model = new QueueModel({ queue, reorder: vi.fn() }, feed, false, 60_000);
    void model.start();
    stream.send('hello', { seq: 8 });
    await vi.advanceTimersByTimeAsync(3_000);
    const before = queue.mock.calls.length;
    // The event is of 04:00:00.
    at.push('2026-11-21T03:59:59Z', '2026-11-21T04:00:01Z');
    stream.send('task.submitted', anEvent(9, 'task.submitted', 1), '9');
    await vi.advanceTimersByTimeAsync(9_000);
    expect(model.plannedAt).toBe('2026-11-21T04:00:01Z');
    expect(queue).toHaveBeenCalledTimes(before + 2);
    model.dispose();
    feed.dispose();
  });

  it('asks for the own tasks alone', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const queue = vi.fn(queueOf([aQueueTask(1), aQueueTask(2)]));
    const model = new QueueModel({ queue, reorder: vi.fn() }, feed, true);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    expect(queue.mock.calls[0]![0]).toEqual({ limit: PAGE, mine: true });
    model.dispose();
    feed.dispose();
  });

  it('shows a move at once, until a plan knows of it, and after that what the plan says', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    feed.start();
    let [tasks, at] = [[aQueueTask(1), aQueueTask(2), aQueueTask(3)], '2026-11-21T04:00:00Z'];
    const queue = vi.fn(async (query: Parameters<ReturnType<typeof queueOf>>[0]) => ({
      ...(await queueOf(tasks)(query)),
      at
    }));
    const reorder = vi.fn(async () => ({}) as never);
    const model = new QueueModel({ queue, reorder }, feed);
    const order = (): number[] => model.groups[0]!.items.map(task => task.task_id);
    void model.start();
    stream.send('hello', { seq: 8 });
    await vi.advanceTimersByTimeAsync(10);
    // A plan that was made shortly before the move is read after it, and so is one that was made in the same moment.
    at = '2026-11-21T03:59:59.9Z';
    await model.move(3, { before: 1 });
    expect(order()).toEqual([3, 1, 2]);
    expect(model.groups[0]!.items.map(task => task.position)).toEqual([1, 2, 3]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(queue.mock.calls.length).toBeGreaterThan(1);
    expect(order()).toEqual([3, 1, 2]);
    at = '2026-11-21T04:00:00.1Z';
    stream.send('task.order', anEvent(9, 'task.order', 3), '9');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(model.plannedAt).toBe(at);
    expect(order()).toEqual([3, 1, 2]);
    at = '2026-11-21T04:00:03Z';
    tasks = [aQueueTask(3), aQueueTask(2), aQueueTask(1)];
    await vi.advanceTimersByTimeAsync(3_000);
    expect(order()).toEqual([3, 2, 1]);
    model.dispose();
    feed.dispose();
  });

  it('shows what the plan says some seconds after a move whose event was not heard', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const tasks = [aQueueTask(1), aQueueTask(2)];
    const model = new QueueModel({ queue: queueOf(tasks), reorder: vi.fn(async () => ({}) as never) }, feed);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    await model.move(2, { before: 1 });
    await vi.advanceTimersByTimeAsync(4_500);
    expect(model.groups[0]!.items[0]!.task_id).toBe(2);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(model.groups[0]!.items[0]!.task_id).toBe(1);
    model.dispose();
    feed.dispose();
  });

  it('is as it was after a move that was refused', async () => {
    const feed = new Feed({ events: () => new FakeStream() });
    const reorder = vi.fn(async () => Promise.reject(new Error('Task 2 is running.')));
    const model = new QueueModel({ queue: queueOf([aQueueTask(1), aQueueTask(2)]), reorder }, feed);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    await expect(model.move(2, { before: 1 })).rejects.toThrow('Task 2 is running.');
    expect(model.groups[0]!.items[0]!.task_id).toBe(1);
    model.dispose();
    feed.dispose();
  });
});

describe('places among the own tasks', () => {
  const items: IQueueTask[] = [
    aQueueTask(1),
    aQueueTask(2, { user: 'bob', name: '' }),
    aQueueTask(3, { priority: 'LOW', asked: 'LOW' }),
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

  it('leave tasks of others and of other priorities where they are', () => {
    expect(moved(items, 4, { before: 1 }).map(task => [task.task_id, task.position])).toEqual([
      [4, 1],
      [2, 2],
      [3, 3],
      [1, 4]
    ]);
    expect(moved(items, 4, { after: 99 })).toEqual(items);
  });

  it('are not between a task that asks for Auto and one that asks for a level', () => {
    const some = [aQueueTask(1), aQueueTask(2, { asked: 'AUTO' }), aQueueTask(3)];
    expect(neighboursOf(some, some[1]!)).toEqual({ before: null, after: null });
    expect(neighboursOf(some, some[0]!).after?.task_id).toBe(3);
    expect(placeOf(some, 2, 1)).toBeNull();
    expect(isPartlyFixed(some, 'alice')).toBe(true);
    expect(isPartlyFixed(some, 'bob')).toBe(false);
    expect(isPartlyFixed([some[0]!, some[2]!], 'alice')).toBe(false);
  });

  it('are not between those that wait for a turn and those that are held', () => {
    const some = [aQueueTask(1), aQueueTask(2), aQueueTask(3, { position: null })];
    expect(neighboursOf(some, some[1]!).after).toBeNull();
    expect(placeOf(some, 3, 1)).toBeNull();
  });
});
