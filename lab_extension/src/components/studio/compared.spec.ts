import { describe, expect, it } from 'vitest';
import type { ITaskSeries } from '../../api/types';
import { aRun } from '../../testing/fakes';
import { aRank, aRunSeries, aSeries } from '../../testing/series';
import { chartsOfTwo, spanOf, wasMeasured, type IMeasured } from './compared';

const FIRST = Date.parse('2026-11-21T04:10:00Z') / 1000;
const LATER = Date.parse('2026-11-22T09:00:00Z') / 1000;

function measured(id: number, began: number, series: ITaskSeries): IMeasured {
  const started_at = new Date(began * 1000).toISOString();
  return { task: { id, name: `t${id}`, runs: [aRun({ started_at })] }, series };
}

function cpu(began: number, values: number[], step = 10): ITaskSeries {
  const at = values.map((_, index) => began + (index + 1) * step);
  return aSeries([aRunSeries(1, [aRank(at, { cpu: values })])], step);
}

describe('two tasks over each other', () => {
  it('have a line each, by the time since each first ran', () => {
    const [chart, ...others] = chartsOfTwo(
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
    const [chart] = chartsOfTwo(
      [measured(3, FIRST, old), measured(9, LATER, cpu(LATER, [3, 4]))],
      LATER + 60
    );
    expect(chart!.lines[0]!.values.filter(value => value === null)).toHaveLength(0);
  });

  it('are not drawn where only one has points', () => {
    const none = measured(9, LATER, aSeries([]));
    expect(wasMeasured(none)).toBe(false);
    expect(chartsOfTwo([measured(3, FIRST, cpu(FIRST, [1])), none], LATER)).toEqual([]);
  });
});
