/** The rules of the user: what they are told, and over which channels. */

import type { IApi } from '../api/client';
import { EventKind } from '../api/constants';
import type { IEvent, INotificationRules, INotificationRulesPut } from '../api/types';
import type { RuledKind } from '../text/notifications';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** What is written besides kinds and their channels; what is left out stays as it is. */
export type RulesChange = Omit<INotificationRulesPut, 'rules'>;

/** Changes are shown at once and written one after the other, each over what the one before has made. */
export class RulesModel extends LiveModel {
  rules: INotificationRules | null = null;
  private last: Promise<unknown> = Promise.resolve();
  /** Changes that are not written yet. */
  private waiting = 0;

  constructor(
    private readonly api: Pick<IApi, 'notifications'>,
    feed: Feed
  ) {
    super({ feed, name: 'hai:notification-rules', interval: 700, fallback: 60_000, live: 120_000 });
  }

  /** Tell a kind over a channel, or tell it there no more. Rejects with the service's sentence, and shows what holds then. */
  async choose(kind: RuledKind, channel: string, told: boolean): Promise<void> {
    const before = this.rules;
    if (before === null) {
      return;
    }
    // A sink that an admin has taken away can be named no more.
    const gone = before.channels.filter(one => one.name.startsWith('sink:') && one.missing !== null);
    const now = before.rules.find(rule => rule.kind === kind)?.channels ?? [];
    const channels = [...now.filter(one => one !== channel), ...(told ? [channel] : [])].filter(
      one => !gone.some(sink => sink.name === one)
    );
    const rules = before.rules.map(rule => (rule.kind === kind ? { ...rule, channels } : rule));
    this.rules = { ...before, rules };
    this.emit();
    await this.put({}, [{ kind, channels }]);
  }

  /** Write addresses, the wait, or ask for another key. The answer alone has a key that is new. */
  write(change: RulesChange): Promise<INotificationRules> {
    return this.put(change, []);
  }

  protected concerns(event: IEvent): boolean {
    return event.kind === EventKind.NOTIFICATION_RULES || event.kind === EventKind.NOTIFICATION;
  }

  protected async read(): Promise<void> {
    const asked = this.last;
    const found = await this.api.notifications.rules();
    // What was read before a change was written is older than what is shown.
    if (this.waiting === 0 && asked === this.last) {
      this.rules = found;
    }
  }

  private put(change: RulesChange, rules: INotificationRulesPut['rules'] = []): Promise<INotificationRules> {
    this.waiting++;
    const made = this.last.then(async () => {
      try {
        const base = this.rules ?? (await this.api.notifications.rules());
        const { waits_longer_s, mail, webhook } = base;
        const found = await this.api.notifications.putRules({
          waits_longer_s,
          mail,
          webhook,
          ...change,
          rules
        });
        if (this.waiting === 1) {
          this.rules = found;
        } else if (this.rules !== null) {
          // Further changes are shown already; what they build upon is new.
          this.rules = { ...found, rules: this.rules.rules };
        }
        return found;
      } finally {
        this.waiting--;
        this.emit();
      }
    });
    this.last = made.catch(() => this.refresh());
    return made;
  }
}
