/** What the charts of a task show, made from the metrics of its ranks. Pure functions; times are Unix times in seconds. */

import type { IRankSeries, ITaskSeries } from '../../api/types';
import type { Unit } from './units';
import { trans } from '../../text/translate';

/** null: nothing was measured here, so the line is broken; undefined: the line has no point here and goes on. */
export type Value = number | null | undefined;

export interface ILine {
  key: string;
  /** Its colour and dash, where these are not those of its place in the chart. */
  look?: number;
  label: string;
  values: Value[];
  /** The greatest values within the spans; of sums, which have none, the values. */
  greatest: Value[];
  /** The least values within the spans; null: of sums. */
  least: Value[] | null;
}

export interface IChart {
  id: string;
  title: string;
  /** What it shows; a sentence. */
  what: string;
  unit: Unit;
  /** Ends of spans, and between them places where lines are broken. */
  x: number[];
  lines: ILine[];
}

interface IKind {
  id: string;
  title: () => string;
  /** What its lines are when one rank is shown; a sentence without the point. */
  what: () => string;
  unit: Unit;
  /** Metrics of the rank with the word of their line; or what of each GPU. */
  of: readonly (readonly [string, () => string])[] | string;
  /** How the metrics of a rank become one line where several ranks are shown. */
  join: 'mean' | 'sum';
}

const KINDS: readonly IKind[] = [
  {
    id: 'cpu',
    title: () => trans.__('Processors'),
    what: () => trans.__('Processor cores that its processes used'),
    unit: 'cores',
    of: [['cpu', () => trans.__('cores')]],
    join: 'sum'
  },
  {
    id: 'memory',
    title: () => trans.__('Memory'),
    what: () => trans.__('Memory that its processes held'),
    unit: 'bytes',
    of: [['memory', () => trans.__('memory')]],
    join: 'sum'
  },
  {
    id: 'gpu-use',
    title: () => trans.__('GPU use'),
    what: () =>
      trans.__(
        'Share of the time in which anything ran on a GPU; it does not say how much of the GPU was busy'
      ),
    unit: '%',
    of: 'use',
    join: 'mean'
  },
  {
    id: 'gpu-sm',
    title: () => trans.__('GPU multiprocessors'),
    what: () => trans.__('Share of the multiprocessors of a GPU that were busy'),
    unit: '%',
    of: 'sm',
    join: 'mean'
  },
  {
    id: 'gpu-memory',
    title: () => trans.__('GPU memory'),
    what: () => trans.__('Memory in use on a GPU'),
    unit: 'bytes',
    of: 'memory',
    join: 'sum'
  },
  {
    id: 'gpu-power',
    title: () => trans.__('GPU power'),
    what: () => trans.__('Power that a GPU drew: little power at high use is a GPU that mostly waits'),
    unit: 'W',
    of: 'power',
    join: 'sum'
  },
  {
    id: 'network',
    title: () => trans.__('Network'),
    what: () => trans.__('Bytes that came and went over the network, without the loopback'),
    unit: 'bytes/s',
    of: [
      ['net_received', () => trans.__('received')],
      ['net_sent', () => trans.__('sent')]
    ],
    join: 'sum'
  },
  {
    id: 'infiniband',
    title: () => trans.__('InfiniBand'),
    what: () => trans.__('Bytes that came and went over all InfiniBand ports of the node'),
    unit: 'bytes/s',
    of: [
      ['ib_received', () => trans.__('received')],
      ['ib_sent', () => trans.__('sent')]
    ],
    join: 'sum'
  },
  {
    id: 'disk',
    title: () => trans.__('Disk'),
    what: () => trans.__('Bytes that its processes read and wrote'),
    unit: 'bytes/s',
    of: [
      ['disk_read', () => trans.__('read')],
      ['disk_written', () => trans.__('written')]
    ],
    join: 'sum'
  }
];

/** The charts of which there is at least one point, in the order in which they are shown. */
export function chartsOf(series: ITaskSeries, now: number): IChart[] {
  const ranks = ranksIn(series);
  if (ranks.length === 0) {
    return [];
  }
  const grid = gridOf(series, now);
  return KINDS.map(kind => chartOf(kind, series, ranks, grid)).filter(chart => chart.lines.length > 0);
}

/** The ranks that have points. */
export function ranksIn(series: ITaskSeries): number[] {
  const found = series.runs.flatMap(run =>
    run.ranks.filter(rank => rank.at.length > 0).map(rank => rank.rank)
  );
  return [...new Set(found)].sort((a, b) => a - b);
}

/** Whether any GPU was measured. */
export function hasGpus(series: ITaskSeries): boolean {
  return series.runs.some(run => run.ranks.some(rank => namesOf(rank, 'use').length > 0));
}

/** The length in seconds of the spans that are kept of a time: older points are of longer spans. */
export function spacing(at: number, now: number, step: number): number {
  const age = now - at;
  // Points are folded by and by: at the border both lengths are found.
  const kept = age < 86_400 - 3_600 ? 10 : age < 30 * 86_400 - 86_400 ? 60 : 600;
  return Math.max(step, kept);
}

