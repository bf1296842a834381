/** The numbers of the overview that say most, and the last day as a picture. */

import { useMemo, type JSX } from 'react';
import type { IOverview } from '../../api/types';
import { csvOf, download } from '../../text/csv';
import { percent } from '../../text/format';
import { trans } from '../../text/translate';
import { count, numberText } from '../../text/words';
import { Chart } from '../performance/Chart';
import { useTheme } from '../react';
import { chartRows, dayChart, totalsOf } from './figures';

/** A number of nodes; nodes that are held in part count in parts. */
function nodesText(nodes: number): string {
  return numberText(Math.round(nodes * 10) / 10);
}

/** The cluster now, and how much came and went in the last three hours. */
export function Figures({ overview }: { overview: IOverview }): JSX.Element {
  const totals = totalsOf(overview);
  const { now, submitted_3h, ended_3h } = overview;
  const ended = ended_3h.succeeded + ended_3h.failed + ended_3h.stopped;
  const part = (nodes: number): string => percent(now.nodes === 0 ? null : nodes / now.nodes);
  return (
    <dl className="hai-Figures" data-testid="hai-figures">
      <Figure
        title={trans.__('Nodes held')}
        value={percent(now.occupancy)}
        more={trans.__('%1 of %2, %3 free', nodesText(now.held), numberText(now.nodes), totals.free)}
      />
      <Figure
        title={trans.__('Useful now')}
        value={percent(now.useful_share)}
        more={trans.__('%1 of them compute', nodesText(now.useful))}
      />
      <Figure
        title={trans.__('Idle now')}
        value={part(now.idle)}
        more={trans.__('held, and their GPUs do nothing: %1', nodesText(now.idle))}
      />
      <Figure
        title={trans.__('Starting, leaving')}
        value={`${nodesText(now.starting)}, ${nodesText(now.leaving)}`}
        more={trans.__('nodes')}
      />
      <Figure
        title={trans.__('GPUs free')}
        value={numberText(totals.gpusFree)}
        more={trans.__('of %1', count(totals.gpus, 'GPU'))}
      />
      <Figure
        title={trans.__('Running')}
        value={numberText(totals.running)}
        more={trans._n('task', 'tasks', totals.running)}
      />
      <Figure
        title={trans.__('Waiting')}
        value={numberText(totals.waiting)}
        more={trans._n('task, for %2', 'tasks, for %2', totals.waiting, count(totals.waitingNodes, 'node'))}
      />
      <Figure
        title={trans.__('Created, 3 h')}
        value={numberText(submitted_3h)}
        more={trans._n('task', 'tasks', submitted_3h)}
      />
      <Figure
        title={trans.__('Ended, 3 h')}
        value={numberText(ended)}
        more={trans.__(
          '%1 succeeded, %2 failed, %3 stopped',
          ended_3h.succeeded,
          ended_3h.failed,
          ended_3h.stopped
        )}
      />
      <Figure
        title={trans.__('Out of service')}
        value={numberText(totals.unavailable)}
        more={trans._n('node', 'nodes', totals.unavailable)}
      />
    </dl>
  );
}

function Figure(props: { title: string; value: string; more: string }): JSX.Element {
  return (
    <div className="hai-Figure">
      <dt>{props.title}</dt>
      <dd>
        <b>{props.value}</b> <span className="hai-Soft">{props.more}</span>
      </dd>
    </div>
  );
}

/** The last 24 hours, as a picture, in words, as a table and as a file. */
export function Day({ overview }: { overview: IOverview }): JSX.Element {
  const theme = useTheme();
  const chart = useMemo(() => dayChart(overview), [overview]);
  const [first, last] = [overview.hours[0], overview.hours.at(-1)];
  if (chart === null || first === undefined || last === undefined) {
    return <p className="hai-Empty">{trans.__('Nothing was recorded yet.')}</p>;
  }
  const { head, rows } = chartRows(chart);
  return (
    <div className="hai-Charts">
      <Chart
        chart={chart}
        window={[Date.parse(first.hour) / 1000, Date.parse(last.until) / 1000]}
        step={3_600}
        sync="hai-overview-day"
        theme={theme}
      />
      <button className="hai-Link" onClick={() => download('hai-day.csv', csvOf(head, rows))}>
        {trans.__('Save as CSV')}
      </button>
    </div>
  );
}
