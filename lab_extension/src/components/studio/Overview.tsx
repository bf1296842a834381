/** The cluster at a glance: how it is used now and was before, who holds it, who waits, and what the user may hold. */

import { useMemo, type JSX, type ReactNode } from 'react';
import type { IHolderUse } from '../../api/types';
import { GlanceModel } from '../../models/glance';
import { TasksModel } from '../../models/tasks';
import { duration, moment } from '../../text/format';
import { count, isWaiting, priorityLabel } from '../../text/words';
import { csvOf, download } from '../../text/csv';
import { trans } from '../../text/translate';
import { ClusterView } from '../overview/ClusterView';
import { QuotaView, waitingForQuota } from '../overview/QuotaView';
import { Chart } from '../performance/Chart';
import { Notice, useNow, useSignal, useTheme } from '../react';
import { whatOf } from './columns';
import { useModel, useStudio } from './context';
import { chartRows, occupancyChart, percent, totalsOf, usefulOf } from './figures';
import { Link } from './router';

/** Waiting tasks, and holders of nodes, that are listed here; all are on the page of tasks. */
const ROWS = 8;

export function OverviewPage(): JSX.Element {
  const { api, cluster, feed } = useStudio();
  useSignal(cluster.changed);
  const glance = useModel(() => new GlanceModel(api, feed));
  const tasks = useModel(() => new TasksModel(api, feed));
  const waiting = tasks.items.filter(task => isWaiting(task.state));
  return (
    <>
      <h1>{trans.__('Overview')}</h1>
      {cluster.error !== null && <Notice kind="error">{cluster.error}</Notice>}
      {glance.error !== null && glance.error !== cluster.error && (
        <Notice kind="warning">{glance.error}</Notice>
      )}
      {!cluster.ready && cluster.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      <Figures glance={glance} />
      <div className="hai-Cards">
        {cluster.cluster && (
          <Card title={trans.__('Node groups')}>
            <ClusterView cluster={cluster.cluster} />
          </Card>
        )}
        <Card title={trans.__('Your waiting tasks')} wide>
          {waiting.slice(0, ROWS).map(task => (
            <p key={task.id} className="hai-Line">
              <Link to={{ page: 'tasks', id: task.id }}>{task.name}</Link>{' '}
              <span className="hai-Soft">#{task.id}</span> <span>{whatOf(task)}</span>
              {task.verdict?.earliest_start && (
                <span className="hai-Soft">
                  {' '}
                  {trans.__('About %1.', moment(task.verdict.earliest_start))}
                </span>
              )}
            </p>
          ))}
          {tasks.ready && waiting.length === 0 && (
            <p className="hai-Empty">{trans.__('None of your tasks waits.')}</p>
          )}
          {waiting.length > ROWS && (
            <Link to={{ page: 'tasks', query: { state: 'waiting' } }}>
              {trans.__('All %1', count(waiting.length, 'task'))}
            </Link>
          )}
        </Card>
        {cluster.me && (
          <Card title={trans.__('Your quota')}>
            <QuotaView quota={cluster.me.quota} waiting={waitingForQuota(tasks.items)} />
          </Card>
        )}
        <Card title={trans.__('Who holds nodes')} wide>
          <Holders glance={glance} />
        </Card>
        <Card title={trans.__('The last two weeks')} wide>
          <Past glance={glance} />
        </Card>
      </div>
    </>
  );
}

/** A part of a page. */
export function Card(props: { title: string; wide?: boolean; children: ReactNode }): JSX.Element {
  return (
    <section className={`hai-Card ${props.wide === true ? 'hai-mod-wide' : ''}`} aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

/** The numbers that say most, in one line. */
function Figures({ glance }: { glance: GlanceModel }): JSX.Element | null {
  const { cluster } = useStudio();
  if (!cluster.cluster) {
    return null;
  }
  const totals = totalsOf(cluster.cluster);
  const day = glance.day?.total;
  return (
    <dl className="hai-Figures" data-testid="hai-figures">
      <Figure
        title={trans.__('Nodes held')}
        value={percent(totals.nodes === 0 ? null : totals.held / totals.nodes)}
        more={trans.__('%1 of %2, %3 free', totals.held, totals.nodes, totals.free)}
      />
      <Figure
        title={trans.__('GPUs free')}
        value={String(totals.gpusFree)}
        more={trans.__('of %1', count(totals.gpus, 'GPU'))}
      />
      <Figure title={trans.__('Running')} value={String(totals.running)} more={trans.__('tasks')} />
      <Figure
        title={trans.__('Waiting')}
        value={String(totals.waiting)}
        more={trans.__('tasks, for %1', count(totals.waitingNodes, 'node'))}
      />
      <Figure
        title={trans.__('Occupancy, 24 h')}
        value={percent(day?.occupancy ?? null)}
        more={trans.__('of all node time')}
      />
      <Figure
        title={trans.__('Useful, 24 h')}
        value={percent(day ? usefulOf(day) : null)}
        more={trans.__('of all node time')}
      />
      <Figure
        title={trans.__('Out of service')}
        value={String(totals.unavailable)}
        more={trans.__('nodes')}
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

function Holders({ glance }: { glance: GlanceModel }): JSX.Element {
  const now = useNow(15_000);
  const items = glance.use?.items ?? [];
  const more = Math.max(0, items.length - ROWS) + (glance.use?.left_out ?? 0);
  if (glance.use && items.length === 0) {
    return <p className="hai-Empty">{trans.__('No task holds nodes now.')}</p>;
  }
  return (
    <div className="hai-Table-scroll">
      <table className="hai-Table">
        <thead>
          <tr>
            <th scope="col">{trans.__('Task')}</th>
            <th scope="col">{trans.__('User')}</th>
            <th scope="col">{trans.__('Priority')}</th>
            <th scope="col" className="hai-mod-number">
              {trans.__('Nodes')}
            </th>
            <th scope="col" className="hai-mod-number">
              {trans.__('Running for')}
            </th>
            <th scope="col" className="hai-mod-number">
              {trans.__('GPU use')}
            </th>
            <th scope="col" className="hai-mod-number">
              {trans.__('Turn')}
            </th>
          </tr>
        </thead>
        <tbody>
          {items.slice(0, ROWS).map(item => (
            <Holder key={item.task_id} item={item} now={now} />
          ))}
        </tbody>
      </table>
      {more > 0 && <p className="hai-Soft">{trans._n('and %1 more task', 'and %1 more tasks', more)}</p>}
    </div>
  );
}

/** How long a task keeps its turn, in words. */
export function turnText(seconds: number | null): string {
  if (seconds === null) {
    return '–';
  }
  return seconds === 0 ? trans.__('may end now') : trans.__('%1 more', duration(seconds));
}

function Holder({ item, now }: { item: IHolderUse; now: number }): JSX.Element {
  const since = item.running_since === null ? null : (now - Date.parse(item.running_since)) / 1000;
  const use = item.use?.gpu_use ?? null;
  return (
    <tr>
      <th scope="row">
        {item.known ? (
          <Link to={{ page: 'tasks', id: item.task_id }}>{item.name}</Link>
        ) : (
          <span className="hai-Soft">#{item.task_id}</span>
        )}
      </th>
      <td>{item.user}</td>
      <td>{item.priority === null ? '–' : priorityLabel(item.priority)}</td>
      <td className="hai-mod-number">
        {item.gpus === null ? item.nodes : trans.__('%1 × %2 GPU', item.nodes, item.gpus)}
      </td>
      <td className="hai-mod-number">{since === null ? '–' : duration(since)}</td>
      <td className="hai-mod-number">{use === null ? '–' : `${Math.round(use)} %`}</td>
      <td className="hai-mod-number">{item.known ? turnText(item.turn_left_s) : '–'}</td>
    </tr>
  );
}

/** How the cluster was used, as a picture, in words, as a table and as a file. */
function Past({ glance }: { glance: GlanceModel }): JSX.Element {
  const theme = useTheme();
  const { days } = glance;
  const chart = useMemo(() => (days === null ? null : occupancyChart(days)), [days]);
  if (chart === null || days === null) {
    return (
      <p className="hai-Empty">
        {days === null ? trans.__('Loading…') : trans.__('Nothing was recorded yet.')}
      </p>
    );
  }
  const { head, rows } = chartRows(chart);
  return (
    <div className="hai-Charts">
      <Chart
        chart={chart}
        window={[Date.parse(days.since) / 1000, Date.parse(days.until) / 1000]}
        step={86_400}
        sync="hai-overview"
        theme={theme}
      />
      <button className="hai-Link" onClick={() => download('hai-occupancy.csv', csvOf(head, rows))}>
        {trans.__('Save as CSV')}
      </button>
      {days.notes.map(note => (
        <p key={note} className="hai-Soft">
          {note}
        </p>
      ))}
    </div>
  );
}