interface IGrid {
  x: number[];
  place: Map<number, number>;
  /** Where the lines of a rank are broken. */
  breaks: Map<number, number[]>;
}

/** All moments of which any rank has a point, and those where something is missing. */
function gridOf(series: ITaskSeries, now: number): IGrid {
  const moments = new Set<number>();
  const breaks = new Map<number, number[]>();
  const last = new Map<number, number>();
  for (const run of series.runs) {
    for (const { rank, at } of run.ranks) {
      at.forEach((end, index) => {
        const before = last.get(rank);
        // Two runs may have a point in the same span: between these there is nothing.
        if (
          before !== undefined &&
          end > before &&
          (index === 0 || end - before > 2.5 * spacing(before, now, series.step))
        ) {
          const gap = end - 1;
          moments.add(gap);
          breaks.set(rank, [...(breaks.get(rank) ?? []), gap]);
        }
        moments.add(end);
        last.set(rank, end);
      });
    }
  }
  const x = [...moments].sort((a, b) => a - b);
  return { x, place: new Map(x.map((at, index) => [at, index])), breaks };
}

function chartOf(kind: IKind, series: ITaskSeries, ranks: readonly number[], grid: IGrid): IChart {
  const several = ranks.length > 1;
  const lines = ranks.flatMap(rank => {
    const parts = partsOf(kind, series, rank);
    if (parts.length === 0) {
      return [];
    }
    return several
      ? [
          lineOf(
            `${rank}`,
            trans.__('rank %1', rank),
            kind,
            series,
            rank,
            parts.map(([name]) => name),
            grid
          )
        ]
      : parts.map(([name, label]) => lineOf(name, label(), kind, series, rank, [name], grid));
  });
  return {
    id: kind.id,
    title: kind.title(),
    what: sentenceOf(kind, several),
    unit: kind.unit,
    x: grid.x,
    lines
  };
}

function sentenceOf(kind: IKind, several: boolean): string {
  if (!several || (typeof kind.of !== 'string' && kind.of.length === 1)) {
    return trans.__('%1.', kind.what());
  }
  if (typeof kind.of === 'string') {
    return kind.join === 'mean'
      ? trans.__('%1. Of each rank, the mean over its GPUs.', kind.what())
      : trans.__('%1. Of each rank, the sum over its GPUs.', kind.what());
  }
  return trans.__('%1. Of each rank, both together.', kind.what());
}

/** The metrics of a rank that belong to a chart, with the words of their lines. */
function partsOf(kind: IKind, series: ITaskSeries, rank: number): (readonly [string, () => string])[] {
  const found = series.runs.flatMap(run => run.ranks.filter(each => each.rank === rank));
  if (typeof kind.of === 'string') {
    const of = kind.of;
    const names = [...new Set(found.flatMap(each => namesOf(each, of)))];
    return names
      .sort((a, b) => gpuOf(a) - gpuOf(b))
      .map(name => [name, () => trans.__('GPU %1', gpuOf(name))] as const);
  }
  return kind.of.filter(([name]) => found.some(each => name in each.mean));
}

function namesOf(rank: IRankSeries, of: string): string[] {
  return Object.keys(rank.mean).filter(name => name.startsWith('gpu') && name.endsWith(`_${of}`));
}

function gpuOf(name: string): number {
  return Number(/^gpu(\d+)_/.exec(name)?.[1] ?? 0);
}

function lineOf(
  key: string,
  label: string,
  kind: IKind,
  series: ITaskSeries,
  rank: number,
  names: readonly string[],
  grid: IGrid
): ILine {
  const empty = (): Value[] => new Array<Value>(grid.x.length).fill(undefined);
  const [values, greatest, least] = [empty(), empty(), empty()];
  const whole = kind.join === 'mean' || names.length === 1;
  // The band breaks where the line does.
  for (const at of grid.breaks.get(rank) ?? []) {
    const place = grid.place.get(at) ?? 0;
    values[place] = greatest[place] = least[place] = null;
  }
  for (const run of series.runs) {
    const points = run.ranks.find(each => each.rank === rank);
    points?.at.forEach((at, index) => {
      const place = grid.place.get(at) ?? 0;
      values[place] = joined(points.mean, names, index, kind.join);
      greatest[place] = whole ? joined(points.greatest, names, index, 'greatest') : values[place];
      least[place] = joined(points.least, names, index, 'least');
    });
  }
  return { key, label, values, greatest, least: whole ? least : null };
}

function joined(
  columns: Record<string, (number | null)[]>,
  names: readonly string[],
  index: number,
  how: 'mean' | 'sum' | 'least' | 'greatest'
): number | null {
  const found = names.map(name => columns[name]?.[index]).filter(value => typeof value === 'number');
  if (found.length === 0) {
    return null;
  }
  switch (how) {
    case 'least':
      return Math.min(...found);
    case 'greatest':
      return Math.max(...found);
    default: {
      const sum = found.reduce((total, value) => total + value, 0);
      return how === 'sum' ? sum : sum / found.length;
    }
  }
}
