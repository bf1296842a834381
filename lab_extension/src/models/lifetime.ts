/** When the user's own server ends: a warning in time, with the reason, and more time by one click. */

import type { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import type { ILifetime } from '../api/extension';
import { trans } from '../text/translate';

/** How often the server is asked, in ms. */
const EVERY = 60_000;

/** The requests that the watch sends to the server; tests give their own. */
export interface ILifetimeApi {
  lifetime(): Promise<ILifetime>;
  renewLifetime(): Promise<ILifetime>;
}

/** Where a warning is shown; at most one at a time. */
export interface ILifetimeWarnings {
  /** Show a warning, or change the one that is shown. `renew` is null where more time cannot be had. */
  show(message: string, renew: (() => void) | null): void;
  /** Say that all is well again, for a moment. */
  settle(message: string): void;
  /** Take the warning away. */
  clear(): void;
}

/** Asks the server, also while the page is in the background: a user who is away needs the warning most. */
export class LifetimeWatch implements IDisposable {
  private readonly poll: Poll;
  private warned = false;
  /** The end of a warning that the user has seen: the warning is not shown again each minute. */
  private shown: string | null = null;

  constructor(
    private readonly api: ILifetimeApi,
    private readonly warnings: ILifetimeWarnings
  ) {
    this.poll = new Poll({
      name: 'hai:lifetime',
      frequency: { interval: EVERY, backoff: true, max: 5 * EVERY },
      standby: 'never',
      auto: false,
      factory: () => this.look()
    });
  }

  get isDisposed(): boolean {
    return this.poll.isDisposed;
  }

  dispose(): void {
    this.poll.dispose();
  }

  start(): void {
    void this.poll.start();
  }

  /** Ask once. An answer that does not come changes nothing: the next one will. */
  async look(): Promise<void> {
    this.take(await this.api.lifetime());
  }

  /** Ask for more time, and say what came of it. */
  async renew(): Promise<void> {
    try {
      const told = await this.api.renewLifetime();
      this.take(told);
      if (!told.warning) {
        this.warnings.settle(thanks(told));
      }
    } catch (error) {
      this.shown = null;
      this.warnings.show(
        trans.__(
          'This server was not given more time: %1',
          error instanceof Error ? error.message : String(error)
        ),
        () => void this.renew()
      );
    }
  }

  private take(told: ILifetime): void {
    const message = told.warning ? warningOf(told) : null;
    if (message === null) {
      if (this.warned) {
        this.warnings.clear();
      }
      this.warned = false;
      this.shown = null;
      return;
    }
    if (this.shown !== told.ends_at) {
      this.warnings.show(message, told.renewable ? () => void this.renew() : null);
      this.shown = told.ends_at;
    }
    this.warned = true;
  }
}

/** The sentence of a warning; null where there is none. At most 140 characters: notifications cut longer ones. */
export function warningOf(told: ILifetime): string | null {
  if (told.ends_at === null) {
    return null;
  }
  const why = told.reason === 'idle' ? trans.__('nothing happens in it') : trans.__('its time is over');
  const rest = told.renewable
    ? trans.__('Save your work, or keep it.')
    : trans.__('Save your work: it cannot be kept longer.');
  return trans.__('This server ends at %1: %2. %3', clock(told), why, rest);
}

function thanks(told: ILifetime): string {
  return told.ends_at === null
    ? trans.__('This server stays.')
    : trans.__('This server stays until %1 at least.', clock(told));
}

/** The end by this machine's clock, which need not agree with the server's. */
function clock(told: ILifetime): string {
  const skew = told.now === null ? 0 : Date.now() - Date.parse(told.now);
  const end = new Date(Date.parse(told.ends_at ?? '') + skew);
  const soon = end.getTime() - Date.now() < 12 * 3_600_000;
  return soon
    ? end.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
    : end.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}
