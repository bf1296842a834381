/** Tells users at once that a task of theirs is interrupted repeatedly, with no evidence that it saves. */

import type { IDisposable } from '@lumino/disposable';
import { EventKind } from '../api/constants';
import type { IEvent } from '../api/types';
import type { Feed } from './feed';

export interface IAlarm {
  task: number;
  message: string;
}

export interface IAlarmOptions {
  feed: Pick<Feed, 'event'>;
  /** The user's name; null: not known yet. */
  me: () => string | null;
  show: (alarm: IAlarm) => void;
}

/** Listens to the feed for alarms on the user's own tasks. */
export class UnsavedAlarms implements IDisposable {
  private _isDisposed = false;

  constructor(private readonly options: IAlarmOptions) {
    options.feed.event.connect(this.hear, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this.options.feed.event.disconnect(this.hear, this);
  }

  private hear(_: unknown, event: IEvent): void {
    const { kind, message } = event.data;
    const own = event.user !== null && event.user === this.options.me();
    if (event.kind === EventKind.TASK_ALARM && kind === 'unsaved' && own && event.task_id !== null) {
      this.options.show({ task: event.task_id, message: String(message) });
    }
  }
}
