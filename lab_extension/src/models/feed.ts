/** The live connection: one stream of events for the whole page, opened again when it is lost. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IApi } from '../api/client';
import { ApiError, sentenceOf } from '../api/request';
import type { IEvent } from '../api/types';
import { isOver } from './coalesce';

export type FeedStatus = 'connecting' | 'live' | 'lost';

/** First and longest wait before the stream is opened again, in ms. */
const BACK_OFF = { first: 500, longest: 30_000 };

/** Events of the platform. It resumes after the last event it has seen. */
export class Feed implements IDisposable {
  /** Something happened. */
  readonly event = new Signal<this, IEvent>(this);
  readonly statusChanged = new Signal<this, FeedStatus>(this);
  status: FeedStatus = 'connecting';
  private abort: AbortController | null = null;
  private lastId: string | null = null;
  private wake: (() => void) | null = null;
  /** How many views need the events of all users. */
  private needAll = 0;
  /** Why the connection is lost; a sentence. */
  error: string | null = null;
  isDisposed = false;

  constructor(private readonly api: Pick<IApi, 'events'>) {}

  /** Open the stream and keep it open until `stop`. Does nothing when it is open. */
  start(): void {
    if (!this.abort && !this.isDisposed) {
      this.abort = new AbortController();
      void this.keepOpen(this.abort.signal);
    }
  }

  /** Close the stream. A later start resumes where it was. */
  stop(): void {
    this.abort?.abort();
    this.abort = null;
    this.wake?.();
    this.setStatus('connecting');
  }

  /** Hear of the tasks of all users, which only admins may, until the function is called that this gives. */
  hearAll(): () => void {
    if (this.needAll++ === 0) {
      this.openAgain();
    }
    let over = false;
    return () => {
      if (!over && --this.needAll === 0) {
        this.openAgain();
      }
      over = true;
    };
  }

  /** Try now instead of waiting. */
  retry(): void {
    this.wake?.();
  }

  dispose(): void {
    this.isDisposed = true;
    this.stop();
    Signal.clearData(this);
  }

  /** Open another stream from now on: models read everything again when it is live. */
  private openAgain(): void {
    const open = this.abort !== null;
    this.stop();
    this.lastId = null;
    if (open) {
      this.start();
    }
  }

  private async keepOpen(signal: AbortSignal): Promise<void> {
    let wait = BACK_OFF.first;
    while (!isOver(signal)) {
      const error = await this.readOnce(signal, () => {
        wait = BACK_OFF.first;
      });
      if (isOver(signal)) {
        return;
      }
      if (error instanceof ApiError && error.status === 400) {
        // The place to resume at is unknown there (a fresh database): begin at now.
        this.lastId = null;
      }
      this.error = error === null ? null : sentenceOf(error);
      this.setStatus(error === null ? 'connecting' : 'lost');
      const asked = error instanceof ApiError ? Math.min(error.retryAfter, BACK_OFF.longest) : 0;
      await this.pause(Math.max(asked, wait * (0.75 + Math.random() / 2)));
      wait = Math.min(wait * 2, BACK_OFF.longest);
    }
  }

  /** Read until the stream ends; the error that ended it, null for a plain end. */
  private async readOnce(signal: AbortSignal, onMessage: () => void): Promise<unknown> {
    try {
      for await (const message of this.api.events(this.lastId, signal, this.needAll > 0)) {
        if (isOver(signal)) {
          return null;
        }
        onMessage();
        this.error = null;
        if (message.event === 'hello') {
          // Where the stream begins: without an event yet, a lost one is resumed from here.
          this.lastId ??= String((JSON.parse(message.data) as { seq: number }).seq);
        } else {
          this.lastId = message.id || this.lastId;
          this.event.emit(JSON.parse(message.data) as IEvent);
        }
        this.setStatus('live');
      }
      return null;
    } catch (error) {
      return error;
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(done, ms);
      this.wake = done;
      function done(): void {
        clearTimeout(timer);
        resolve();
      }
    });
  }

  private setStatus(status: FeedStatus): void {
    if (status !== this.status) {
      this.status = status;
      this.statusChanged.emit(status);
    }
  }
}
