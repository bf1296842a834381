/** The cluster at a glance: how it is used now and was before, who holds it, who waits, and what the user may hold. */

import { useMemo, type JSX, type ReactNode } from 'react';
import { GlanceModel } from '../../models/glance';
import { OverviewModel } from '../../models/overview';
import { between, duration, percent } from '../../text/format';
import { priorityLabel } from '../../text/words';
import { csvOf, download } from '../../text/csv';
import { trans } from '../../text/translate';
import { ClusterView, LevelsTable } from '../overview/ClusterView';
import { QuotaView } from '../overview/QuotaView';
import { Chart } from '../performance/Chart';
import { Notice, useNow, useSignal, useTheme } from '../react';
import { Table } from '../Table';
import { useModel, useStudio } from './context';
import { chartRows, occupancyChart } from './figures';
import { Day, Figures } from './OverviewNow';
import { QueueCard } from './Queue';
import { Link } from './router';

export function OverviewPage(): JSX.Element {
  const { api, cluster, feed } = useStudio();
  useSignal(cluster.changed);
  const glance = useModel(() => new GlanceModel(api, feed));
  const model = useModel(() => new OverviewModel(api.operations, feed));
  const overview = model.value;
  const errors = new Set([cluster.error, model.error, glance.error].filter(error => error !== null));
  return (
    <>
      <h1>{trans.__('Overview')}</h1>
      {[...errors].map(error => (
        <Notice key={error} kind="error">
          {error}
        </Notice>
      ))}
      {!model.ready && model.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {overview && <Figures overview={overview} />}
      <div className="hai-Cards">
        {overview && (
          <>
            <Card title={trans.__('Node groups')}>
              {/* With one group the table beside it says the same. */}
              <ClusterView cluster={overview} levels={overview.groups.length > 1} />
            </Card>
            <Card title={trans.__('Occupancy')} wide>
              <Day overview={overview} />
            </Card>
          </>
        )}
        <Card title={trans.__('Queue')} full>
          <QueueCard />
        </Card>
        {overview && (
          <Card title={trans.__('Tasks by priority')}>
            <LevelsTable levels={overview.levels} empty={trans.__('No task runs or waits.')} />
          </Card>
        )}
        <Card title={trans.__('Who holds nodes')} wide>
          <Holders glance={glance} />
        </Card>
        {cluster.me && (
          <Card title={trans.__('Your quota')}>
            <QuotaView quota={cluster.me.quota} />
          </Card>
        )}
        <Card title={trans.__('The last two weeks')} wide>
          <Past glance={glance} />
        </Card>
      </div>
    </>
  );
}

/** A part of a page. */
export function Card(props: {
  title: string;
  /** Two columns wide, or all. */
  wide?: boolean;
  full?: boolean;
  children: ReactNode;
}): JSX.Element {
  const width = props.full === true ? 'hai-mod-full' : props.wide === true ? 'hai-mod-wide' : '';
  return (
    <section className={`hai-Card ${width}`} aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

function Holders({ glance }: { glance: GlanceModel }): JSX.Element {
  const now = useNow(15_000);
  const items = glance.use?.items ?? [];
  const more = glance.use?.left_out ?? 0;
  if (glance.use && items.length === 0) {
    return <p className="hai-Empty">{trans.__('No task holds nodes now.')}</p>;
  }
  return (
    <>
      <Table
        items={items}
        keyOf={item => item.task_id}
        columns={[
          {
            title: trans.__('Task'),
            head: true,
            cell: item =>
              item.known ? (
                <Link to={{ page: 'tasks', id: item.task_id }}>{item.name}</Link>
              ) : (
                <span className="hai-Soft">#{item.task_id}</span>
              )
          },
          { title: trans.__('User'), cell: item => item.user },
          {
            title: trans.__('Priority'),
            cell: item => (item.priority === null ? '–' : priorityLabel(item.priority))
          },
          {
            title: trans.__('Nodes'),
            number: true,
            cell: item => (item.gpus === null ? item.nodes : trans.__('%1 × %2 GPU', item.nodes, item.gpus))
          },
          {
            title: trans.__('Running for'),
            number: true,
            cell: item => (item.running_since === null ? '–' : duration(between(item.running_since, now)))
          },
          {
            title: trans.__('GPU use'),
            number: true,
            cell: ({ use }) => percent(use?.gpu_use && use.gpu_use / 100)
          },
          {
            title: trans.__('Turn'),
            number: true,
            cell: item => (item.known ? turnText(item.turn_left_s) : '–')
          }
        ]}
      />
      {more > 0 && <p className="hai-Soft">{trans._n('and %1 more task', 'and %1 more tasks', more)}</p>}
    </>
  );
}

/** How long a task keeps its turn, in words. */
export function turnText(seconds: number | null): string {
  if (seconds === null) {
    return '–';
  }
  return seconds === 0 ? trans.__('may end now') : trans.__('%1 more', duration(seconds));
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
