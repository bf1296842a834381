/** Notifications and rules, for tests. */

import { Signal } from '@lumino/signaling';
import { vi, type Mock } from 'vitest';
import type { INotificationsApi } from '../api/notifications';
import type { INotification, INotificationChannel, INotificationRules } from '../api/types';

/** What alice was told; give what differs. */
export function aNotification(id: number, given: Partial<INotification> = {}): INotification {
  return {
    id,
    kind: 'failed',
    at: '2026-11-21T04:00:00Z',
    task_id: 41,
    sentence: 'task.failed',
    params: { task: 41, name: 'train', run: 2, reason: 'failed', exit_codes: [1] },
    text: 'Task 41 (train) has failed: its command failed (status 1).',
    lines: ['ValueError: loss is nan'],
    read: false,
    deliveries: [{ channel: 'feed', state: 'sent', attempts: 1, ended_at: null, error: null, digest: false }],
    ...given
  };
}

export function aChannel(name: string, given: Partial<INotificationChannel> = {}): INotificationChannel {
  return { name, missing: null, error: null, error_at: null, ...given };
}

/** The rules of a new user, on a platform with mail and one sink; give what differs. */
export function someRules(given: Partial<INotificationRules> = {}): INotificationRules {
  return {
    rules: [
      { kind: 'interrupted', channels: ['browser', 'lab'] },
      { kind: 'failed', channels: ['browser', 'lab'] },
      { kind: 'waiting', channels: [] }
    ],
    waits_longer_s: 3600,
    mail: null,
    webhook: null,
    webhook_secret: null,
    channels: [
      aChannel('lab'),
      aChannel('browser'),
      aChannel('mail', { missing: 'Give a mail address.' }),
      aChannel('webhook', { missing: 'Give the address of a webhook.' }),
      aChannel('sink:ops')
    ],
    ...given
  };
}

/** A service that keeps rules and what alice was told. */
export function someNotifications(
  given: { rules?: INotificationRules; told?: INotification[] } = {}
): INotificationsApi & { put: Mock<INotificationsApi['putRules']>; told: INotification[] } {
  let rules = given.rules ?? someRules();
  const owner = {};
  const marked = new Signal<unknown, void>(owner);
  const api = {
    marked,
    told: given.told ?? [],
    put: vi.fn<INotificationsApi['putRules']>(),
    rules: async () => rules,
    putRules: async (change: Parameters<INotificationsApi['putRules']>[0]) => {
      void api.put(change);
      const chosen = change.rules ?? [];
      const secret = change.webhook && (change.new_secret || rules.webhook === null) ? 'whsec_new' : null;
      rules = {
        ...rules,
        waits_longer_s: change.waits_longer_s ?? 3600,
        mail: change.mail ?? null,
        webhook: change.webhook ?? null,
        webhook_secret: null,
        rules: rules.rules.map(rule => ({
          kind: rule.kind,
          channels: chosen.find(one => one.kind === rule.kind)?.channels ?? rule.channels
        })),
        channels: rules.channels.map(one =>
          (one.name === 'mail' && change.mail) || (one.name === 'webhook' && change.webhook)
            ? { ...one, missing: null }
            : one
        )
      };
      return { ...rules, webhook_secret: secret };
    },
    test: async (channel: string | null) => {
      const test = aNotification(900 + api.told.length, { kind: 'test', sentence: 'test', task_id: null });
      test.deliveries = [{ ...test.deliveries[0]!, channel: channel ?? 'feed' }];
      api.told = [test, ...api.told];
      return { ...test, deliveries: [] };
    },
    list: async ({ before = Infinity, limit = 50 }: Parameters<INotificationsApi['list']>[0]) => {
      const older = api.told.filter(item => item.id < before);
      const items = older.slice(0, limit);
      const next_before = older.length > limit ? (items.at(-1)?.id ?? null) : null;
      return { items, unread: api.told.filter(item => !item.read).length, next_before };
    },
    markRead: async (upTo: number) => {
      api.told = api.told.map(item => (item.id <= upTo ? { ...item, read: true } : item));
      marked.emit();
    }
  };
  return api;
}
