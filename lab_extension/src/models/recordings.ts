/** Recordings of what a running task does: ordered here, and read until their ranks have answered. */

import type { IApi } from '../api/client';
import { sentenceOf } from '../api/request';
import type { IRecording } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Time between two readings, in ms: a recording takes some seconds. */
const EVERY = 2_000;

/** The recordings of a task, the newest first. */
export class RecordingsModel extends LiveModel {
  items: readonly IRecording[] = [];
  /** Why the last order was refused; null: it was not. */
  refusal: string | null = null;
  private ordering = false;
  private shown = false;
  private loaded = false;

  constructor(
    readonly id: number,
    readonly api: Pick<IApi, 'recordings' | 'recording' | 'record' | 'traceUrl' | 'allTracesUrl'>,
    feed: Feed
  ) {
    super({ feed, name: `hai:recordings-${id}`, interval: EVERY, fallback: EVERY, live: EVERY });
  }

  /** Whether ranks are recording, or an order is on its way. */
  get busy(): boolean {
    return this.ordering || this.items.some(one => one.state === 'recording');
  }

  /** Read once, and again while something is recorded; until nobody looks any more. */
  show(on: boolean): void {
    if (this.shown !== on && !this.isDisposed) {
      this.shown = on;
      if (on) {
        // Others may have ordered some meanwhile.
        this.loaded = false;
        void this.start().then(() => this.refresh());
      }
    }
  }

  /** Record some seconds. */
  async record(seconds: number): Promise<void> {
    this.ordering = true;
    this.refusal = null;
    this.emit();
    try {
      const made = await this.api.record(this.id, { seconds });
      this.items = [made, ...this.items.filter(one => one.id !== made.id)];
    } catch (error) {
      this.refusal = sentenceOf(error);
    } finally {
      this.ordering = false;
      this.emit();
    }
  }

  protected concerns(): boolean {
    // No event tells of recordings.
    return false;
  }

  protected async read(): Promise<void> {
    if (!this.shown) {
      return;
    }
    if (!this.loaded) {
      this.items = (await this.api.recordings(this.id)).items;
      this.loaded = true;
    }
    const open = this.items.filter(one => one.state === 'recording');
    const found = await Promise.all(open.map(one => this.api.recording(this.id, one.id)));
    this.items = this.items.map(one => found.find(each => each.id === one.id) ?? one);
  }
}
