import { describe, expect, it } from 'vitest';
import type { ITaskSeries } from '../../api/types';
import { aRun } from '../../testing/fakes';
import { aRank, aRunSeries, aSeries } from '../../testing/series';
import {
  comparedCharts,
  comparedIn,
  comparedQuery,
  spanOf,
  wasMeasured,
  within,
  type IMeasured
} from './compared';

const FIRST = Date.parse('2026-11-21T04:10:00Z') / 1000;
const LATER = Date.parse('2026-11-22T09:00:00Z') / 1000;

function measured(id: number, began: number, used: ITaskSeries, reported = aSeries([])): IMeasured {
  const started_at = new Date(began * 1000).toISOString();
  return { task: { id, name: `t${id}`, runs: [aRun({ started_at })] }, used, reported };
}

/** What each rank of each run reported, a value every 10 s. */
function loss(began: number, ...runs: (number | null)[][]): ITaskSeries {
  return aSeries(
    runs.map((values, run) =>
      aRunSeries(run + 1, [
        aRank(
          values.map((_, at) => began + 1000 * run + 10 * at),
          { job_loss: values },
          3
        )
      ])
    )
  );
}

function cpu(began: number, values: number[], step = 10): ITaskSeries {
  const at = values.map((_, index) => began + (index + 1) * step);
  return aSeries([aRunSeries(1, [aRank(at, { cpu: values })])], step);
}

describe('tasks over each other', () => {
  it('have a line each, by the time since each first ran', () => {
    const [chart, ...others] = comparedCharts(
      [measured(3, FIRST, cpu(FIRST, [1, 2])), measured(9, LATER, cpu(LATER, [3, 4, 5]))],
      LATER + 60
    );
    expect(others).toEqual([]);
    expect(chart!.x.filter(at => at % 10 === 0)).toEqual([10, 20, 30]);
    expect(
      chart!.lines.map(line => [line.label, line.values.filter(value => typeof value === 'number')])
    ).toEqual([
      ['#3 t3', [1, 2]],
      ['#9 t9', [3, 4, 5]]
    ]);
    expect(spanOf([chart!])).toEqual([0, 60]);
  });

  it('are drawn without gaps where old points are of longer spans', () => {
    const old = cpu(FIRST, [1, 2, 3], 60);
    const [chart] = comparedCharts(
      [measured(3, FIRST, old), measured(9, LATER, cpu(LATER, [3, 4]))],
      LATER + 60
    );
    expect(chart!.lines[0]!.values.filter(value => value === null)).toHaveLength(0);
  });

  it('are not drawn where only one has points', () => {
    const none = measured(9, LATER, aSeries([]));
    expect(wasMeasured(none)).toBe(false);
    expect(comparedCharts([measured(3, FIRST, cpu(FIRST, [1])), none], LATER)).toEqual([]);
  });

  it('show what their jobs reported first, whichever rank it was, and keep their looks in all charts', () => {
    const charts = comparedCharts(
      [
        measured(3, FIRST, cpu(FIRST, [1, 2])),
        measured(5, FIRST, cpu(FIRST, [1]), loss(FIRST, [2, null, -1], [0.5])),
        measured(9, LATER, cpu(LATER, [3, 4]), loss(LATER, [7]))
      ],
      LATER + 60
    );
    expect(charts.map(chart => [chart.title, chart.lines.map(line => [line.look, line.label])])).toEqual([
      [
        'loss',
        [
          [1, '#5 t5'],
          [2, '#9 t9']
        ]
      ],
      [
        'Processors',
        [
          [0, '#3 t3'],
          [1, '#5 t5'],
          [2, '#9 t9']
        ]
      ]
    ]);
    const [{ x, lines }] = charts as [(typeof charts)[0]];
    // Between two runs the line is broken; where nothing was reported within a run, it goes on.
    expect(x).toEqual([0, 20, 999, 1000]);
    expect(lines[0]!.values).toEqual([2, -1, null, 0.5]);
    expect(lines[1]!.values).toEqual([7, undefined, undefined, undefined]);
  });

  it('share their moments, whenever each began', () => {
    const charts = comparedCharts(
      [measured(3, FIRST + 3.2, cpu(FIRST, [1, 2])), measured(9, LATER + 9, cpu(LATER, [3, 4]))],
      LATER + 60
    );
    expect(charts[0]!.lines.map(line => line.values.filter(value => typeof value === 'number'))).toEqual([
      [1, 2],
      [3, 4]
    ]);
    expect(charts[0]!.x.filter(at => at % 10 === 0)).toEqual([10, 20]);
  });

  it('have no chart of one task with several lines', () => {
    const both = aSeries([aRunSeries(1, [aRank([FIRST + 10], { disk_read: [1], disk_written: [2] })])]);
    const charts = comparedCharts([measured(3, FIRST, both), measured(9, LATER, aSeries([]))], LATER);
    expect(charts).toEqual([]);
  });

  it('are named by the address: each once, at most eight, the oldest first', () => {
    expect(comparedIn('3,9,3,x,-1,0,1.5')).toEqual([3, 9]);
    expect(comparedIn(undefined)).toEqual([]);
    expect(comparedIn('1,2,3,4,5,6,7,8,9')).toHaveLength(8);
    expect(comparedQuery(new Set([9, 3]))).toEqual({ compare: '3,9' });
  });

  it('are shown in part within what there is, and as a whole beyond it', () => {
    expect(within([-5, 40], [0, 100])).toEqual([0, 40]);
    expect(within([90, 120], [0, 100])).toEqual([90, 100]);
    expect(within([50, 50.1], [0, 100])).toEqual([50, 51]);
    expect(within([-1, 101], [0, 100])).toBeNull();
    expect(within(null, [0, 100])).toBeNull();
  });
});
