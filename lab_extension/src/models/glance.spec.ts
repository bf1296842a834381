import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IClusterUse } from '../api/types';
import { anEvent, FakeStream } from '../testing/fakes';
import { Feed } from './feed';
import { GlanceModel, HOLDERS } from './glance';

describe('how the cluster is used', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is read again when a task has changed, and its past only every few minutes', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    feed.start();
    const api = {
      use: vi.fn<(limit: number) => Promise<IClusterUse>>(async () => ({ items: [], left_out: 0 })),
      nodesReport: vi.fn(async () => ({ by: 'day', rows: [] }) as never)
    };
    const model = new GlanceModel(api, feed, 60_000);
    void model.start();
    await vi.advanceTimersByTimeAsync(2_000);
    // The service picks those that are shown: of a large cluster the others are many.
    expect(api.use).toHaveBeenCalledWith(HOLDERS);
    expect([api.use.mock.calls.length, api.nodesReport.mock.calls.length]).toEqual([1, 1]);
    stream.send('task.state', anEvent(1, 'task.state', 41), '1');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(api.use.mock.calls.length).toBeGreaterThan(1);
    expect(api.nodesReport).toHaveBeenCalledTimes(1);
    model.dispose();
    feed.dispose();
  });
});
