/** What jobs reported and what their tasks used, laid over each other by the time since each first ran. */

import { useCallback, useMemo, useState, type JSX } from 'react';
import type { ITaskDetail } from '../../api/types';
import { NAMES } from '../../models/performance';
import { RANKS } from '../../models/task';
import { duration } from '../../text/format';
import { trans } from '../../text/translate';
import { Chart } from '../performance/Chart';
import type { IChart } from '../performance/charts';
import { Reading, useAnswer, useTheme } from '../react';
import { useStudio } from './context';
import { comparedCharts, spanOf, wasMeasured, within, type IMeasured } from './compared';

export function CompareCharts({ tasks }: { tasks: readonly ITaskDetail[] }): JSX.Element {
  const { api } = useStudio();
  const ask = useCallback(
    () =>
      Promise.all(
        tasks.map(async (task): Promise<IMeasured> => {
          const [used, reported] = await Promise.all([
            api.metrics(task.id, { ranks: [0], names: NAMES }),
            api.metrics(task.id, { ranks: RANKS, names: ['job_*'] })
          ]);
          return { task, used, reported };
        })
      ),
    [api, tasks]
  );
  const { value: measured, error } = useAnswer(ask);
  const charts = useMemo(
    () => (measured === null ? [] : comparedCharts(measured, Date.now() / 1000)),
    [measured]
  );
  return (
    <section
      className="hai-Compare-charts"
      aria-label={trans.__('Their curves')}
      data-testid="hai-compare-charts"
    >
      <h2>{trans.__('Their curves')}</h2>
      <Reading error={error} ready={measured !== null} />
      {measured
        ?.filter(each => !wasMeasured(each))
        .map(({ task }) => (
          <p key={task.id} className="hai-Empty">
            {trans.__('Nothing was measured of task %1.', task.id)}
          </p>
        ))}
      {charts.length > 0 && <Charts charts={charts} />}
    </section>
  );
}

function Charts({ charts }: { charts: readonly IChart[] }): JSX.Element {
  const theme = useTheme();
  const whole = useMemo(() => spanOf(charts), [charts]);
  const [part, setPart] = useState<readonly [number, number] | null>(null);
  const zoom = useCallback((to: readonly [number, number] | null) => setPart(within(to, whole)), [whole]);
  const kinds: [string, readonly IChart[]][] = [
    [trans.__('What they reported'), charts.filter(chart => chart.unit === '')],
    [trans.__('What they used'), charts.filter(chart => chart.unit !== '')]
  ];
  return (
    <>
      <p className="hai-Soft">
        {trans.__(
          'By the time since each task first ran; times between its turns count. What it used is of rank 0.'
        )}{' '}
        {trans.__('Drag over a chart to see a part of it, or press + and − there.')}{' '}
        {part !== null && (
          <button className="hai-Link" onClick={() => setPart(null)}>
            {trans.__('Show the whole time')}
          </button>
        )}
      </p>
      {kinds.map(
        ([title, of]) =>
          of.length > 0 && (
            <section key={title} aria-label={title}>
              <h3>{title}</h3>
              <div className="hai-Performance-charts">
                {of.map(chart => (
                  <Chart
                    key={chart.id}
                    chart={chart}
                    window={part ?? whole}
                    step={0}
                    sync="hai-compare"
                    theme={theme}
                    clock={duration}
                    names={{ x: trans.__('time since the first start'), y: axisName(chart) }}
                    onZoom={zoom}
                  />
                ))}
              </div>
            </section>
          )
      )}
    </>
  );
}

function axisName({ unit, title }: IChart): string {
  return unit === 'cores' ? trans.__('cores') : title;
}
