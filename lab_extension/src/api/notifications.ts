/** What the user is told, and where: the calls of the REST interface. */

import { Signal } from '@lumino/signaling';
import { Calls } from './request';
import type { INotification, INotificationPage, INotificationRules, INotificationRulesPut } from './types';

export interface INotificationsQuery {
  /** Only those with a smaller id. */
  before?: number;
  limit?: number;
}

export class NotificationsApi extends Calls {
  /** Something was marked as read by this page. */
  readonly marked = new Signal<unknown, void>(this);
  rules = () => this.ask<INotificationRules>('api/me/notifications');
  /** Addresses that are left out are taken away. */
  putRules = (change: INotificationRulesPut) =>
    this.ask<INotificationRules>('api/me/notifications', { method: 'PUT', body: change });
  /** Have a test sent over a channel. */
  test = (channel: string) =>
    this.ask<INotification>('api/me/notifications/test', { method: 'POST', body: { channels: [channel] } });
  list = (query: INotificationsQuery) => this.ask<INotificationPage>('api/notifications', { query });
  /** Mark those up to an id as read. */
  markRead = async (upTo: number): Promise<void> => {
    await this.ask('api/notifications/read', { method: 'POST', body: { up_to: upTo } });
    this.marked.emit();
  };
}

/** What the models need of the platform; tests give their own. */
export type INotificationsApi = Pick<NotificationsApi, keyof NotificationsApi>;
