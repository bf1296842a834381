/** What two tasks used, laid over each other by the time since each first ran. */

import { useEffect, useMemo, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail, ITaskSeries } from '../../api/types';
import { NAMES } from '../../models/performance';
import { duration } from '../../text/format';
import { trans } from '../../text/translate';
import { Chart } from '../performance/Chart';
import { Notice, useTheme } from '../react';
import { useStudio } from './context';
import { chartsOfTwo, spanOf, wasMeasured, type IMeasured } from './compared';

export function CompareCharts(props: { one: ITaskDetail; other: ITaskDetail }): JSX.Element {
  const { one, other } = props;
  const { api } = useStudio();
  const theme = useTheme();
  const [series, setSeries] = useState<readonly ITaskSeries[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    const ask = (id: number): Promise<ITaskSeries> => api.metrics(id, { ranks: [0], names: NAMES });
    Promise.all([ask(one.id), ask(other.id)]).then(
      found => wanted && setSeries(found),
      (reason: unknown) => wanted && setError(sentenceOf(reason))
    );
    return () => {
      wanted = false;
    };
  }, [api, one.id, other.id]);
  const measured = useMemo((): readonly [IMeasured, IMeasured] | null => {
    const [first, second] = series ?? [];
    return first && second
      ? [
          { task: one, series: first },
          { task: other, series: second }
        ]
      : null;
  }, [series, one, other]);
  const charts = useMemo(
    () => (measured === null ? [] : chartsOfTwo(measured, Date.now() / 1000)),
    [measured]
  );
  const missing = measured?.filter(each => !wasMeasured(each)) ?? [];
  return (
    <section
      className="hai-Compare-charts"
      aria-label={trans.__('What they used')}
      data-testid="hai-compare-charts"
    >
      <h2>{trans.__('What they used')}</h2>
      {error !== null && <Notice kind="error">{error}</Notice>}
      {measured === null && error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {missing.map(({ task }) => (
        <p key={task.id} className="hai-Empty">
          {trans.__('Nothing was measured of task %1.', task.id)}
        </p>
      ))}
      {charts.length > 0 && (
        <>
          <p className="hai-Soft">
            {trans.__(
              'Rank 0 of each task, by the time since the task first ran; times between its turns count.'
            )}
          </p>
          <div className="hai-Performance-charts">
            {charts.map(chart => (
              <Chart
                key={chart.id}
                chart={chart}
                window={spanOf(charts)}
                step={0}
                sync={`hai-compare-${one.id}-${other.id}`}
                theme={theme}
                clock={duration}
              />
            ))}
          </div>
        </>
      )}
    </section>
  );
}
