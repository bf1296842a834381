/** What the user is told, and where: the calls of the REST interface. */

import { Signal, type ISignal } from '@lumino/signaling';
import { requestJson } from './request';
import type { ITransport } from './transport';
import type { INotification, INotificationPage, INotificationRules, INotificationRulesPut } from './types';

export interface INotificationsQuery {
  /** Only those with a smaller id. */
  before?: number;
  limit?: number;
}

/** What the models need of the platform; tests give their own. */
export interface INotificationsApi {
  /** Something was marked as read by this page. */
  readonly marked: ISignal<unknown, void>;
  rules(): Promise<INotificationRules>;
  /** Addresses that are left out are taken away. */
  putRules(change: INotificationRulesPut): Promise<INotificationRules>;
  /** Have a test sent over one channel, or over all that can be used. */
  test(channel: string | null): Promise<INotification>;
  list(query: INotificationsQuery): Promise<INotificationPage>;
  /** Mark those up to an id as read. */
  markRead(upTo: number): Promise<void>;
}

/** The platform behind a transport. */
export class NotificationsApi implements INotificationsApi {
  private readonly _marked = new Signal<this, void>(this);

  constructor(private readonly transport: ITransport) {}

  get marked(): ISignal<this, void> {
    return this._marked;
  }

  rules(): Promise<INotificationRules> {
    return requestJson(this.transport, 'api/me/notifications');
  }

  putRules(change: INotificationRulesPut): Promise<INotificationRules> {
    return requestJson(this.transport, 'api/me/notifications', { method: 'PUT', body: change });
  }

  test(channel: string | null): Promise<INotification> {
    const body = { channels: channel === null ? null : [channel] };
    return requestJson(this.transport, 'api/me/notifications/test', { method: 'POST', body });
  }

  list(query: INotificationsQuery): Promise<INotificationPage> {
    return requestJson(this.transport, 'api/notifications', { query: { ...query } });
  }

  async markRead(upTo: number): Promise<void> {
    await requestJson(this.transport, 'api/notifications/read', { method: 'POST', body: { up_to: upTo } });
    this._marked.emit();
  }
}
