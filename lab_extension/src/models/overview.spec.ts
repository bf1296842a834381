import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { anEvent, FakeStream } from '../testing/fakes';
import { anOverview } from '../testing/overview';
import { Feed } from './feed';
import { OverviewModel } from './overview';

describe('the overview', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is read again when a node has changed, and not for what it does not show', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    feed.start();
    const overview = vi.fn(async () => anOverview());
    const model = new OverviewModel({ overview }, feed, 60_000);
    void model.start();
    stream.send('hello', { seq: 0 });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(model.value?.now.nodes).toBe(4);
    const before = overview.mock.calls.length;
    stream.send('task.tags', anEvent(1, 'task.tags', 41), '1');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(overview).toHaveBeenCalledTimes(before);
    overview.mockImplementation(async () => anOverview({ change: 2 }));
    stream.send('node.condition', anEvent(2, 'node.condition'), '2');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(overview).toHaveBeenCalledTimes(before + 1);
    model.dispose();
    feed.dispose();
  });

  it('is read once more when the answer is from before the event', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    feed.start();
    const overview = vi.fn(async () => anOverview({ change: 8 }));
    const model = new OverviewModel({ overview }, feed, 60_000);
    void model.start();
    stream.send('hello', { seq: 8 });
    await vi.advanceTimersByTimeAsync(3_000);
    const before = overview.mock.calls.length;
    overview.mockImplementationOnce(async () => anOverview({ change: 8 }));
    overview.mockImplementation(async () => anOverview({ change: 9 }));
    stream.send('task.state', anEvent(9, 'task.state', 41), '9');
    await vi.advanceTimersByTimeAsync(6_000);
    expect(overview).toHaveBeenCalledTimes(before + 2);
    expect(model.value?.change).toBe(9);
    model.dispose();
    feed.dispose();
  });
});
