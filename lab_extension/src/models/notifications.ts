/** What the user was told in the last days, the newest first. */

import type { IApi } from '../api/client';
import { EventKind } from '../api/constants';
import type { IDelivery, IEvent, INotification } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** The most that one answer has. */
const MOST = 200;
/** How often it is looked what came of a test, and after which time it is not looked any more, in ms. */
const LOOK = { every: 700, longest: 15_000 } as const;

/** The newest notifications, as many as were asked for. */
export class NotificationsModel extends LiveModel {
  items: readonly INotification[] = [];
  /** How many are not read, of all. */
  unread = 0;
  /** Whether there are older ones. */
  hasMore = false;
  private wanted: number;

  /** @param page How many are read at first, and more with each page. */
  constructor(
    private readonly api: Pick<IApi, 'notifications'>,
    feed: Feed,
    private readonly page = 30
  ) {
    super({ feed, name: 'hai:notifications', interval: 700, fallback: 30_000, live: 60_000 });
    this.wanted = page;
    api.notifications.marked.connect(this.readSoon, this);
  }

  override dispose(): void {
    this.api.notifications.marked.disconnect(this.readSoon, this);
    super.dispose();
  }

  /** Read older ones too. */
  async more(): Promise<void> {
    this.wanted += this.page;
    await this.refresh();
  }

  /** Mark all that are shown, and older ones, as read. */
  async markRead(): Promise<void> {
    const newest = this.items[0];
    if (newest !== undefined) {
      await this.api.notifications.markRead(newest.id);
    }
  }

  /** Have a test sent over a channel, and wait for a while for what comes of it; empty: nothing has yet. */
  async test(channel: string): Promise<readonly IDelivery[]> {
    const { id } = await this.api.notifications.test(channel);
    const until = Date.now() + LOOK.longest;
    let found: readonly IDelivery[] = [];
    while (!isSettled(found) && Date.now() < until && !this.isDisposed) {
      await new Promise(resolve => setTimeout(resolve, LOOK.every));
      const { items } = await this.api.notifications.list({ limit: 10 });
      found = items.find(item => item.id === id)?.deliveries ?? [];
    }
    void this.refresh();
    return found;
  }

  protected concerns(event: IEvent): boolean {
    return event.kind === EventKind.NOTIFICATION;
  }

  protected async read(): Promise<void> {
    const byId = new Map<number, INotification>();
    let before: number | null = null;
    do {
      const limit = Math.min(MOST, this.wanted - byId.size);
      const found = await this.api.notifications.list({ limit, ...(before === null ? {} : { before }) });
      found.items.forEach(item => byId.set(item.id, item));
      this.unread = found.unread;
      before = found.next_before;
    } while (before !== null && byId.size < this.wanted);
    this.items = [...byId.values()];
    this.hasMore = before !== null;
  }
}

/** Whether something came of it: it was sent, given up, or refused for now. */
function isSettled(deliveries: readonly IDelivery[]): boolean {
  return deliveries.length > 0 && deliveries.every(one => one.state !== 'pending' || one.error !== null);
}
