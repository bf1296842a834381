/** The log of one rank of a task: the last lines, then live. */

import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { IApi } from '../api/client';
import { ApiError, sentenceOf } from '../api/request';
import type { ILogHits, ILogLine } from '../api/types';
import { isOver, sleep } from './coalesce';

/** Lines in a chunk: only the last chunk changes when a line is added. */
export const CHUNK = 100;

/** A line with its place in the order of arrival. */
export interface INumberedLine extends ILogLine {
  key: number;
}

export interface IChunk {
  /** The key of its first line. */
  key: number;
  lines: readonly INumberedLine[];
}

export type LogStatus = 'loading' | 'live' | 'ended' | 'lost' | 'idle';

const RETRY = { first: 1_000, longest: 20_000 };
/** Time in ms within which arriving lines are shown together. */
const GATHER = 80;

/** A window of at most `limit` lines at the end of a log. */
export class LogModel implements IDisposable {
  private readonly _changed = new Signal<this, void>(this);
  private _chunks: readonly IChunk[] = [];
  private _status: LogStatus = 'idle';
  private _error: string | null = null;
  private _dropped = false;
  private _rank = 0;
  private pending: ILogLine[] = [];
  private gather: ReturnType<typeof setTimeout> | null = null;
  private abort: AbortController | null = null;
  private nextKey = 0;
  private hold = false;
  private _isDisposed = false;

  constructor(
    private readonly id: number,
    private readonly api: Pick<IApi, 'logTail' | 'logFollow' | 'logSearch'>,
    private _limit = 2_000
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get chunks(): readonly IChunk[] {
    return this._chunks;
  }

  get status(): LogStatus {
    return this._status;
  }

  get error(): string | null {
    return this._error;
  }

  get rank(): number {
    return this._rank;
  }

  get limit(): number {
    return this._limit;
  }

  /** Whether there are earlier lines than those that are kept. */
  get dropped(): boolean {
    return this._dropped;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get lineCount(): number {
    return this._chunks.reduce((sum, chunk) => sum + chunk.lines.length, 0);
  }

  /** Read the end of a rank's log and follow it. Starts over if a log is open. */
  open(rank = this._rank): void {
    this.close();
    this._rank = rank;
    this._chunks = [];
    this._dropped = false;
    this._error = null;
    this.setStatus('loading');
    this.abort = new AbortController();
    void this.follow(rank, this.abort.signal);
  }

  /** Stop following; the lines stay. */
  close(): void {
    this.abort?.abort();
    this.abort = null;
    this.flush();
    if (this._status !== 'ended') {
      this.setStatus('idle');
    }
  }

  /** Keep up to `limit` lines from now on and read the log again. */
  setLimit(limit: number): void {
    if (limit !== this._limit) {
      this._limit = limit;
      if (this.abort) {
        this.open();
      }
    }
  }

  /** While the user looks at earlier lines, twice as many are kept, so that these lines stay. */
  setHold(hold: boolean): void {
    this.hold = hold;
    if (!hold) {
      this.trim();
    }
  }

  /** Look for a text in all ranks and runs. Throws ApiError. */
  search(text: string): Promise<ILogHits> {
    return this.api.logSearch(this.id, text);
  }

  dispose(): void {
    this._isDisposed = true;
    this.close();
    if (this.gather !== null) {
      clearTimeout(this.gather);
    }
    Signal.clearData(this);
  }

  private async follow(rank: number, signal: AbortSignal): Promise<void> {
    const place: IPlace = { cursor: null, heard: false };
    let wait = RETRY.first;
    while (!isOver(signal)) {
      let asked = 0;
      try {
        if (await this.readOn(rank, place, signal)) {
          this.flush();
          this.setStatus('ended');
          return;
        }
      } catch (error) {
        if (isOver(signal) || !this.mayRetry(error, place)) {
          return;
        }
        asked = error instanceof ApiError ? Math.min(error.retryAfter, RETRY.longest) : 0;
      }
      wait = place.heard ? RETRY.first : wait;
      place.heard = false;
      await sleep(Math.max(wait, asked), signal);
      wait = Math.min(wait * 2, RETRY.longest);
    }
  }

  /** Read from a place until the stream ends. true: nothing will ever be added. */
  private async readOn(rank: number, place: IPlace, signal: AbortSignal): Promise<boolean> {
    if (place.cursor === null) {
      const page = await this.api.logTail(this.id, rank, this._limit, signal);
      if (isOver(signal)) {
        return false;
      }
      this._dropped = page.lines.length >= this._limit;
      this.append(page.lines);
      place.cursor = page.next_cursor;
      if (page.final) {
        return true;
      }
    }
    this._error = null;
    this.setStatus('live');
    for await (const message of this.api.logFollow(this.id, rank, place.cursor, signal)) {
      if (isOver(signal) || message.event === 'end') {
        return !isOver(signal);
      }
      place.heard = true;
      place.cursor = message.id || place.cursor;
      if (message.event === 'line') {
        this.add(JSON.parse(message.data) as ILogLine);
      }
    }
    return false;
  }

  private mayRetry(error: unknown, place: IPlace): boolean {
    this._error = sentenceOf(error);
    this.setStatus('lost');
    if (error instanceof ApiError && error.status === 400 && place.cursor !== null) {
      // The place is gone there (its part was rotated away): read the end again.
      place.cursor = null;
      this._chunks = [];
      return true;
    }
    return !(error instanceof ApiError) || error.passing;
  }

  private add(line: ILogLine): void {
    this.pending.push(line);
    this.gather ??= setTimeout(() => this.flush(), GATHER);
  }

  private flush(): void {
    if (this.gather !== null) {
      clearTimeout(this.gather);
      this.gather = null;
    }
    if (this.pending.length > 0) {
      const lines = this.pending;
      this.pending = [];
      this.append(lines);
    }
  }

  private append(lines: readonly ILogLine[]): void {
    const chunks = [...this._chunks];
    for (const line of lines) {
      const numbered = { ...line, key: this.nextKey++ };
      const last = chunks.at(-1);
      if (last && last.lines.length < CHUNK) {
        chunks[chunks.length - 1] = { key: last.key, lines: [...last.lines, numbered] };
      } else {
        chunks.push({ key: numbered.key, lines: [numbered] });
      }
    }
    this._chunks = chunks;
    this.trim();
  }

  private trim(): void {
    const most = this.hold ? 2 * this._limit : this._limit;
    let count = this.lineCount;
    let first = 0;
    while (count > most && first < this._chunks.length - 1) {
      count -= this._chunks[first]?.lines.length ?? 0;
      first++;
    }
    if (first > 0) {
      this._chunks = this._chunks.slice(first);
      this._dropped = true;
    }
    this._changed.emit();
  }

  private setStatus(status: LogStatus): void {
    if (status !== this._status) {
      this._status = status;
      this._changed.emit();
    }
  }
}

/** Where reading goes on, and whether anything came since the last try. */
interface IPlace {
  cursor: string | null;
  heard: boolean;
}
