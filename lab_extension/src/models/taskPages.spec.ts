import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ITaskDetail } from '../api/types';
import { anEvent, aTask, FakeStream } from '../testing/fakes';
import { taskPagesOf } from '../testing/taskPages';
import { Feed } from './feed';
import { PAGE, TaskPagesModel } from './taskPages';

describe('tasks in pages', () => {
  let all: ITaskDetail[];
  let stream: FakeStream;
  let feed: Feed;
  let model: TaskPagesModel;
  const api = {
    tasks: vi.fn<ReturnType<typeof taskPagesOf>>(),
    task: vi.fn(async (id: number) => ({ ...all.find(task => task.id === id)!, use: null, starred: null })),
    operations: {
      setTags: vi.fn(async (id: number, tags: readonly string[]) => aTask({ id, tags: [...tags] })),
      setStar: vi.fn(async (id: number) => aTask({ id }))
    }
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    all = Array.from({ length: 1_000 }, (_, n) => aTask({ id: n + 1, name: `t${n + 1}` }));
    api.tasks.mockReset().mockImplementation(query => taskPagesOf(() => all)(query));
    api.task.mockClear();
    stream = new FakeStream();
    feed = new Feed({ events: () => stream });
    feed.start();
    model = new TaskPagesModel(api, feed, {}, 60_000);
    void model.start();
    stream.send('hello', { seq: 0 });
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
  });
  afterEach(() => {
    model.dispose();
    feed.dispose();
    vi.useRealTimers();
  });

  const ids = (): number[] => model.items.map(task => task.id);

  it('are read as far as they are looked at, and their number is known at once', async () => {
    expect([model.items.length, model.total, model.pending]).toEqual([PAGE, 1_000, false]);
    model.need(60);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(api.tasks).not.toHaveBeenCalled();
    model.need(450);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(api.tasks).toHaveBeenCalledTimes(2);
    expect(ids()).toEqual(Array.from({ length: 600 }, (_, n) => 1_000 - n));
    expect(api.tasks.mock.calls.every(([query]) => query.total === undefined)).toBe(true);
  });

  it('stay until the first page of another question has come', async () => {
    model.ask({ sort: 'name', order: 'rising' });
    expect([model.pending, ids()[0]]).toEqual([true, 1_000]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([model.pending, ids()[0], ids()[1]]).toEqual([false, 1, 10]);
  });

  it('are those of the last question, whichever answer comes first', async () => {
    let late: () => void = () => {};
    api.tasks.mockImplementationOnce(
      query => new Promise(resolve => (late = () => void taskPagesOf(() => all)(query).then(resolve)))
    );
    model.ask({ text: 't1' });
    await vi.advanceTimersByTimeAsync(1_500);
    model.ask({ text: 't77' });
    late();
    await vi.advanceTimersByTimeAsync(3_000);
    expect([ids(), model.total, model.pending]).toEqual([
      [779, 778, 777, 776, 775, 774, 773, 772, 771, 770, 77],
      11,
      false
    ]);
  });

  it('change one by one, and keep what only lists tell', async () => {
    all[999] = aTask({ id: 1_000, starred: true });
    await model.refresh();
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
    all[999] = aTask({ id: 1_000, state: 'suspending', starred: true });
    stream.send('task.state', anEvent(1, 'task.state', 1_000), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect([model.items[0]!.state, model.items[0]!.starred]).toEqual(['suspending', true]);
    expect(api.task).toHaveBeenCalledExactlyOnceWith(1_000);
    expect(api.tasks).not.toHaveBeenCalled();
  });

  it('come at the top when they are submitted, before all that was read', async () => {
    model.need(300);
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
    all = [...all, aTask({ id: 1_001 })];
    stream.send('task.submitted', anEvent(1, 'task.submitted', 1_001), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect([model.total, ids()[0], ids().length]).toEqual([1_001, 1_001, 401]);
    expect(api.tasks).toHaveBeenCalledOnce();
  });

  it('go when they are no longer in the state that was asked for', async () => {
    model.ask({ state: 'live' });
    await vi.advanceTimersByTimeAsync(2_000);
    all[999] = aTask({ id: 1_000, state: 'failed' });
    stream.send('task.state', anEvent(1, 'task.state', 1_000), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect([ids()[0], model.total]).toEqual([999, 999]);
  });

  it('are shown as soon as they are read, and with few others', async () => {
    let known: () => void = () => {};
    api.task.mockImplementationOnce(
      id => new Promise(resolve => (known = () => resolve({ ...aTask({ id }), use: null, starred: null })))
    );
    all = [...all, aTask({ id: 1_001 })];
    stream.send('task.state', anEvent(1, 'task.state', 1_000), '1');
    stream.send('task.submitted', anEvent(2, 'task.submitted', 1_001), '2');
    await vi.advanceTimersByTimeAsync(600);
    expect(ids()[0]).toBe(1_001);
    expect(api.tasks.mock.calls.map(([query]) => query.limit)).toEqual([50]);
    known();
  });

  it('are read to the row before them when more have come', async () => {
    all = [...all, ...Array.from({ length: 60 }, (_, n) => aTask({ id: 1_001 + n }))];
    stream.send('task.submitted', anEvent(1, 'task.submitted', 1_060), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(api.tasks.mock.calls.map(([query]) => query.limit)).toEqual([50, PAGE]);
    expect(ids().slice(0, 61)).toEqual(Array.from({ length: 61 }, (_, n) => 1_060 - n));
  });

  it('are counted again now and then when what is below them changes', async () => {
    model.ask({ state: 'live' });
    await vi.advanceTimersByTimeAsync(2_000);
    api.tasks.mockClear();
    for (const id of [1, 2, 3]) {
      all[id - 1] = aTask({ id, state: 'failed' });
      stream.send('task.state', anEvent(id, 'task.state', id), String(id));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(api.tasks).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([model.total, api.tasks.mock.calls.length]).toEqual([997, 1]);
  });

  it('keep the objects of tasks that have not changed, so that their rows are not drawn again', async () => {
    model.need(700);
    await vi.advanceTimersByTimeAsync(2_000);
    const before = [...model.items];
    all = all.map(task => (task.id === 990 ? aTask({ id: 990, state: 'failed' }) : { ...task }));
    await model.refresh();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(model.items.filter((task, row) => task !== before[row]).map(task => task.id)).toEqual([990]);
  });

  it('do not become more and more while tasks come and nobody looks further', async () => {
    await model.refresh();
    await vi.advanceTimersByTimeAsync(2_000);
    all = [...all, ...Array.from({ length: 150 }, (_, n) => aTask({ id: 1_001 + n }))];
    stream.send('task.submitted', anEvent(1, 'task.submitted', 1_150), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(ids().length).toBe(350);
    await model.refresh();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([ids()[0], ids().length, model.total]).toEqual([1_150, 200, 1_150]);
  });

  it('are all there when the last page was read, though some ended unseen before', async () => {
    model.ask({ state: 'live' });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(model.total).toBe(1_000);
    all[0] = aTask({ id: 1, state: 'failed' });
    model.need(999);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([ids().length, model.total]).toEqual([999, 999]);
  });

  it('show their tags and stars as soon as the service has them', async () => {
    await model.setTags(1_000, ['nightly']);
    await model.setStar(999, true);
    expect(model.items[0]!.tags).toEqual(['nightly']);
    expect(model.items[1]!.starred).toBe(true);
    api.operations.setTags.mockRejectedValueOnce(new Error('tags: at most 50.'));
    await expect(model.setTags(1_000, [])).rejects.toThrow('at most 50');
    expect(model.items[0]!.tags).toEqual(['nightly']);
  });
});
