/** What the ranks of a task use: read while somebody looks, back over all runs, then the newest points as they come. */

import type { IApi, ISeriesQuery } from '../api/client';
import type { IRun, ITaskSeries } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';
import { PointStream } from './points';
import { knownUntil, lengthOf, merged, newestOf, trimmed } from './series';

export interface IRange {
  /** Its length in seconds; null: since the task first ran. */
  seconds: number | null;
  /** The length of the spans in seconds; null: as the platform chooses. */
  step: number | null;
}

export const RANGES = {
  '15m': { seconds: 900, step: 10 },
  '1h': { seconds: 3_600, step: 10 },
  '24h': { seconds: 86_400, step: 120 },
  all: { seconds: null, step: null }
} as const satisfies Record<string, IRange>;

export type RangeName = keyof typeof RANGES;

/** Ranks that are shown at once: their lines can still be told apart. */
export const MOST_RANKS = 8;

/** The least time that is shown, in seconds. */
const LEAST = 60;
/** Points of a rank after which a range without an end is read again in longer spans. */
const MOST_POINTS = 1_200;
/** The spans of the stream, in seconds: only a range of the same spans can take its points. */
const NEWEST_STEP = 10;
/** Time between two readings without a stream, in ms: ranks send as often; and with one, in case that it has missed something. */
const EVERY = 10_000;
const EVERY_WITH_STREAM = 60_000;
/** How long after the end of a run its last points may come, in seconds; and how far back one silent rank makes us read again. */
const LATE = 900;
/** GPUs of a rank that are asked for: names of more would make the address too long for some proxies. */
const GPUS = 16;

/** All metrics that the charts are made of. */
export const NAMES: readonly string[] = [
  'cpu',
  'memory',
  'disk_read',
  'disk_written',
  'net_received',
  'net_sent',
  'ib_received',
  'ib_sent',
  ...Array.from({ length: GPUS }, (_, gpu) =>
    ['use', 'memory', 'power', 'sm'].map(each => `gpu${gpu}_${each}`)
  ).flat()
];

/** When a task first ran, and when its latest run ended (null: it runs); Unix times in seconds. */
export interface ITimes {
  began: number;
  ended: number | null;
}

/** The times of a task with these runs; null: there are none. */
export function timesOf(runs: readonly Pick<IRun, 'started_at' | 'ended_at'>[]): ITimes | null {
  const ends = runs.map(run => (run.ended_at === null ? Infinity : Date.parse(run.ended_at) / 1000));
  const ended = Math.max(...ends);
  return runs.length === 0
    ? null
    : {
        began: Math.min(...runs.map(run => Date.parse(run.started_at) / 1000)),
        ended: ended === Infinity ? null : ended
      };
}

/** The metrics of a task whose view is open. */
export class PerformanceModel extends LiveModel {
  /** The points, of the earlier choice until those of the present one are read; null: nothing is read yet. */
  series: ITaskSeries | null = null;
  range: RangeName = '15m';
  ranks: readonly number[] = [0];
  /** From when to when it is shown, Unix times in seconds. */
  window: readonly [number, number] = [0, 0];
  private shown = false;
  private started = false;
  /** Whether the points are of the present choice, so that only new ones are to be read. */
  private fresh = false;
  /** Grows with each choice: an answer to an earlier one is not shown. */
  private choice = 0;
  private readAt = 0;
  private readonly stream: PointStream;

  /**
   * @param id The task.
   * @param api The platform.
   * @param feed Tells when something happens to the task.
   * @param times Of the task; null: it never ran.
   */
  constructor(
    readonly id: number,
    private readonly api: Pick<IApi, 'metrics' | 'metricsFollow'>,
    feed: Feed,
    private readonly times: () => ITimes | null
  ) {
    super({ feed, name: `hai:performance-${id}`, interval: 2_000, fallback: EVERY, live: EVERY });
    this.stream = new PointStream(id, api, points => this.takeNewest(points));
  }

  /** Whether the points of the present choice are still to come. */
  get loading(): boolean {
    return !this.fresh;
  }

