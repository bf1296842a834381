/**
 * Which tabs listen. A tab that is seen does; of all hidden tabs at most one does, and only if the browser may show
 * notifications: each stream of events takes one of the few connections that a browser has to the Hub.
 */

import type { IDisposable } from '@lumino/disposable';
import { trans } from '../text/translate';
import type { Feed } from './feed';
import { SeenKeys } from './seen';
import type { ITelling } from './told';

/** Held, together, by all tabs that are seen. */
const SEEN = 'hai:seen';
/** Held by the one hidden tab that listens. */
const LISTENS = 'hai:listens';

/** Whether this browser can show notifications at all: on an address without HTTPS, other than this machine's, none can. */
export function canNotify(): boolean {
  return typeof Notification !== 'undefined' && typeof navigator !== 'undefined' && 'locks' in navigator;
}

/** Whether the user has allowed them: `granted`, `denied`, or `default`, which is not yet. */
export function permission(): NotificationPermission {
  return canNotify() ? Notification.permission : 'denied';
}

/** Ask the user. Browsers only ask after a click. */
export function askPermission(): Promise<NotificationPermission> {
  return canNotify() ? Notification.requestPermission() : Promise.resolve('denied');
}

/** Show a notification by the browser now, so that the user sees whether the system lets it through. */
export function showTest(): void {
  put('hai-test', trans.__('This is how HAI tells you things while none of its tabs can be seen.'));
}

/** A notification of the browser; one with the same tag is replaced. Null: this browser cannot. */
function put(tag: string, body: string): Notification | null {
  try {
    return new Notification('HAI', { body, tag });
  } catch {
    // Browsers of phones leave this to service workers: there it is on the screen only.
    return null;
  }
}

/** Starts and stops the feed as tabs are seen and hidden. */
export class Attention implements IDisposable {
  private release: AbortController | null = null;
  isDisposed = false;

  constructor(private readonly feed: Pick<Feed, 'start' | 'stop'>) {
    document.addEventListener('visibilitychange', this.follow);
    this.follow();
  }

  dispose(): void {
    this.isDisposed = true;
    document.removeEventListener('visibilitychange', this.follow);
    this.release?.abort();
    this.feed.stop();
  }

  private readonly follow = (): void => {
    this.release?.abort();
    this.release = null;
    if (!document.hidden) {
      this.feed.start();
      this.hold(SEEN, 'shared', () => undefined);
      return;
    }
    this.feed.stop();
    if (permission() === 'granted') {
      this.hold(LISTENS, 'exclusive', () => this.feed.start());
    }
  };

  /** Hold a lock until the tab is seen or hidden. The browser gives it on when the tab is closed. */
  private hold(name: string, mode: LockMode, held: () => void): void {
    if (!canNotify()) {
      return;
    }
    const release = new AbortController();
    this.release = release;
    const { signal } = release;
    navigator.locks
      .request(name, { mode, signal }, () => {
        if (signal.aborted) {
          return undefined;
        }
        held();
        return new Promise<void>(done => signal.addEventListener('abort', () => done(), { once: true }));
      })
      // It was given up before it was held.
      .catch(() => undefined);
  }
}

/** Shows notifications by the browser: each once in all tabs, and none while another tab of HAI is seen. */
export class Outside {
  private readonly seen = new SeenKeys('hai:told');

  constructor(private readonly open: (telling: ITelling) => void) {}

  readonly show = async (telling: ITelling): Promise<void> => {
    if (permission() !== 'granted') {
      return;
    }
    const { held = [] } = await navigator.locks.query();
    if (held.some(lock => lock.name === SEEN) || !this.seen.add(telling.key)) {
      return;
    }
    const shown = put(`hai-${telling.key}`, telling.text);
    if (shown === null) {
      return;
    }
    shown.onclick = () => {
      window.focus();
      this.open(telling);
      shown.close();
    };
  };
}
