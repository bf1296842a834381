import { afterEach, describe, expect, it, vi } from 'vitest';
import { Feed } from '../models/feed';
import { anEvent, FakeStream } from '../testing/fakes';
import { PageHost } from './host';
import { PageRouter } from './router';
import { tellOnPage } from './told';

describe('notifications on the page', () => {
  afterEach(() => void vi.useRealTimers());

  it('are said in the corner with a way to the task, and those of long ago are not', async () => {
    vi.useFakeTimers();
    vi.spyOn(window, 'scrollTo').mockImplementation(() => undefined);
    history.replaceState(null, '', '/services/hai/');
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    const router = new PageRouter('/services/hai/', 'overview');
    const host = new PageHost(router);
    const attention = tellOnPage(feed, host, router);
    const send = (seq: number, task: number | null, at: string): void => {
      const params = task === null ? { user: 'alice' } : { task, name: 'train' };
      const data = {
        channels: ['lab'],
        sentence: task === null ? 'test' : 'task.succeeded',
        params,
        text:
          task === null
            ? 'This is a test of notifications, asked for by alice.'
            : `Task ${task} (train) has ended well.`
      };
      stream.send('notification.sent', { ...anEvent(seq, 'notification.sent', task), at, data }, String(seq));
    };
    send(1, 40, '2026-01-01T00:00:00Z');
    send(2, 41, new Date().toISOString());
    send(3, null, new Date().toISOString());
    await vi.advanceTimersByTimeAsync(10);
    expect(host.toasts.map(toast => [toast.kind, toast.message, toast.action?.label])).toEqual([
      ['info', 'Task 41 (train) has ended well.', 'Open the task'],
      ['info', 'This is a test of notifications, asked for by alice.', 'Show all']
    ]);
    host.toasts[0]!.action!.run();
    expect(router.route).toMatchObject({ page: 'tasks', id: 41 });
    host.toasts[1]!.action!.run();
    expect(router.route).toMatchObject({ page: 'notifications', id: null });
    attention.dispose();
    feed.dispose();
  });
});
