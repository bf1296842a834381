/** The metrics of two tasks, laid over each other by the time since each first ran. Pure functions. */

import type { IRankSeries, ITaskDetail, ITaskSeries } from '../../api/types';
import { timesOf } from '../../models/performance';
import { chartsOf, spacing, type IChart } from '../performance/charts';

/** A task with the metrics of its first rank. */
export interface IMeasured {
  task: Pick<ITaskDetail, 'id' | 'name' | 'runs'>;
  series: ITaskSeries;
}

/** Whether there is anything to draw of a task. */
export function wasMeasured({ series }: IMeasured): boolean {
  return series.runs.some(run => run.ranks.some(rank => rank.at.length > 0));
}

/**
 * The charts of which both tasks have points, with a line for each; the axis has seconds since the first start.
 * `now`: Unix time in seconds.
 */
export function chartsOfTwo(tasks: readonly [IMeasured, IMeasured], now: number): IChart[] {
  const began = tasks.map(({ task }) => timesOf(task.runs)?.began ?? 0);
  // A task takes the place of a rank: then all that is known of charts of several ranks holds here.
  const runs = tasks.flatMap(({ series }, place) =>
    series.runs.map(run => ({
      ...run,
      ranks: run.ranks.slice(0, 1).map(rank => moved(rank, place, began[place] ?? 0))
    }))
  );
  const units = Object.assign({}, ...tasks.map(({ series }) => series.units)) as ITaskSeries['units'];
  // The oldest points are of the longest spans: no line is broken between two of these.
  const step = Math.max(...tasks.map(({ series }, place) => spacing(began[place] ?? 0, now, series.step)));
  const names = tasks.map(({ task }) => `#${task.id} ${task.name}`);
  return chartsOf({ step, units, runs }, 0)
    .filter(chart => chart.lines.length === 2)
    .map(chart => ({
      ...chart,
      lines: chart.lines.map(line => ({ ...line, label: names[Number(line.key)] ?? line.label }))
    }));
}

function moved(rank: IRankSeries, place: number, by: number): IRankSeries {
  return { ...rank, rank: place, at: rank.at.map(at => at - by) };
}

/** The time that both charts cover, in seconds since the first start. */
export function spanOf(charts: readonly IChart[]): readonly [number, number] {
  return [0, Math.max(60, ...charts.map(chart => chart.x.at(-1) ?? 0))];
}
