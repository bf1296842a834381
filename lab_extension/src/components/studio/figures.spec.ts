import { describe, expect, it } from 'vitest';
import type { ICluster, INodesReport, INodesRow } from '../../api/types';
import { anHour, anOverview } from '../../testing/overview';
import { chartRows, dayChart, occupancyChart, totalsOf } from './figures';
import { reportQuery } from './Reports';

const group: ICluster['groups'][number] = {
  group: 'a',
  nodes: 4,
  held: 3,
  free: 1,
  unavailable: 0,
  shared: 0,
  gpus: 32,
  gpus_free: 8,
  levels: [{ priority: 'HIGH', running_tasks: 2, running_nodes: 3, waiting_tasks: 5, waiting_nodes: 9 }]
};

function aDay(key: string, given: Partial<INodesRow> = {}): INodesRow {
  return {
    key,
    capacity_s: 100,
    down_s: 0,
    held_s: 80,
    useful_s: 60,
    occupancy: 0.8,
    useful_share: 0.75,
    ...given
  };
}

function days(rows: INodesRow[]): INodesReport {
  return {
    by: 'day',
    since: '2026-11-01T00:00:00Z',
    until: '2026-11-03T00:00:00Z',
    rows,
    total: aDay('total'),
    notes: []
  };
}

describe('the figures of the overview', () => {
  it('are of all node groups', () => {
    expect(totalsOf({ groups: [group, { ...group, group: 'b' }] })).toMatchObject({
      nodes: 8,
      held: 6,
      gpusFree: 16,
      running: 4,
      waiting: 10,
      waitingNodes: 18
    });
  });
});

describe('the picture of the past', () => {
  it('has what was held and what of it was useful, of all node time', () => {
    const chart = occupancyChart(days([aDay('2026-11-01'), aDay('2026-11-02', { useful_s: 20 })]));
    expect(chart?.lines.map(line => line.values)).toEqual([
      [80, 80],
      [60, 20]
    ]);
    expect(chart && chartRows(chart).rows[1]).toEqual(['2026-11-02T00:00:00.000Z', 80, 20]);
  });

  it('is none where nothing was recorded', () => {
    expect(occupancyChart(days([aDay('2026-11-01', { occupancy: null, capacity_s: null })]))).toBeNull();
  });
});

describe('the picture of the last day', () => {
  it('has what was held and useful of all node time, and what was idle of all GPU time', () => {
    const chart = dayChart(anOverview());
    expect(chart?.lines.map(line => [line.key, line.values])).toEqual([
      ['held', [50, 75]],
      ['useful', [25, 25]],
      ['idle', [10, 10]]
    ]);
  });

  it('is none where nothing was recorded', () => {
    const hours = [anHour('2026-11-21T02:00:00Z', { occupancy: null })];
    expect(dayChart(anOverview({ hours }))).toBeNull();
  });
});

describe('a report of an address', () => {
  it('is what the words say, and the default for words that say nothing', () => {
    const now = Date.parse('2026-11-21T00:00:00Z');
    expect(reportQuery({ by: 'group', days: '7' }, now)).toEqual({
      by: 'group',
      since: '2026-11-14T00:00:00.000Z'
    });
    expect(reportQuery({ by: 'nonsense', days: '-3' }, now)).toEqual({});
  });
});
