/** The state of the spot container that this page runs in: whether it must leave, and in how long. */

import type { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

/** The notice that the container must leave its node. */
export interface ISpotNotice {
  /** `stop` is for good; after `suspend` it comes back. */
  kind: 'suspend' | 'stop';
  reason: string;
  message: string;
  at: string;
  deadline: string;
}

/** The answer of `hai-lab/spot`. */
export interface ISpotStatus {
  /** Whether this server is a spot container at all. */
  spot: boolean;
  task_id: number;
  notice: ISpotNotice | null;
  /** Whether the user has said that it may end. */
  leaving: boolean;
  /** The server's time. */
  now: string;
}

/** What the model needs of the server; tests give their own. */
export interface ISpotApi {
  status(): Promise<ISpotStatus>;
  leave(): Promise<ISpotStatus>;
}

/** Time between two looks, in ms. A look reads one small file on the server. */
export const LOOK_EVERY = 3_000;

/** The state of the container, read again and again if this server is one. */
export class SpotModel implements IDisposable {
  /** Emitted whenever there is something new to show. */
  readonly changed = new Signal<this, void>(this);
  /** Emitted once for each notice. */
  readonly noticed = new Signal<this, ISpotNotice>(this);
  private readonly poll: Poll;
  status: ISpotStatus | null = null;
  /** Whether the server has stopped answering after a notice. */
  gone = false;
  private ahead = 0;
  private seen: string | null = null;

  constructor(private readonly api: ISpotApi) {
    this.poll = new Poll({
      name: 'hai:spot',
      auto: false,
      // Documents are saved on a notice in hidden tabs too.
      standby: 'never',
      frequency: { interval: LOOK_EVERY, backoff: false, max: LOOK_EVERY },
      factory: () => this.read()
    });
  }

  get isDisposed(): boolean {
    return this.poll.isDisposed;
  }

  /** Begin; ends at once where this server is no spot container. */
  start(): Promise<void> {
    return this.poll.start();
  }

  dispose(): void {
    this.poll.dispose();
    Signal.clearData(this);
  }

  /** Seconds until the deadline at a time of this browser (ms), whose clock may be wrong; null without a notice. */
  secondsLeft(now: number): number | null {
    const notice = this.status?.notice;
    return notice ? Math.max(0, (Date.parse(notice.deadline) - now - this.ahead) / 1_000) : null;
  }

  /** Say that all is saved: the server ends now. Throws when it cannot. */
  async leave(): Promise<void> {
    this.take(await this.api.leave());
  }

  private async read(): Promise<void> {
    try {
      this.take(await this.api.status());
    } catch {
      // A short interruption is Lab's to tell; the end of a container is ours.
      if (this.status?.notice && !this.gone) {
        this.gone = true;
        this.changed.emit();
      }
    }
  }

  private take(status: ISpotStatus): void {
    this.status = status;
    this.gone = false;
    this.ahead = Date.parse(status.now) - Date.now();
    if (!status.spot) {
      void this.poll.stop();
    }
    const { notice } = status;
    if (notice && notice.at !== this.seen) {
      this.seen = notice.at;
      this.noticed.emit(notice);
    }
    this.changed.emit();
  }
}
