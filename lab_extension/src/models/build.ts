/** A build and its output, as it comes. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IEnvironmentsApi } from '../api/environments';
import type { IBuild } from '../api/extension';
import { sentenceOf } from '../api/request';
import { isOver } from './coalesce';

/** The most lines on the page. */
const MOST_LINES = 5_000;
/** Wait before a lost log is read on, in ms. */
const AGAIN = 1_000;

/** Follows one build up to its end, over lost connections. */
export class BuildModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  lines: string[] = [];
  /** Why the output does not come now; null: it comes, or has ended. */
  error: string | null = null;
  private last = 0;
  private readonly abort = new AbortController();

  constructor(
    public build: IBuild,
    private readonly api: Pick<IEnvironmentsApi, 'log' | 'stop'>,
    private readonly again = AGAIN
  ) {}

  get isDisposed(): boolean {
    return this.abort.signal.aborted;
  }

  /** Follow it; resolves at its end. */
  async follow(): Promise<void> {
    const { signal } = this.abort;
    let ended = false;
    while (!ended && !isOver(signal)) {
      try {
        ended = await this.read(signal);
      } catch (error) {
        this.error = sentenceOf(error);
        this.emit();
      }
      if (!ended && !isOver(signal)) {
        await new Promise(resolve => setTimeout(resolve, this.again));
      }
    }
  }

  async stop(): Promise<void> {
    try {
      await this.api.stop(this.build.id);
    } catch (error) {
      this.error = sentenceOf(error);
      this.emit();
    }
  }

  dispose(): void {
    this.abort.abort();
    Signal.clearData(this);
  }

  private async read(signal: AbortSignal): Promise<boolean> {
    for await (const message of this.api.log(this.build.id, this.last, signal)) {
      this.error = null;
      if (message.event === 'end') {
        this.build = JSON.parse(message.data) as IBuild;
        this.emit();
        return true;
      }
      this.last = Number(message.id) || this.last;
      this.lines = [...this.lines.slice(1 - MOST_LINES), (JSON.parse(message.data) as { text: string }).text];
      this.emit();
    }
    return false;
  }

  private emit(): void {
    if (!this.isDisposed) {
      this.changed.emit();
    }
  }
}
