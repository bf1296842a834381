/** Many requests to read again become few readings. */

/**
 * Runs a function at most once every `interval` ms and never twice at a time; a request is never lost.
 *
 * `Throttler` of `@lumino/polling` is something else: it drops requests that come while its function runs, and waits between
 * two runs only if it also delays the first.
 */
export class Coalescer {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private running = false;
  private again = false;
  private disposed = false;
  private last = -Infinity;

  constructor(
    private readonly work: () => Promise<void>,
    private readonly interval: number
  ) {}

  /** Ask for a run: at once if the last one is long enough ago, else when it is. */
  request(): void {
    if (this.disposed || this.timer !== null) {
      return;
    }
    if (this.running) {
      this.again = true;
      return;
    }
    const wait = Math.max(0, this.last + this.interval - Date.now());
    this.timer = setTimeout(() => void this.run(), wait);
  }

  dispose(): void {
    this.disposed = true;
    if (this.timer !== null) {
      clearTimeout(this.timer);
    }
  }

  private async run(): Promise<void> {
    this.timer = null;
    this.running = true;
    this.last = Date.now();
    try {
      await this.work();
    } finally {
      this.running = false;
      if (this.again) {
        this.again = false;
        this.request();
      }
    }
  }
}

/** Whether a signal is aborted. A function, because it can change while something is awaited. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Wait, or until a signal is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
