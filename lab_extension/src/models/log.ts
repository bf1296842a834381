/** The log of one rank of a task: the last lines, then live; and any other part of it. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { IApi } from '../api/client';
import { ApiError, sentenceOf } from '../api/request';
import type { ILogHits, ILogLine, ILogPage } from '../api/types';
import { isOver, sleep } from './coalesce';
import { Gather } from './gather';
import { LogPlaces } from './logPlaces';
import { LogWindow, type IChunk } from './logWindow';

export type LogStatus = 'loading' | 'live' | 'ended' | 'lost' | 'idle';

const RETRY = { first: 1_000, longest: 20_000 };
/** Time in ms within which arriving lines are shown together. */
const GATHER = 80;

/** Lines that are read at once where the reader looks back. */
const PAGE = 500;
/** Lines before and behind a place that is jumped to. */
const AROUND = 200;

/** Where reading goes on, and whether anything came since the last try. */
interface IPlace {
  cursor: string | null;
  heard: boolean;
}

/** The log of one rank: a window of about `limit` lines, which moves to where the reader looks. */
export class LogModel implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  private readonly window = new LogWindow();
  private places = new LogPlaces();
  status: LogStatus = 'idle';
  error: string | null = null;
  rank = 0;
  /** Whether the last line that is held is the last one of the log. */
  atEnd = true;
  /** The key of the line that was jumped to. */
  target: number | null = null;
  /** Whether nothing will ever be added to the log. */
  complete = false;
  private readonly gathered = new Gather<ILogLine>(lines => this.arrived(lines), GATHER);
  private abort: AbortController | null = null;
  private reading: AbortController | null = null;
  private hold = false;
  isDisposed = false;

  constructor(
    private readonly id: number,
    private readonly api: Pick<
      IApi,
      'logTail' | 'logPage' | 'logFollow' | 'logSearch' | 'logExtents' | 'logDownloadUrl'
    >,
    private readonly limit = 2_000
  ) {}

  get chunks(): readonly IChunk[] {
    return this.window.chunks;
  }

  /** Whether the first line that is held is the first one of the log. */
  get atStart(): boolean {
    return this.window.first;
  }

  /** How many bytes of the log are before, in and behind the lines that are held; 0 as long as it is not known. */
  get bytes(): { before: number; held: number; behind: number } {
    const { begins, ends, first } = this.window;
    const before = first ? 0 : this.places.before(begins);
    const held = Math.max(0, this.places.before(ends) - before);
    return { before, held, behind: this.atEnd ? 0 : Math.max(0, this.places.size - before - held) };
  }

  get lineCount(): number {
    return this.window.count;
  }

  /** Read the end of a rank's log and follow it. Starts over if a log is open. */
  open(rank = this.rank): void {
    this.begin(rank);
    this.window.clear();
    this.complete = false;
    this.atEnd = true;
    this.abort = new AbortController();
    void this.follow(rank, this.abort.signal);
  }

  /** Stop following; the lines stay. */
  close(): void {
    this.abort?.abort();
    this.abort = null;
    this.reading?.abort();
    this.reading = null;
    this.gathered.flush();
    this.rest();
  }

  /** Read lines before those that are held, unless some are being read. */
  async earlier(): Promise<void> {
    if (this.window.first || this.reading !== null) {
      return;
    }
    const { begins } = this.window;
    await this.read(async signal => {
      const page = await this.api.logPage(this.id, this.rank, { before: begins, limit: PAGE }, signal);
      // Meanwhile the first lines may have been dropped, or the end may have been read again.
      if (!isOver(signal) && this.window.begins === begins) {
        this.window.prepend(page.lines, page.prev_cursor);
        if (this.window.dropLast(this.limit)) {
          this.leaveEnd();
        }
      }
    });
  }

  /** Read lines behind those that are held, unless some are being read. */
  async later(): Promise<void> {
    if (this.atEnd || this.reading !== null) {
      return;
    }
    await this.read(signal => this.readLater(PAGE, signal));
  }

  /** Show the lines around a position, and mark the line before it. */
  jump(cursor: string, rank = this.rank): Promise<void> {
    return this.move(rank, async signal => {
      const page = await this.api.logPage(this.id, rank, { before: cursor, limit: AROUND }, signal);
      if (isOver(signal)) {
        return;
      }
      this.window.clear(cursor, false);
      this.window.prepend(page.lines, page.prev_cursor);
      this.target = this.window.chunks.at(-1)?.lines.at(-1)?.key ?? null;
      await this.readLater(AROUND, signal);
    });
  }

  /** Show the lines that are about as many bytes behind the beginning of the log. */
  jumpTo(bytes: number): Promise<void> {
    const cursor = this.places.at(bytes);
    return this.move(this.rank, async signal => {
      const page = await this.api.logPage(this.id, this.rank, { cursor, limit: PAGE }, signal);
      if (isOver(signal)) {
        return;
      }
      // The first line may have begun before this place.
      const cut = cursor.endsWith(':start') || page.lines[0]?.rank === null ? 0 : 1;
      const begins = cut === 0 ? cursor : (page.lines[0]?.cursor ?? cursor);
      this.window.clear(begins, page.prev_cursor === null);
      this.target = null;
      this.take(page, page.lines.slice(cut), PAGE);
    });
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

  /** Where the whole log of the rank can be downloaded. */
  downloadUrl(times: boolean): string {
    return this.api.logDownloadUrl(this.id, this.rank, times);
  }

  dispose(): void {
    this.isDisposed = true;
    this.close();
    Signal.clearData(this);
  }

  private begin(rank: number): void {
    this.close();
    if (rank !== this.rank) {
      this.rank = rank;
      this.places = new LogPlaces();
      this.window.clear();
      this.complete = false;
    }
    this.error = null;
    this.target = null;
    this.setStatus('loading');
  }

  /** Leave the place where the window is; it may be another rank's. */
  private move(rank: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.begin(rank);
    this.atEnd = false;
    return this.read(async signal => {
      if (this.places.isEmpty) {
        await this.measure(signal);
      }
      await work(signal);
    });
  }

  private async read(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const reading = (this.reading = new AbortController());
    try {
      await work(reading.signal);
      this.error = null;
    } catch (error) {
      if (!isOver(reading.signal)) {
        this.error = sentenceOf(error);
      }
    }
    if (this.reading === reading) {
      this.reading = null;
      if (this.status === 'loading') {
        this.rest();
      }
      this.changed.emit();
    }
  }

  private async readLater(limit: number, signal: AbortSignal): Promise<void> {
    const page = await this.api.logPage(this.id, this.rank, { cursor: this.window.ends, limit }, signal);
    if (!isOver(signal)) {
      this.take(page, page.lines, limit);
    }
  }

  /** Take lines behind those that are held. */
  private take(page: ILogPage, lines: readonly ILogLine[], limit: number): void {
    this.window.append(lines, page.next_cursor);
    this.places = this.places.upTo(this.window.ends);
    this.window.dropFirst(this.limit);
    this.complete ||= page.final;
    if (page.final) {
      this.atEnd = true;
    } else if (
      page.lines.length === 0 ||
      (page.lines.length < limit && this.places.before(page.next_cursor) >= this.places.size)
    ) {
      // There is nothing more by now: what comes is followed.
      this.atEnd = true;
      this.abort = new AbortController();
      void this.follow(this.rank, this.abort.signal, page.next_cursor);
    }
    this.changed.emit();
  }

  /** Stop following, because lines at the end are not held any more. */
  private leaveEnd(): void {
    this.atEnd = false;
    this.abort?.abort();
    this.abort = null;
    this.gathered.clear();
    this.rest();
  }

  /** Ask how long the log is; without an answer the window is all that can be scrolled in. */
  private async measure(signal: AbortSignal): Promise<void> {
    const extents = await this.api.logExtents(this.id, this.rank, signal).catch(() => null);
    if (extents !== null && !isOver(signal)) {
      this.places = new LogPlaces(extents.items);
      this.changed.emit();
    }
  }

  private async follow(rank: number, signal: AbortSignal, cursor: string | null = null): Promise<void> {
    const place: IPlace = { cursor, heard: false };
    let wait = RETRY.first;
    while (!isOver(signal)) {
      let asked = 0;
      try {
        if (await this.readOn(rank, place, signal)) {
          this.gathered.flush();
          this.complete = true;
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
      const page = await this.api.logTail(this.id, rank, this.limit, signal);
      if (isOver(signal)) {
        return false;
      }
      this.window.clear(page.next_cursor, false);
      this.window.prepend(page.lines, page.prev_cursor);
      place.cursor = page.next_cursor;
      this.changed.emit();
      void this.measure(signal);
      if (page.final) {
        return true;
      }
    }
    this.error = null;
    this.setStatus('live');
    for await (const message of this.api.logFollow(this.id, rank, place.cursor, signal)) {
      if (isOver(signal) || message.event === 'end') {
        return !isOver(signal);
      }
      place.heard = true;
      place.cursor = message.id || place.cursor;
      if (message.event === 'line') {
        this.gathered.add(JSON.parse(message.data) as ILogLine);
      }
    }
    return false;
  }

  private mayRetry(error: unknown, place: IPlace): boolean {
    this.error = sentenceOf(error);
    this.setStatus('lost');
    if (error instanceof ApiError && error.status === 400 && place.cursor !== null) {
      // The place is gone there (its part was rotated away): read the end again.
      place.cursor = null;
      return true;
    }
    return !(error instanceof ApiError) || error.passing;
  }

  private arrived(lines: readonly ILogLine[]): void {
    const last = lines.at(-1);
    this.window.append(lines, last?.cursor ?? this.window.ends);
    this.places = this.places.upTo(this.window.ends);
    this.trim();
    if (last && this.abort !== null && !this.places.isEmpty && !this.places.has(last.run)) {
      void this.measure(this.abort.signal);
    }
  }

  private trim(): void {
    if (!this.hold) {
      this.window.dropFirst(this.limit);
    } else if (this.window.dropLast(2 * this.limit)) {
      // What the reader looks at stays; what comes meanwhile is read when it is scrolled to.
      this.leaveEnd();
    }
    this.changed.emit();
  }

  private rest(): void {
    this.setStatus(this.complete ? 'ended' : 'idle');
  }

  private setStatus(status: LogStatus): void {
    if (status !== this.status) {
      this.status = status;
      this.changed.emit();
    }
  }
}
