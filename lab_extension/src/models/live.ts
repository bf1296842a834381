/** The base of all live models: they read again on events, and on a timer as a fallback, and emit a signal. */

import type { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';
import { sentenceOf } from '../api/request';
import type { IEvent } from '../api/types';
import { Coalescer } from './coalesce';
import type { Feed, FeedStatus } from './feed';

export interface ILiveOptions {
  feed: Feed;
  /** A name for the timer. */
  name: string;
  /** Least time between two readings caused by events, in ms. */
  interval: number;
  /** Time between two readings without a live connection, in ms. */
  fallback: number;
  /** Time between two readings with a live connection, in ms: for values without events, such as queue positions. */
  live: number;
}

/** A value that is read from the platform and kept up to date. */
export abstract class LiveModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  private readonly poll: Poll;
  private readonly coalescer: Coalescer;
  /** Why the last reading failed; null if it did not. */
  error: string | null = null;
  /** Whether there is a value at all. */
  ready = false;
  isDisposed = false;
  /** Whether the first reading goes on; and the timer of the one that follows it when the connection is live. */
  private opening = false;
  private following: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly options: ILiveOptions) {
    this.coalescer = new Coalescer(() => this.readAgain(false), options.interval);
    this.poll = new Poll({
      name: options.name,
      auto: false,
      frequency: { interval: this.pollInterval(), backoff: true, max: 300_000 },
      standby: 'when-hidden',
      factory: () => this.readAgain(true)
    });
    options.feed.event.connect(this.handleEvent, this);
    options.feed.statusChanged.connect(this.handleStatus, this);
  }

  /** Begin to read. It does not wait for the first reading: `changed` tells of it. */
  start(): Promise<void> {
    this.opening = !this.ready;
    return this.poll.start();
  }

  /** Order a reading of everything, now. It does not wait for that: `changed` tells of it. */
  refresh(): Promise<void> {
    return this.poll.refresh();
  }

  /** How often to read without a live connection, in ms. */
  setFallback(ms: number): void {
    this.options.fallback = ms;
    this.tune();
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.isDisposed = true;
    this.options.feed.event.disconnect(this.handleEvent, this);
    this.options.feed.statusChanged.disconnect(this.handleStatus, this);
    this.poll.dispose();
    this.coalescer.dispose();
    if (this.following !== null) {
      clearTimeout(this.following);
    }
    Signal.clearData(this);
  }

  /** Read the value. `whole`: not because of an event. Throws when it cannot. */
  protected abstract read(whole: boolean): Promise<void>;

  /** Whether an event can have changed the value. */
  protected abstract concerns(event: IEvent): boolean;

  /** Read soon; many calls are one reading. */
  protected readSoon(): void {
    this.coalescer.request();
  }

  protected emit(): void {
    if (!this.isDisposed) {
      this.changed.emit();
    }
  }

  private async readAgain(whole: boolean): Promise<void> {
    let failure: unknown = null;
    try {
      await this.read(whole);
      this.ready = true;
    } catch (error) {
      failure = error;
    }
    this.opening = false;
    this.error = failure === null ? null : sentenceOf(failure);
    this.emit();
    if (failure !== null && whole) {
      // The timer backs off when its work fails.
      throw failure instanceof Error ? failure : new Error(sentenceOf(failure));
    }
  }

  private handleEvent(_: Feed, event: IEvent): void {
    if (this.concerns(event)) {
      this.readSoon();
    }
  }

  private handleStatus(_: Feed, status: FeedStatus): void {
    this.tune();
    if (status !== 'live') {
      return;
    }
    if (this.opening) {
      // What the connection has missed before it was live is read a moment later: a page that opens would read all twice.
      this.following ??= setTimeout(() => {
        this.following = null;
        void this.refresh();
      }, this.options.interval);
    } else {
      void this.refresh();
    }
  }

  private tune(): void {
    this.poll.frequency = { ...this.poll.frequency, interval: this.pollInterval() };
  }

  private pollInterval(): number {
    return this.options.feed.status === 'live' ? this.options.live : this.options.fallback;
  }
}
