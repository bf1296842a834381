/** The newest points of a task as they come. */

import type { IApi, ISeriesQuery } from '../api/client';
import { ApiError } from '../api/request';
import type { ITaskSeries } from '../api/types';
import { isOver, sleep } from './coalesce';

/** Waits before it is opened again, in ms. */
const RETRY = { first: 2_000, longest: 60_000 };

/** A stream that is opened again when it is lost. What it misses, its owner reads. */
export class PointStream {
  private abort: AbortController | null = null;
  /** Whether points come by it now. */
  live = false;

  constructor(
    private readonly id: number,
    private readonly api: Pick<IApi, 'metricsFollow'>,
    private readonly take: (points: ITaskSeries) => void
  ) {}

  /** Open it and keep it open until `close`, or the end of the task. Does nothing when it is open. */
  open(query: ISeriesQuery): void {
    if (this.abort === null) {
      this.abort = new AbortController();
      void this.keepOpen(query, this.abort.signal);
    }
  }

  close(): void {
    this.abort?.abort();
    this.abort = null;
    this.live = false;
  }

  private async keepOpen(query: ISeriesQuery, signal: AbortSignal): Promise<void> {
    let wait = RETRY.first;
    while (!isOver(signal)) {
      let asked = 0;
      try {
        if (await this.readOn(query, signal)) {
          this.close();
          return;
        }
      } catch (error) {
        asked = error instanceof ApiError ? Math.min(error.retryAfter, RETRY.longest) : 0;
      }
      if (isOver(signal)) {
        return;
      }
      wait = this.live ? RETRY.first : wait;
      this.live = false;
      await sleep(Math.max(wait, asked), signal);
      wait = Math.min(2 * wait, RETRY.longest);
    }
  }

  /** Read until the stream ends. true: no point will ever come. */
  private async readOn(query: ISeriesQuery, signal: AbortSignal): Promise<boolean> {
    for await (const message of this.api.metricsFollow(this.id, query, signal)) {
      if (isOver(signal) || message.event === 'problem') {
        return false;
      }
      if (message.event === 'end') {
        return true;
      }
      this.live = true;
      if (message.event === 'points') {
        this.take(JSON.parse(message.data) as ITaskSeries);
      }
    }
    return false;
  }
}