  /** Whether somebody looks at it: nothing is read for nobody. */
  show(on: boolean): void {
    if (on === this.shown || this.isDisposed) {
      return;
    }
    this.shown = on;
    if (!on) {
      this.stream.close();
      return;
    }
    this.readAt = 0;
    void (this.started ? this.refresh() : this.start());
    this.started = true;
  }

  setRange(range: RangeName): void {
    this.range = range;
    this.startOver();
  }

  /** Show these ranks, at most the first `MOST_RANKS` of them. */
  setRanks(ranks: readonly number[]): void {
    this.ranks = [...ranks].sort((a, b) => a - b).slice(0, MOST_RANKS);
    this.startOver();
  }

  override dispose(): void {
    this.stream.close();
    super.dispose();
  }

  protected concerns(): boolean {
    // Points have a stream of their own.
    return false;
  }

  protected async read(): Promise<void> {
    const times = this.times();
    const now = Date.now() / 1000;
    if (!this.shown || times === null || !this.isDue(times, now)) {
      return;
    }
    const known = this.fresh ? this.series : null;
    const since = known === null ? null : sinceOf(known, now);
    const choice = this.choice;
    const query = { ...this.query(), step: known?.step ?? RANGES[this.range].step ?? undefined };
    const answer = await this.api.metrics(this.id, { ...query, since: since ?? this.beginning(times, now) });
    if (choice !== this.choice) {
      // The timer reads once at a time: the present choice is read here.
      return this.read();
    }
    this.readAt = now;
    if (this.series !== null && since !== null) {
      this.take(merged(this.series, answer), times);
    } else {
      this.take(answer, times);
      this.fresh = true;
    }
    if (times.ended === null) {
      this.openStream();
    }
  }

  /** Where the chosen range begins; undefined: with the task. */
  private beginning(times: ITimes, now: number): number | undefined {
    const { seconds } = RANGES[this.range];
    return seconds === null ? undefined : Math.floor((times.ended ?? now) - seconds);
  }

  /** Whether a reading can find anything new. */
  private isDue(times: ITimes, now: number): boolean {
    if (!this.fresh || this.series === null) {
      return true;
    }
    if (times.ended !== null && this.readAt - times.ended > LATE) {
      return false;
    }
    const pause = this.stream.live ? EVERY_WITH_STREAM : Math.max(EVERY, this.series.step * 250);
    // A timer is never exact.
    return (now - this.readAt) * 1000 > pause - 1_000;
  }

  /** Show these points. */
  private take(series: ITaskSeries, times: ITimes): void {
    const { seconds } = RANGES[this.range];
    const now = Date.now() / 1000;
    const to = times.ended ?? Math.max(now, newestOf(series) ?? 0);
    const from = seconds === null ? times.began : to - seconds;
    this.series = seconds === null ? series : trimmed(series, from);
    // Before its first start there is nothing to see; and what has just begun is not drawn over the whole width.
    this.window = [Math.min(Math.max(from, times.began), to - LEAST), to];
    // A task that has become too long for these spans gets longer ones with the next reading.
    if (seconds === null && lengthOf(series) > MOST_POINTS) {
      this.fresh = false;
    }
  }

  private query(): ISeriesQuery {
    return { ranks: this.ranks, names: NAMES };
  }

  private startOver(): void {
    this.choice += 1;
    this.fresh = false;
    this.stream.close();
    this.emit();
    if (this.shown) {
      void this.refresh();
    }
  }

  private openStream(): void {
    if (this.shown && this.series?.step === NEWEST_STEP) {
      this.stream.open(this.query());
    }
  }

  private takeNewest(points: ITaskSeries): void {
    const times = this.times();
    if (this.series !== null && times !== null && this.fresh) {
      this.take(merged(this.series, points), times);
      this.emit();
    }
  }
}

/** From when on to read again: the newest span of each rank may not be complete, and slow ranks send later. */
function sinceOf(series: ITaskSeries, now: number): number | null {
  const until = knownUntil(series);
  if (until === null) {
    return null;
  }
  const { step } = series;
  const from = Math.max(until, now - LATE) - step;
  return Math.floor(from / step) * step;
}
