/** Metrics of a task as columns: how pieces of them are put together. Pure functions; times are Unix times in seconds. */

import type { IRankSeries, IRunSeries, ITaskSeries } from '../api/types';

type Columns = Record<string, (number | null)[]>;

/** The points of `old`, and those of `added`: of each rank, these replace what is as new as the first of them. */
export function merged(old: ITaskSeries, added: ITaskSeries): ITaskSeries {
  const numbers = [...new Set([...old.runs, ...added.runs].map(run => run.run))].sort((a, b) => a - b);
  return {
    step: added.step,
    units: { ...old.units, ...added.units },
    runs: numbers.map(number =>
      mergedRun(
        old.runs.find(run => run.run === number),
        added.runs.find(run => run.run === number)
      )
    )
  };
}

/** Only the points that end after a time. */
export function trimmed(series: ITaskSeries, since: number): ITaskSeries {
  return { ...series, runs: series.runs.map(run => ({ ...run, ranks: run.ranks.map(after(since)) })) };
}

/** Until when everything is known: the newest point of that rank of the latest run whose newest is the oldest; null: no point. */
export function knownUntil(series: ITaskSeries): number | null {
  const last = [...series.runs].reverse().find(run => run.ranks.some(rank => rank.at.length > 0));
  const newest = last?.ranks.flatMap(rank => rank.at.slice(-1)) ?? [];
  return newest.length === 0 ? null : Math.min(...newest);
}

/** The end of the newest point; null: no point. */
export function newestOf(series: ITaskSeries): number | null {
  const ends = series.runs.flatMap(run => run.ranks.flatMap(rank => rank.at.slice(-1)));
  return ends.length === 0 ? null : Math.max(...ends);
}

/** Points of the rank that has most. */
export function lengthOf(series: ITaskSeries): number {
  const lengths: Record<number, number> = {};
  for (const rank of series.runs.flatMap(run => run.ranks)) {
    lengths[rank.rank] = (lengths[rank.rank] ?? 0) + rank.at.length;
  }
  return Math.max(0, ...Object.values(lengths));
}

function mergedRun(old: IRunSeries | undefined, added: IRunSeries | undefined): IRunSeries {
  const run = added ?? old;
  if (!run) {
    throw new Error('There is no run to put together.');
  }
  const numbers = [...new Set([...(old?.ranks ?? []), ...(added?.ranks ?? [])].map(rank => rank.rank))];
  return {
    ...run,
    ranks: numbers
      .sort((a, b) => a - b)
      .flatMap(number => {
        const [first, second] = [old, added].map(each => each?.ranks.find(rank => rank.rank === number));
        if (first && second && second.at.length > 0) {
          return [joined(cut(first, 0, firstAfter(first, (second.at[0] ?? 0) - 1)), second)];
        }
        return [first ?? second].filter(rank => rank !== undefined);
      })
  };
}

function joined(first: IRankSeries, second: IRankSeries): IRankSeries {
  const [before, behind] = [first.at.length, second.at.length];
  const columns = (a: Columns, b: Columns): Columns =>
    Object.fromEntries(
      [...new Set([...Object.keys(a), ...Object.keys(b)])].map(name => [
        name,
        [...(a[name] ?? nothing(before)), ...(b[name] ?? nothing(behind))]
      ])
    );
  return {
    ...second,
    at: [...first.at, ...second.at],
    least: columns(first.least, second.least),
    mean: columns(first.mean, second.mean),
    greatest: columns(first.greatest, second.greatest)
  };
}

function nothing(length: number): null[] {
  return Array.from({ length }, () => null);
}

function after(since: number): (rank: IRankSeries) => IRankSeries {
  return rank => cut(rank, firstAfter(rank, since), rank.at.length);
}

function firstAfter(rank: IRankSeries, since: number): number {
  const found = rank.at.findIndex(at => at > since);
  return found < 0 ? rank.at.length : found;
}

function cut(rank: IRankSeries, from: number, to: number): IRankSeries {
  if (from === 0 && to === rank.at.length) {
    return rank;
  }
  const columns = (all: Columns): Columns =>
    Object.fromEntries(Object.entries(all).map(([name, values]) => [name, values.slice(from, to)]));
  return {
    ...rank,
    at: rank.at.slice(from, to),
    least: columns(rank.least),
    mean: columns(rank.mean),
    greatest: columns(rank.greatest)
  };
}
