/** Means and peaks: of a chart, and of each run. Pure functions. */

import type { IRun, IRunSeries, ITaskSeries } from '../../api/types';
import type { IChart, ILine, Value } from './charts';
import { valueText, type Unit } from './units';
import { trans } from '../../text/translate';

export interface IPeak {
  value: number;
  /** When it was, Unix time in seconds. */
  at: number;
}

/** The mean of the values of a line; null: it has none. */
export function meanOf(values: readonly Value[]): number | null {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (typeof value === 'number') {
      sum += value;
      count += 1;
    }
  }
  return count === 0 ? null : sum / count;
}

/** The first of the greatest values of a line; null: it has none. */
export function peakOf(chart: Pick<IChart, 'x'>, line: Pick<ILine, 'greatest'>): IPeak | null {
  let peak: IPeak | null = null;
  line.greatest.forEach((value, index) => {
    if (typeof value === 'number' && (peak === null || value > peak.value)) {
      peak = { value, at: chart.x[index] ?? 0 };
    }
  });
  return peak;
}

/** The newest value of a line; null: it has none. */
export function lastOf(line: Pick<ILine, 'values'>): number | null {
  for (let index = line.values.length - 1; index >= 0; index -= 1) {
    const value = line.values[index];
    if (typeof value === 'number') {
      return value;
    }
  }
  return null;
}

/** As many lines as these are named with their means; of more, one mean is given. */
const NAMED = 4;

/**
 * What a chart shows, in words: `Mean 3.2 cores, peak 7.9 cores at 04:10:00.`, of a few lines
 * `Means: held 71 %, useful 63 %. Peak 95 % at 04:10:00 (held).`
 */
export function sentenceOf(chart: IChart, clock: (at: number) => string): string {
  const lines = chart.lines.flatMap(({ label, values }) => {
    const mean = meanOf(values);
    return mean === null ? [] : [{ label, mean }];
  });
  let [top, of]: [IPeak | null, string] = [null, ''];
  for (const line of chart.lines) {
    const peak = peakOf(chart, line);
    if (peak !== null && (top === null || peak.value > top.value)) {
      [top, of] = [peak, chart.lines.length > 1 ? ` (${line.label})` : ''];
    }
  }
  if (top === null || lines.length === 0) {
    return trans.__('Nothing was measured.');
  }
  const peak = [valueText(top.value, chart.unit), clock(top.at)] as const;
  if (lines.length > 1 && lines.length <= NAMED) {
    const means = lines.map(({ label, mean }) => `${label} ${valueText(mean, chart.unit)}`);
    return trans.__('Means: %1. Peak %2 at %3%4.', means.join(', '), ...peak, of);
  }
  const mean = lines.reduce((sum, line) => sum + line.mean, 0) / lines.length;
  const each = chart.lines.length > 1 ? trans.__('Mean of all lines') : trans.__('Mean');
  return trans.__('%1 %2, peak %3 at %4%5.', each, valueText(mean, chart.unit), ...peak, of);
}

/** Columns of the table by run: which metrics, their unit, and what of the summary of a run they are. */
export const RUN_COLUMNS: readonly {
  title: () => string;
  metric: RegExp;
  unit: Unit;
  summed: 'cpu' | 'memory' | 'gpu_use' | 'gpu_memory' | 'gpu_power' | null;
}[] = [
  { title: () => trans.__('Processors'), metric: /^cpu$/, unit: 'cores', summed: 'cpu' },
  { title: () => trans.__('Memory'), metric: /^memory$/, unit: 'bytes', summed: 'memory' },
  { title: () => trans.__('GPU use'), metric: /^gpu\d+_use$/, unit: '%', summed: 'gpu_use' },
  { title: () => trans.__('GPU memory'), metric: /^gpu\d+_memory$/, unit: 'bytes', summed: 'gpu_memory' },
  { title: () => trans.__('GPU power'), metric: /^gpu\d+_power$/, unit: 'W', summed: 'gpu_power' },
  { title: () => trans.__('Network in'), metric: /^net_received$/, unit: 'bytes/s', summed: null },
  { title: () => trans.__('Network out'), metric: /^net_sent$/, unit: 'bytes/s', summed: null },
  { title: () => trans.__('Disk read'), metric: /^disk_read$/, unit: 'bytes/s', summed: null },
  { title: () => trans.__('Disk written'), metric: /^disk_written$/, unit: 'bytes/s', summed: null }
];

export interface IRunRow {
  run: number;
  /** Whether it is of the whole run and all its ranks, else of the points that are shown. */
  whole: boolean;
  /** For each of `RUN_COLUMNS` the mean of a rank (or of a GPU) and the greatest of any; null: nothing was measured. */
  cells: ({ mean: number; peak: number } | null)[];
  /** The part of their time in which GPUs did nothing, 0 to 1, and their energy in joules; null: of the whole run, none was measured. */
  gpus: { idle: number; joules: number } | null;
}

/** Means and peaks of each run that has a summary or points, the latest first. */
export function runRows(series: ITaskSeries, runs: readonly Pick<IRun, 'number' | 'summary'>[]): IRunRow[] {
  const summaries = new Map(runs.map(run => [run.number, run.summary]));
  const measured = series.runs.filter(run => run.ranks.some(rank => rank.at.length > 0)).map(run => run.run);
  const numbers = new Set([...measured, ...runs.filter(run => run.summary !== null).map(run => run.number)]);
  return [...numbers]
    .sort((a, b) => b - a)
    .map(number => {
      const summary = summaries.get(number) ?? null;
      const points = series.runs.find(run => run.run === number);
      return {
        run: number,
        whole: summary !== null,
        // Columns of one row are of the same time.
        cells: RUN_COLUMNS.map(({ metric, summed }) =>
          summary === null ? points && levelOf(points, metric) : summed && summary[summed]
        ).map(cell => cell ?? null),
        gpus: summary?.gpu_seconds
          ? { idle: summary.gpu_idle_seconds / summary.gpu_seconds, joules: summary.joules }
          : null
      };
    });
}

function levelOf(run: IRunSeries, metric: RegExp): { mean: number; peak: number } | null {
  const named = (of: 'mean' | 'greatest'): (number | null)[][] =>
    run.ranks.flatMap(rank =>
      Object.entries(rank[of])
        .filter(([name]) => metric.test(name))
        .map(([, values]) => values)
    );
  const means = named('mean')
    .map(meanOf)
    .filter(mean => mean !== null);
  if (means.length === 0) {
    return null;
  }
  const peaks = named('greatest')
    .flat()
    .filter(value => value !== null);
  return {
    mean: means.reduce((sum, mean) => sum + mean, 0) / means.length,
    peak: peaks.reduce((most, value) => Math.max(most, value), 0)
  };
}
