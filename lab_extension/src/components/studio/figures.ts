/** The numbers of the overview, and what its charts show. Pure functions. */

import type { ICluster, IHour, INodesReport, INodesRow, IOverview } from '../../api/types';
import { trans } from '../../text/translate';
import type { IChart, ILine, Value } from '../performance/charts';

export interface ITotals {
  nodes: number;
  held: number;
  free: number;
  unavailable: number;
  gpus: number;
  gpusFree: number;
  running: number;
  waiting: number;
  waitingNodes: number;
}

/** All node groups together. */
export function totalsOf(cluster: Pick<ICluster, 'groups'>): ITotals {
  const sum = (of: (group: ICluster['groups'][number]) => number): number =>
    cluster.groups.reduce((all, group) => all + of(group), 0);
  const levels = (of: (level: ICluster['groups'][number]['levels'][number]) => number): number =>
    sum(group => group.levels.reduce((all, level) => all + of(level), 0));
  return {
    nodes: sum(group => group.nodes),
    held: sum(group => group.held),
    free: sum(group => group.free),
    unavailable: sum(group => group.unavailable),
    gpus: sum(group => group.gpus),
    gpusFree: sum(group => group.gpus_free),
    running: levels(level => level.running_tasks),
    waiting: levels(level => level.waiting_tasks),
    waitingNodes: levels(level => level.waiting_nodes)
  };
}

/** The part of all node time that was useful: what was held and did not start, save or get lost; null: not known. */
export function usefulOf(row: INodesRow): number | null {
  return row.capacity_s === null || row.capacity_s === 0 ? null : row.useful_s / row.capacity_s;
}

/** One line of a chart, in per cent. */
function lineOf<T>(
  rows: readonly T[],
  key: string,
  label: string,
  shareOf: (row: T) => number | null
): ILine {
  const values: Value[] = rows.map(row => {
    const share = shareOf(row);
    return share === null ? null : 100 * share;
  });
  return { key, label, values, greatest: values, least: null };
}

/** How the nodes were used, by day: what was held, and what of it was useful. Null: nothing was recorded. */
export function occupancyChart(report: INodesReport): IChart | null {
  const rows = report.rows.filter(row => row.occupancy !== null);
  if (rows.length === 0) {
    return null;
  }
  return {
    id: 'occupancy',
    title: trans.__('Occupancy by day'),
    what: trans.__('Part of all node time that tasks held, and the part in which they did useful work.'),
    unit: '%',
    x: rows.map(row => Date.parse(`${row.key}T00:00:00Z`) / 1000),
    lines: [
      lineOf(rows, 'held', trans.__('held'), row => row.occupancy),
      lineOf(rows, 'useful', trans.__('useful'), usefulOf)
    ]
  };
}

/** The same by hour over the last day, and GPUs that did nothing. Null: nothing was recorded. */
export function dayChart(overview: Pick<IOverview, 'hours' | 'groups'>): IChart | null {
  const hours = overview.hours.filter(hour => hour.occupancy !== null);
  if (hours.length === 0) {
    return null;
  }
  const gpus = overview.groups.reduce((all, group) => all + group.gpus, 0);
  const idle = (hour: IHour): number | null => {
    const length = (Date.parse(hour.until) - Date.parse(hour.hour)) / 1000;
    return gpus === 0 || length <= 0 ? null : Math.min(1, hour.gpu_idle_s / (gpus * length));
  };
  return {
    id: 'day',
    title: trans.__('The last 24 hours'),
    what: trans.__(
      'By hour: part of all node time that tasks held and in which they did useful work, and part of all GPU time in which GPUs of runs that have ended did nothing.'
    ),
    unit: '%',
    x: hours.map(hour => Date.parse(hour.hour) / 1000),
    lines: [
      lineOf(hours, 'held', trans.__('held'), hour => hour.occupancy),
      lineOf(hours, 'useful', trans.__('useful'), hour => hour.useful_share),
      lineOf(hours, 'idle', trans.__('GPUs idle'), idle)
    ]
  };
}

/** The chart as rows for a file: a time and each line. */
export function chartRows(chart: IChart): { head: string[]; rows: (string | number | null)[][] } {
  return {
    head: [trans.__('Time'), ...chart.lines.map(line => `${line.label} (${chart.unit})`)],
    rows: chart.x.map((at, index) => [
      new Date(at * 1000).toISOString(),
      ...chart.lines.map(line => line.values[index] ?? null)
    ])
  };
}
