/** The metrics of several tasks, laid over each other by the time since each first ran. Pure functions. */

import type { IRankSeries, ITaskDetail, ITaskSeries } from '../../api/types';
import { curvesOf, type ICurve } from '../../models/curves';
import { timesOf } from '../../models/performance';
import { chartsOf, spacing, type IChart, type ILine, type Value } from '../performance/charts';
import { trans } from '../../text/translate';

/** Tasks that are compared at once: their lines can still be told apart. */
export const MOST_COMPARED = 8;

/** The tasks that an address names, each once; what is no number of a task is left out. */
export function comparedIn(text: string | undefined): number[] {
  const ids = (text ?? '').split(',').map(Number);
  return [...new Set(ids)].filter(id => Number.isSafeInteger(id) && id > 0).slice(0, MOST_COMPARED);
}

/** The words of an address that name these tasks; the oldest one first, whatever the order of the table. */
export function comparedQuery(ids: Iterable<number>): { compare: string } {
  return { compare: [...ids].sort((a, b) => a - b).join(',') };
}

/** A task with its metrics. */
export interface IMeasured {
  task: Pick<ITaskDetail, 'id' | 'name' | 'runs'>;
  /** What its first rank used. */
  used: ITaskSeries;
  /** The numbers that its job reported. */
  reported: ITaskSeries;
}

/** Whether there is anything to draw of a task. */
export function wasMeasured({ used, reported }: IMeasured): boolean {
  return [used, reported].some(series => series.runs.some(run => run.ranks.some(rank => rank.at.length > 0)));
}

/** The charts of several tasks, with a line for each; the axis has seconds since the first start. `now`: Unix time in seconds. */
export function comparedCharts(tasks: readonly IMeasured[], now: number): IChart[] {
  // Points end at multiples of their step: moved by one, those of all tasks are at the same places, and share a moment.
  const step = Math.max(...tasks.map(({ used, reported }) => Math.max(used.step, reported.step)));
  const began = tasks.map(({ task }) => Math.floor((timesOf(task.runs)?.began ?? 0) / step) * step);
  return [...reportedCharts(tasks, began), ...usedCharts(tasks, began, now)];
}

/** A chart for each number that any job reported; those that most of them reported are the first. */
function reportedCharts(tasks: readonly IMeasured[], began: readonly number[]): IChart[] {
  const curves = tasks.map(({ reported }) => new Map(curvesOf(reported).map(curve => [curve.name, curve])));
  const names = [...new Set(curves.flatMap(each => [...each.keys()]))].sort();
  return names
    .map(name => {
      const lines = curves
        .map(each => each.get(name))
        .map((curve, place) => pointsOf(curve, began[place] ?? 0));
      const x = [...new Set(lines.flatMap(line => [...line.keys()]))].sort((a, b) => a - b);
      return {
        id: `job-${name}`,
        title: name,
        what: trans.__('Reported by the jobs.'),
        unit: '' as const,
        x,
        lines: lines.flatMap((points, place): ILine[] => {
          const values = x.map(at => points.get(at));
          const label = labelOf(tasks[place]);
          return points.size === 0
            ? []
            : [{ key: `${place}`, look: place, label, values, greatest: values, least: null }];
        })
      };
    })
    .sort((a, b) => b.lines.length - a.lines.length);
}

/** The values of a curve by their moments; between two runs, where there is none, the line is broken. */
function pointsOf(curve: ICurve | undefined, began: number): Map<number, Value> {
  const points = new Map<number, Value>();
  curve?.runs.forEach((run, number) => {
    if (number > 0) {
      points.set((run[0]?.[0] ?? 0) - began - 1, null);
    }
    run.forEach(([at, value]) => points.set(at - began, value));
  });
  return points;
}

/** The charts of which at least two tasks have points. */
function usedCharts(tasks: readonly IMeasured[], began: readonly number[], now: number): IChart[] {
  // A task takes the place of a rank: then all that is known of charts of several ranks holds here.
  const runs = tasks.flatMap(({ used }, place) =>
    used.runs.map(run => ({
      ...run,
      ranks: run.ranks.slice(0, 1).map(rank => moved(rank, place, began[place] ?? 0))
    }))
  );
  const units = Object.assign({}, ...tasks.map(({ used }) => used.units)) as ITaskSeries['units'];
  // The oldest points are of the longest spans: no line is broken between two of these.
  const step = Math.max(...tasks.map(({ used }, place) => spacing(began[place] ?? 0, now, used.step)));
  const charts = chartsOf({ step, units, runs }, 0).map(chart => ({
    ...chart,
    lines: chart.lines
      .filter(line => /^\d+$/.test(line.key))
      .map(line => ({ ...line, look: Number(line.key), label: labelOf(tasks[Number(line.key)]) }))
  }));
  return charts.filter(chart => chart.lines.length > 1);
}

function labelOf(measured: IMeasured | undefined): string {
  return measured ? `#${measured.task.id} ${measured.task.name}` : '';
}

function moved(rank: IRankSeries, place: number, by: number): IRankSeries {
  return { ...rank, rank: place, at: rank.at.map(at => at - by) };
}

/** The time that all charts cover, in seconds since the first start. */
export function spanOf(charts: readonly IChart[]): readonly [number, number] {
  return [0, Math.max(60, ...charts.map(chart => chart.x.at(-1) ?? 0))];
}

/** The part of the whole that is to be shown; null: all of it. */
export function within(
  part: readonly [number, number] | null,
  [from, to]: readonly [number, number]
): readonly [number, number] | null {
  if (part === null || (part[0] <= from && part[1] >= to)) {
    return null;
  }
  // Less than a second has no point of its own.
  const begin = Math.min(Math.max(part[0], from), to - 1);
  return [begin, Math.max(begin + 1, Math.min(part[1], to))];
}
