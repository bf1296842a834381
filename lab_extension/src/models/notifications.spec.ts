import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aNotification, someNotifications } from '../testing/notifications';
import { anEvent, FakeStream } from '../testing/fakes';
import { Feed } from './feed';
import { NotificationsModel } from './notifications';

describe('what the user was told', () => {
  let feed: Feed;
  let stream: FakeStream;
  beforeEach(() => {
    vi.useFakeTimers();
    stream = new FakeStream();
    feed = new Feed({ events: () => stream });
  });
  afterEach(() => {
    feed.dispose();
    vi.useRealTimers();
  });
  async function open(api: ReturnType<typeof someNotifications>, page?: number): Promise<NotificationsModel> {
    const model = new NotificationsModel({ notifications: api }, feed, page);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    return model;
  }

  it('is listed page by page', async () => {
    const told = Array.from({ length: 5 }, (_, n) => aNotification(9 - n));
    const model = await open(someNotifications({ told }), 2);
    expect([model.items.map(item => item.id), model.hasMore, model.unread]).toEqual([[9, 8], true, 5]);
    await model.more();
    await vi.advanceTimersByTimeAsync(10);
    await model.more();
    await vi.advanceTimersByTimeAsync(10);
    expect([model.items.map(item => item.id), model.hasMore]).toEqual([[9, 8, 7, 6, 5], false]);
    model.dispose();
  });

  it('is there as soon as it is told', async () => {
    const api = someNotifications();
    const model = await open(api);
    feed.start();
    api.told = [aNotification(1)];
    stream.send('x', anEvent(1, 'notification.sent', 41), '1');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(model.items).toHaveLength(1);
    model.dispose();
  });

  it('is read everywhere on this page when it was marked', async () => {
    const api = someNotifications({ told: [aNotification(2), aNotification(1)] });
    const [page, badge] = [await open(api), await open(api, 1)];
    expect(badge.unread).toBe(2);
    await page.markRead();
    await vi.advanceTimersByTimeAsync(1_000);
    expect([page.unread, badge.unread]).toEqual([0, 0]);
    page.dispose();
    badge.dispose();
  });

  it('says what came of a test, and does not wait for it without end', async () => {
    const api = someNotifications();
    const model = await open(api);
    const sent = model.test('mail');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await sent).toMatchObject([{ channel: 'mail', state: 'sent' }]);
    vi.spyOn(api, 'list').mockResolvedValue({ items: [], unread: 0, next_before: null });
    const never = model.test('mail');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await never).toEqual([]);
    model.dispose();
  });
});
